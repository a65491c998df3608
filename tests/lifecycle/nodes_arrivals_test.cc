// The nodes of a job, as node 0 sees them: who has arrived, checkpoints, and a coordinator or a
// node that is made again. And node 0's loss, as the others see it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lifecycle/link_watch.h"
#include "tests/lifecycle/nodes_script.h"

namespace lifecycle {
namespace {

using Kind = NodeFailure::Kind;
using testing::StartsWith;
using Stage = NodeReport::Stage;

// The container of a node that has ended well is started again while the others still run.
TEST(Arrivals, OfANodeThatHasEndedInThisStartHarmNobody) {
  Nodes job(3);
  job.running().says_farewell(1, 0).close(1);
  job.another_instance(1).arrive(1).pass(5000).fails(1, "the others have not come");
  job.pass(kGatherMs);
  EXPECT_EQ(job.text(0), "fine 0");
  EXPECT_EQ(job.text(2), "fine 0");
  job.fails(2).pass(kGatherMs);
  EXPECT_EQ(job.verdict(0).failure->node, 2U);
}

// --- Go ---

TEST(Go, IsGivenWhenAllHaveArrived) {
  Nodes job(3);
  for (const std::uint32_t node : {0U, 1U, 2U}) job.connect(node);
  job.arrive(0).arrive(1);
  EXPECT_EQ(job.verdict(0).go, 0U);
  job.arrive(2);
  for (const std::uint32_t node : {0U, 1U, 2U}) EXPECT_EQ(job.verdict(node).go, 1U);
  EXPECT_EQ(job.verdict(0).missing, 0U);
}

TEST(Go, IsEachNodesOwnArrival) {
  Nodes job(2);
  job.reports[1].arrival = 6;
  job.connect(0).connect(1).arrive(0).arrive(1);
  EXPECT_EQ(job.verdict(0).go, 1U);
  EXPECT_EQ(job.verdict(1).go, 7U);
}

TEST(Go, WaitsForWhatHoldsNode0) {
  Nodes job(2);
  job.coordinator().block_start("busy");
  job.connect(0).connect(1).arrive(0).arrive(1).pass(1000);
  EXPECT_EQ(job.verdict(1).go, 0U);
  EXPECT_EQ(job.verdict(0).waits_for, "node 0 (a): busy");
  EXPECT_EQ(job.verdict(1).waits_for, "node 0 (a): busy");
  job.coordinator().block_start("");
  job.pass(1);
  EXPECT_EQ(job.verdict(1).go, 1U);
}

TEST(Go, StaysUntilTheNodeArrivesAgain) {
  Nodes job(2);
  job.connect(0).connect(1).arrive(0).arrive(1).close(1).pass(1000).connect(1);
  EXPECT_EQ(job.verdict(1).go, 1U) << "its connection closed in that very moment";
  job.runs(0).runs(1).fails(1).pass(kGatherMs).lets_go(0).lets_go(1).arrive(1);
  EXPECT_EQ(job.verdict(1).go, 0U);
}

TEST(Go, ThatWasNotHeardIsOfTheStartThatItWasGivenFor) {
  Nodes job(3);
  for (const std::uint32_t node : {0U, 1U, 2U}) job.connect(node).arrive(node);
  job.runs(0).runs(1).fails(1).pass(kGatherMs).lets_go(0).lets_go(1).arrive(0).arrive(1);
  EXPECT_EQ(job.verdict(0).go, 0U) << "node 2 may go at any time";
  EXPECT_EQ(job.verdict(2).go, 1U);
  EXPECT_EQ(job.text(2), "failed 0 by 1 failed -300 again");
  job.runs(2).lets_go(2).arrive(2);
  for (const std::uint32_t node : {0U, 1U, 2U}) EXPECT_EQ(job.verdict(node).go, 2U);
  EXPECT_EQ(job.text_of_all(), "fine 1");
}

TEST(Go, ThatWasNotHeardBeforeAStopIsMissed) {
  for (const std::uint32_t restarts : {0U, 1U}) {
    Nodes job(2);
    job.reports[1].restarts = restarts;
    job.connect(0).connect(1).arrive(0).arrive(1).runs(0);
    ASSERT_EQ(job.verdict(1).go, 1U);
    job.is_stopped(1).says_farewell(1, 143).close(1).pass(kGatherMs);
    EXPECT_EQ(job.text(0), "failed 0 by 1 stopped -300") << restarts;
  }
}

TEST(Go, ThatCameWhileANodeLookedAtItsListAgainIsNoStartOfAll) {
  Nodes job(3);
  for (const std::uint32_t node : {0U, 1U, 2U}) job.connect(node).arrive(node);
  job.runs(0).stage(1, Stage::kPreparing).runs(2);
  EXPECT_EQ(job.text(0), "failed 0 by 1 replanned -0 again");
  EXPECT_EQ(job.text(1), "fine 0") << "it has nothing to stop";
  job.lets_go(0).lets_go(2).arrive(1).arrive(0).arrive(2);
  for (const std::uint32_t node : {0U, 1U, 2U}) EXPECT_EQ(job.verdict(node).go, 2U);
  EXPECT_EQ(job.text_of_all(), "fine 1");
}

TEST(Go, IsMissedByANodeThatLooksAtItsListAgainThoughNode0HasNotSaidThatItRuns) {
  Nodes job(3);
  for (const std::uint32_t node : {0U, 1U, 2U}) job.connect(node).arrive(node);
  job.runs(2).stage(1, Stage::kPreparing);
  EXPECT_EQ(job.text(2), "failed 0 by 1 replanned -0 again");
}

TEST(Go, IsLeftByANodeThatMeetsAgainOnceNode0Runs) {
  Nodes job(2);
  job.connect(0).connect(1).arrive(0).arrive(1).runs(1).lets_go(1);
  EXPECT_EQ(job.text(0), "fine 0") << "nothing runs that cannot go on without node 1";
  job.runs(0).arrive(1);
  EXPECT_EQ(job.text(0), "failing 0");
}

TEST(Go, TakesNode0sWordForWhichStartItIs) {
  Nodes job(2);
  job.reports[0].restarts = 3;
  job.reports[1].restarts = 900;
  job.connect(0).connect(1).arrive(1).arrive(0);
  EXPECT_EQ(job.verdict(1).go, 1U);
  EXPECT_EQ(job.verdict(1).restarts, 3U);
}

TEST(Go, ClearsTheFailure) {
  Nodes job(2);
  job.running().fails(1).pass(kGatherMs).lets_go(0).lets_go(1);
  job.arrive(0).arrive(1);
  EXPECT_EQ(job.text_of_all(), "fine 1");
  EXPECT_EQ(job.verdict(1).go, 2U);
}

TEST(Go, IsNotGivenToAnotherListOfNodes) {
  Nodes job(2);
  job.reports[1].cluster = 5;
  job.connect(0).connect(1).arrive(0).arrive(1).pass(1000);
  EXPECT_EQ(job.verdict(0).go, 0U);
  EXPECT_EQ(job.verdict(0).waits_for, "node 1 (b): came with another list of nodes");
  job.reports[1].cluster = 77;
  job.say(1);
  EXPECT_EQ(job.verdict(0).go, 1U);
}

TEST(Go, IsNotGivenWhileANodeIsAwayOrSilent) {
  Nodes job(3);
  for (const std::uint32_t node : {0U, 1U, 2U}) job.connect(node);
  job.arrive(1).close(1).arrive(2).pass(40'000, {2}).arrive(0);
  EXPECT_EQ(job.verdict(0).go, 0U);
  job.connect(1);
  EXPECT_EQ(job.verdict(0).go, 0U);
  job.coordinator().heard(2, job.now);
  EXPECT_EQ(job.verdict(0).go, 1U);
}

TEST(Go, IsNotOfAnEarlierLife) {
  Nodes job(2);
  job.connect(0).connect(1).arrive(0).arrive(1).another_instance(1);
  EXPECT_EQ(job.verdict(1).go, 0U);
  job.arrive(1);
  EXPECT_EQ(job.verdict(1).go, 0U) << "of the same number, but the others run";
}

TEST(Go, WaitsUntilItIsKnownWhetherAllStartAgain) {
  for (const bool may : {true, false}) {
    Nodes job(2);
    job.running();
    job.reports[1].may_restart = may;
    job.fails(1).arrive(0).arrive(1);
    EXPECT_EQ(job.verdict(0).go, 0U);
    job.pass(kGatherMs);
    EXPECT_EQ(job.verdict(0).go, may ? 2U : 0U);
  }
}

// Its options are others than those of the nodes that wait for it.
TEST(Waiting, EndsForANodeThatMeetsNobody) {
  const std::string why =
      " does not wait for the other nodes before a start, and node 2 (c) waits for it: give all "
      "nodes the same --restart-across-nodes, --max-restarts and --elastic";
  for (const bool first : {false, true}) {
    for (const std::uint32_t node : {0U, 1U}) {
      Nodes job(3);
      job.reports[node].meets = false;
      if (first) job.connect(2).arrive(2);
      for (const std::uint32_t each : {0U, 1U}) job.connect(each);
      job.stage(node, Nodes::Stage::kRunning);
      if (!first) job.connect(2).arrive(2);
      job.pass(1);
      const std::string text = "failed 0 by " + std::to_string(node) + " unfit -1";
      EXPECT_EQ(job.text_of_all(), text);
      EXPECT_EQ(job.verdict(2).failure->message,
                "node " + std::to_string(node) + (node == 0 ? " (a)" : " (b)") + why);
    }
  }
}

TEST(Waiting, GoesOnForANodeThatMeetsNobodyAndIsOfAnotherListOrHasGone) {
  Nodes job(3);
  job.reports[1].meets = false;
  job.reports[1].cluster = 78;
  for (const std::uint32_t each : {0U, 1U, 2U}) job.connect(each);
  job.arrive(0).arrive(2).pass(1000);
  EXPECT_EQ(job.text_of_all(), "fine 0");
  job.reports[1].cluster = 77;
  job.close(1).pass(1000);
  EXPECT_EQ(job.text_of_all(), "fine 0");
  job.connect(1);
  EXPECT_EQ(job.text(2), "failed 0 by 1 unfit -0");
}

TEST(Waiting, IsNoneWhereNoNodeMeets) {
  Nodes job(3);
  for (auto& report : job.reports) report.meets = false;
  for (const std::uint32_t each : {0U, 1U, 2U})
    job.connect(each).stage(each, Nodes::Stage::kRunning);
  EXPECT_EQ(job.pass(1000).text_of_all(), "fine 0");
}

TEST(Waiting, NamesAFewAndCountsTheOthers) {
  Nodes job(12);
  job.connect(0).connect(1).connect(2).connect(3).arrive(0).pass(1000);
  job.coordinator().differs(4, "came from 10.0.0.9 with another list of nodes", job.now, false);
  job.runs(2).stage(3, Stage::kStopping).pass(1000);
  EXPECT_EQ(job.verdict(0).missing, 11U);
  EXPECT_EQ(job.verdict(0).waits_for,
            "node 1 (b): still preparing, node 2 (c): still running, node 3: still stopping, "
            "node 4: came from 10.0.0.9 with another list of nodes, node 5, node 6, "
            "node 7, node 8: not connected and 3 more");
  EXPECT_EQ(job.verdict(1).waits_for, "") << "it does not wait";
}

TEST(Waiting, IsDescribedOnceASecond) {
  Nodes job(1000);
  for (std::uint32_t i = 0; i < 999; ++i) job.connect(i);
  job.arrive(0);
  const auto version = job.coordinator().version();
  for (std::uint32_t i = 1; i < 999; ++i) job.arrive(i);
  EXPECT_EQ(job.coordinator().version(), version);
  job.pass(1000);
  EXPECT_EQ(job.coordinator().version(), version + 1);
  EXPECT_EQ(job.verdict(5).missing, 1U);
}

// --- What is made again ---

TEST(MadeAgain, TheCoordinatorLearnsWhichStartRuns) {
  Nodes job(3);
  job.running().fails(1).pass(kGatherMs).lets_go(0).lets_go(1).lets_go(2).meet().forget();
  job.connect(1).connect(0).connect(2).pass(60'000);
  EXPECT_EQ(job.text_of_all(), "fine 1");
  for (const std::uint32_t node : {0U, 1U, 2U}) EXPECT_EQ(job.verdict(node).go, 0U);
  job.fails(2).pass(kGatherMs);
  EXPECT_EQ(job.text_of_all(), "failed 1 by 2 failed -300 again");
}

TEST(MadeAgain, TheCoordinatorHearsOfAFailureBeforeItHearsNode0) {
  Nodes job(2);
  job.running().forget().fails(1);
  job.connect(1);
  EXPECT_EQ(job.verdict(1).state, NodeVerdict::State::kFine);
  job.connect(0);
  EXPECT_EQ(job.text_of_all(), "failing 0");
}

TEST(MadeAgain, TheCoordinatorSendsOnWhoIsBehind) {
  Nodes job(3);
  job.running().fails(1).pass(kGatherMs).lets_go(0).forget();
  job.connect(0).stage(2, Stage::kStopping).connect(2);
  EXPECT_EQ(job.text(0), "fine 1");
  EXPECT_EQ(job.text(2), "failed 0 by 0 failed -0 again") << "whose failure it was is forgotten";
}

TEST(MadeAgain, TheCoordinatorRepeatsAGoThatWasNotHeard) {
  Nodes job(3);
  for (const std::uint32_t node : {0U, 1U, 2U}) job.connect(node).arrive(node);
  job.runs(0).runs(1).forget().connect(0).connect(2);
  EXPECT_EQ(job.verdict(2).go, 0U);
  job.connect(1);
  EXPECT_EQ(job.verdict(2).go, 1U);
  EXPECT_EQ(job.text_of_all(), "fine 0");
}

TEST(MadeAgain, TheCoordinatorNoticesWhoHasTakenAPlaceMeanwhile) {
  Nodes job(3);
  job.running().forget().connect(0).connect(1).another_instance(2).arrive(2);
  EXPECT_EQ(job.verdict(2).go, 0U);
  job.pass(kGatherMs);
  EXPECT_EQ(job.text(1), "failed 0 by 2 closed -300 again");
}

TEST(MadeAgain, TheCoordinatorNoticesWhoHasGoneMeanwhile) {
  Nodes job(3);
  job.running().forget().connect(0).connect(1).pass(29'000);
  EXPECT_EQ(job.text(1), "fine 0");
  job.pass(2000);
  EXPECT_EQ(job.verdict(1).failure->node, 2U);
}

TEST(MadeAgain, TheCoordinatorHearsWhoHasLetGoMeanwhile) {
  Nodes job(3);
  job.running().forget().connect(0).lets_go(1).connect(1);
  EXPECT_EQ(job.text(0), "failing 0") << "node 1 has held node 0 for lost";
  job.pass(kGatherMs);
  EXPECT_EQ(job.text(0), "failed 0 by 0 closed -300 again");
}

TEST(MadeAgain, TheCoordinatorHearsWhoHasLetGoMeanwhileAndWasStopped) {
  Nodes job(2);
  job.running().forget().connect(0).lets_go(1).is_stopped(1).connect(1);
  EXPECT_EQ(job.text(0), "failing 0") << "it would be left running alone";
}

// It was told by the coordinator before that another one had failed.
TEST(MadeAgain, TheCoordinatorHearsOfAFailureThatOnlyAnotherOneKnew) {
  Coordinator::Settings settings = Nodes::of(3);
  settings.together = false;
  Nodes job(settings);
  for (const std::uint32_t node : {0U, 1U, 2U}) job.connect(node).stage(node, Stage::kRunning);
  job.forget().connect(0).connect(2).connect(1).stage(1, Stage::kStopping).pass(1000);
  EXPECT_EQ(job.text_of_all(), "fine 0") << "it may end well";
  job.says_farewell(1, 76).pass(kGatherMs);
  EXPECT_EQ(job.text(2), "failed 0 by 1 failed -300");
}

TEST(MadeAgain, Node0SendsOnWhatRunsWithItsEarlierLife) {
  for (const std::uint32_t restarts : {0U, 2U}) {
    Nodes job(2);
    for (auto& report : job.reports) report.restarts = restarts;
    job.running().forget().another_instance(0).connect(1);
    EXPECT_EQ(job.text(0), "fine 0");
    EXPECT_EQ(job.text(1), "failed " + std::to_string(restarts) + " by 0 closed -0 again");
    job.lets_go(1).arrive(1).arrive(0);
    EXPECT_EQ(job.verdict(0).go, 1U);
    EXPECT_EQ(job.verdict(1).restarts, 0U);
  }
}

TEST(MadeAgain, ANodeKeepsNothingOfItsEarlierLife) {
  Nodes job(2);
  job.running().fails(1).pass(kGatherMs).lets_go(0).another_instance(1).arrive(0).arrive(1);
  EXPECT_EQ(job.verdict(1).go, 1U);
  EXPECT_EQ(job.text_of_all(), "fine 1");
}

// --- Checkpoints ---

TEST(Saving, IsAskedForByAnyNode) {
  Nodes job(3);
  job.running();
  job.reports[2].saves = 1;
  job.reports[2].keeps_running = true;
  job.say(2).say(2);
  EXPECT_EQ(job.verdict(0).saves, 1U);
  EXPECT_TRUE(job.verdict(0).keeps_running);
  job.reports[1].saves = 2;
  job.say(1);
  EXPECT_EQ(job.verdict(0).saves, 2U);
  EXPECT_FALSE(job.verdict(0).keeps_running);
}

TEST(Saving, AskedForTwiceAtOnceIsOneUnlessOneIsTheStrongerWish) {
  Nodes job(4);
  job.running();
  for (auto& report : job.reports) report.keeps_running = true;
  job.reports[1].saves = job.reports[2].saves = job.reports[3].saves = 1;
  job.say(1).say(2);
  EXPECT_EQ(job.verdict(0).saves, 1U);
  job.reports[3].keeps_running = false;
  job.say(3).say(3);
  EXPECT_EQ(job.verdict(0).saves, 2U) << "some have heard of the other already";
  EXPECT_FALSE(job.verdict(0).keeps_running);
}

TEST(Saving, IsNotForgottenWithTheCoordinator) {
  Nodes job(2);
  job.running();
  job.reports[0].saves = 3;
  job.reports[1].saves = 4;
  job.forget().connect(0).connect(1);
  EXPECT_EQ(job.verdict(0).saves, 4U) << "node 0 has not heard of the last one yet";
}

TEST(Saving, IsKnownOnceAllNodesKnowOfIt) {
  Nodes job(3);
  job.running().saves(0).saves(2);
  EXPECT_EQ(job.verdict(0).saves_known, 0U);
  job.saves(1);
  EXPECT_EQ(job.verdict(0).saves_known, 1U);
  job.reports[1].saves = 2;
  job.say(1);
  EXPECT_EQ(job.verdict(0).saves_known, 1U) << "of the next one, the others do not know yet";
}

TEST(Saving, IsNeverKnownWhereANodeHadFailedBefore) {
  Nodes job(3);
  job.running().saves(0).saves(2);
  job.reports[1].saves = 1;  // it hears of the checkpoint on its way down
  job.fails(1).pass(kGatherMs);
  EXPECT_EQ(job.text(0), "failed 0 by 1 failed -300 again");
  EXPECT_EQ(job.verdict(0).saves_known, 0U);
}

TEST(Saving, IsKnownBeforeAFailureBehindIt) {
  Nodes job(2);
  job.running().saves(0).saves(1).fails(1);
  EXPECT_EQ(job.verdict(0).saves_known, 1U);
}

TEST(Saving, IsNotKnownWhileANodeIsAway) {
  Nodes lost(3);
  lost.running().close(1).saves(0).saves(2).pass(kReconnectMs - 1);
  EXPECT_EQ(lost.verdict(0).saves_known, 0U);
  lost.pass(1 + kGatherMs);
  EXPECT_EQ(lost.text(0), "failed 0 by 1 closed -3300 again");
  EXPECT_EQ(lost.verdict(0).saves_known, 0U);
  Nodes back(3);
  back.running().close(1).saves(0).saves(2).pass(1000).connect(1);
  EXPECT_EQ(back.verdict(0).saves_known, 0U) << "it has not heard of it yet";
  back.saves(1);
  EXPECT_EQ(back.verdict(0).saves_known, 1U);
}

TEST(Saving, IsNotKnownBeforeAllNodesHaveComeBackToACoordinatorThatIsMadeAgain) {
  Nodes job(3);
  job.running().forget().connect(0).saves(0).connect(1).saves(1);
  EXPECT_EQ(job.verdict(0).saves_known, 0U);
  job.connect(2);
  EXPECT_EQ(job.verdict(0).saves_known, 0U) << "it has not heard of it yet";
  job.saves(2);
  EXPECT_EQ(job.verdict(0).saves_known, 1U);
}

TEST(Saving, IsKnownWithoutNodesThatDoNotMatter) {
  Nodes ended(2);
  ended.running().says_farewell(1, 0).saves(0);
  EXPECT_EQ(ended.verdict(0).saves_known, 1U);
  Nodes absent(2);
  absent.connect(0).saves(0).pass(kReconnectMs);
  EXPECT_EQ(absent.verdict(0).saves_known, 1U) << "nobody waits for one that was never there";
  auto settings = Nodes::of(2);
  settings.loss_counts = false;
  Nodes elastic(settings);
  elastic.running().close(1).saves(0);
  EXPECT_EQ(elastic.verdict(0).saves_known, 1U);
  settings.stops = false;
  Nodes alone(settings);
  alone.running().saves(0);
  EXPECT_EQ(alone.verdict(0).saves_known, 1U);
}

// --- What it costs ---

TEST(Version, StaysWhereNothingIsNew) {
  Nodes job(3);
  job.running();
  const auto version = job.coordinator().version();
  job.pass(10'000);
  job.reports[1].ranks = 8;
  job.say(1).close(2).pass(100).connect(2);
  EXPECT_EQ(job.coordinator().version(), version);
}

TEST(Strangers, AreNotOfTheJob) {
  Nodes job(2);
  job.running();
  job.coordinator().connected(2, 1, 0);
  job.coordinator().reported(2, {}, 0);
  job.coordinator().heard(2, 0);
  job.coordinator().closed(2, 0);
  job.coordinator().differs(2, "x", job.now, false);
  EXPECT_EQ(job.coordinator().presence(2), Coordinator::Presence::kNeverConnected);
  EXPECT_EQ(job.verdict(2), NodeVerdict{});
  EXPECT_EQ(job.text_of_all(), "fine 0");
}

// Its plan can never fit node 0's. A container of the last job may say so for a moment.
TEST(Differing, FailsTheJobWhereItStays) {
  Nodes job(3);
  job.connect(0).connect(1);
  const auto says = [&job](bool for_good) {
    job.coordinator().differs(2, "it plans 3 ranks in all, and node 0 2", job.now, for_good);
  };
  says(false);  // a stranger
  job.pass(kDiffersMs);
  says(true);
  job.pass(kDiffersMs);
  says(true);  // another one, after a while
  for (int i = 0; i < 4; ++i) {
    job.pass(kDiffersMs / 4 - 1);
    says(true);
  }
  EXPECT_EQ(job.verdict(0).state, NodeVerdict::State::kFine);
  job.pass(4);
  says(true);
  for (const std::uint32_t node : {0U, 1U}) {
    const NodeVerdict verdict = job.verdict(node);
    ASSERT_EQ(verdict.state, NodeVerdict::State::kFailed);
    EXPECT_EQ(verdict.failure->kind, NodeFailure::Kind::kDiffers);
    EXPECT_EQ(verdict.failure->node, 2U);
    EXPECT_EQ(verdict.failure->message,
              "node 2 (c) cannot take part: it plans 3 ranks in all, and node 0 2: give all nodes "
              "the same --slots, list of nodes and image");
  }
}

// Node 0 itself, where another machine is node 0: its text says what to do.
TEST(Differing, FailsTheJobOfASecondNode0) {
  Nodes job(2);
  job.connect(0);
  for (int i = 0; i < 2; ++i) {
    job.coordinator().differs(0, "another machine is it: see --node-rank", job.now, true);
    job.pass(kDiffersMs / 2);
  }
  EXPECT_EQ(job.verdict(0).state, NodeVerdict::State::kFine);
  job.coordinator().differs(0, "another machine is it: see --node-rank", job.now, true);
  ASSERT_EQ(job.verdict(0).state, NodeVerdict::State::kFailed);
  EXPECT_EQ(job.verdict(0).failure->message,
            "node 0 (a) cannot take part: another machine is it: see --node-rank");
}

// Anybody may connect and say to be node 0.
TEST(Differing, AStrangersWordsAreNoSecondNode0) {
  Nodes job(2);
  job.connect(0);
  for (int i = 0; i < 3; ++i) {
    job.coordinator().differs(0, "another machine is it: see --node-rank", job.now, true);
    if (i < 2) job.pass(kDiffersMs / 2);
    job.coordinator().differs(0, "x", job.now, false);
  }
  EXPECT_EQ(job.verdict(0).state, NodeVerdict::State::kFailed);
}

TEST(Differing, GivesItsAdviceWhateverTheNodesAreCalled) {
  EXPECT_THAT(difference_text("node 1 (gke-pool--a)", "it has another list than gke-pool--b"),
              testing::EndsWith("give all nodes the same --slots, list of nodes and image"));
}

TEST(Differing, IsOverWhenItsNodeComes) {
  Nodes job(2);
  job.connect(0);
  job.coordinator().differs(1, "x", job.now, true);
  job.connect(1).pass(kDiffersMs);
  job.coordinator().differs(1, "x", job.now, true);
  EXPECT_EQ(job.verdict(0).state, NodeVerdict::State::kFine);
}

TEST(NodeText, NamesANodeOnce) {
  EXPECT_EQ(node_text(1, {"a", "b"}), "node 1 (b)");
  EXPECT_EQ(node_text(1, {"a", ""}), "node 1");
  EXPECT_EQ(node_text(1, {"a", "node 1"}), "node 1");
  EXPECT_EQ(node_text(2, {"a", "b"}), "node 2");
}

// --- Node 0's loss ---

std::string lost(const LinkWatch& watch, TimeMs now) {
  const auto verdict = watch.lost(now);
  if (!verdict) return "";
  EXPECT_EQ(verdict->failure->node, 0U);
  EXPECT_TRUE(verdict->again);
  const char* state = verdict->state == NodeVerdict::State::kTold ? "told " : "failed ";
  const char* kind = verdict->failure->kind == Kind::kClosed ? " closed -" : " silent -";
  return state + std::to_string(verdict->restarts) + kind +
         std::to_string(verdict->failure->age_ms);
}

TEST(LinkWatch, KnowsNothingBeforeItWasConnected) {
  LinkWatch watch(30'000, true, "node 0 (a)");
  watch.closed(0);
  EXPECT_EQ(lost(watch, 100'000), "");
  EXPECT_EQ(watch.next_tick(), std::nullopt);
}

TEST(LinkWatch, ConcludesFromAClosedConnection) {
  LinkWatch watch(30'000, true, "node 0 (a)");
  watch.connected(1000);
  watch.verdict({.restarts = 2, .failure = {}, .waits_for = {}}, {}, 1000);
  watch.closed(5000);
  watch.closed(6000);
  EXPECT_EQ(watch.next_tick(), 8000);
  EXPECT_EQ(lost(watch, 7999), "");
  EXPECT_EQ(lost(watch, 8000), "failed 2 closed -3000");
  watch.connected(8500);
  EXPECT_EQ(lost(watch, 9000), "");
}

// The process that held the connection was started again.
TEST(LinkWatch, GoesOnForOneThatHasEnded) {
  const NodeVerdict said{.failure = {}, .waits_for = {}, .instance = 6};
  const NodeReport own{.stage = NodeReport::Stage::kRunning, .restarts = 2};
  LinkWatch alone(30'000, true, "node 0 (a)");
  alone.resume(5, 2, 1000);
  EXPECT_EQ(lost(alone, 3999), "");
  EXPECT_EQ(lost(alone, 4000), "failed 2 closed -3000");
  LinkWatch other(30'000, true, "node 0 (a)");
  other.resume(5, 2, 1000);
  other.connected(1500);
  const NodeVerdict replaced = other.verdict(said, own, 1600);
  EXPECT_TRUE(replaced.by_itself);
  EXPECT_EQ(replaced.failure->age_ms, 600);
  LinkWatch same(30'000, true, "node 0 (a)");
  same.resume(6, 2, 1000);
  same.connected(1500);
  EXPECT_EQ(same.verdict(said, own, 1600), said);
}

TEST(LinkWatch, ConcludesFromSilence) {
  LinkWatch watch(30'000, true, "node 0 (a)");
  watch.connected(0);
  watch.heard(500);
  EXPECT_EQ(lost(watch, 30'499), "");
  EXPECT_EQ(lost(watch, 30'500), "failed 0 silent -30000");
  watch.heard(31'000);
  EXPECT_EQ(lost(watch, 31'000), "");
}

TEST(LinkWatch, EndsWithNode0sFarewell) {
  LinkWatch watch(30'000, true, "node 0 (a)");
  watch.connected(0);
  watch.verdict({.failure = {}, .waits_for = {}, .ended = true}, {}, 0);
  watch.closed(100);
  EXPECT_EQ(lost(watch, 100'000), "");
}

// Node 0's container is replaced before its loss is noticed by time.
TEST(LinkWatch, ConcludesFromAnotherProcessOfNode0) {
  LinkWatch watch(30'000, true, "node 0 (a)");
  const auto said = [](std::uint64_t instance) {
    return NodeVerdict{.failure = {}, .waits_for = {}, .instance = instance};
  };
  NodeReport own{.stage = NodeReport::Stage::kRunning};
  watch.connected(0);
  EXPECT_EQ(watch.verdict(said(5), own, 0), said(5));
  watch.closed(1000);
  watch.connected(1500);
  EXPECT_EQ(watch.verdict(said(5), own, 1600), said(5)) << "its worker alone was started again";
  watch.closed(2000);
  watch.connected(2500);
  const NodeVerdict lost = watch.verdict(said(6), own, 2600);
  EXPECT_EQ(lost.state, NodeVerdict::State::kFailed);
  EXPECT_TRUE(lost.by_itself);
  EXPECT_EQ(lost.failure->node, 0U);
  EXPECT_EQ(lost.failure->age_ms, 600) << "since its connection closed";
  own.stage = NodeReport::Stage::kStopping;
  EXPECT_TRUE(watch.verdict(said(6), own, 2700).by_itself) << "until it has let go of that start";
  NodeVerdict farewell = said(6);
  farewell.ended = true;
  farewell.exit_code = 3;
  LinkWatch next = watch;
  const NodeReport again{.stage = NodeReport::Stage::kRunning, .restarts = 1};
  EXPECT_EQ(next.verdict(said(6), again, 2750), said(6)) << "part of another start by now";
  LinkWatch other = watch;
  const NodeVerdict both = other.verdict(farewell, own, 2750);
  EXPECT_TRUE(both.by_itself && both.ended);
  EXPECT_EQ(both.exit_code, 3);
  own = {.stage = NodeReport::Stage::kPreparing, .restarts = 1};
  EXPECT_EQ(watch.verdict(said(6), own, 2800), said(6));
  own.stage = NodeReport::Stage::kRunning;
  EXPECT_EQ(watch.verdict(said(6), own, 2900), said(6));
  watch.heard(4000);
  watch.connected(9000);
  EXPECT_EQ(watch.verdict(said(7), own, 9100).failure->age_ms, 5100)
      << "the connection before was only silent";
}

TEST(LinkWatch, ExpectsAnotherProcessOfNode0AfterAFarewell) {
  LinkWatch watch(30'000, true, "node 0 (a)");
  const NodeReport own{.stage = NodeReport::Stage::kRunning};
  watch.connected(0);
  watch.verdict({.failure = {}, .waits_for = {}, .instance = 5, .ended = true}, own, 0);
  const NodeVerdict next{.failure = {}, .waits_for = {}, .instance = 6};
  EXPECT_EQ(watch.verdict(next, own, 100), next);
}

TEST(LinkWatch, NamesNode0) {
  LinkWatch watch(30'000, true, "node 0 (a)");
  watch.connected(0);
  EXPECT_THAT(watch.lost(30'000)->failure->message, StartsWith("node 0 (a) is lost: "));
  watch.closed(31'000);
  EXPECT_THAT(watch.lost(34'000)->failure->message, StartsWith("node 0 (a) is lost: "));
}

TEST(LinkWatch, OnlyTellsWhereALossDoesNotCount) {
  LinkWatch watch(30'000, false, "node 0 (a)");
  watch.connected(0);
  watch.closed(0);
  EXPECT_EQ(lost(watch, 3000), "told 0 closed -3000");
}

}  // namespace
}  // namespace lifecycle
