// The nodes of a job, as node 0 sees them: the first failure, losses and farewells.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/lifecycle/nodes_script.h"

namespace lifecycle {
namespace {

using Kind = NodeFailure::Kind;
using Stage = NodeReport::Stage;
using ::testing::HasSubstr;

// --- The first failure ---

TEST(FirstFailure, StopsAllAtOnceAndIsKnownAfterAMoment) {
  Nodes job(3);
  job.running();
  EXPECT_EQ(job.text_of_all(), "fine 0");
  job.fails(1);
  EXPECT_EQ(job.text_of_all(), "failing 0");
  job.pass(kGatherMs - 1);
  EXPECT_EQ(job.text_of_all(), "failing 0");
  job.pass(1);
  EXPECT_EQ(job.text_of_all(), "failed 0 by 1 failed -300 again");
  EXPECT_EQ(job.verdict(2).failure->message, "rank 1 died");
  EXPECT_EQ(job.verdict(2).failure->detail, "d");
}

TEST(FirstFailure, IsTheEarliestOfThoseThatFailInTheSameBreath) {
  Nodes job(3);
  job.running();
  job.now = 1000;
  job.fails(1, "later", 20).pass(100).fails(2, "earlier", 150).pass(200);
  EXPECT_EQ(job.text_of_all(), "failed 0 by 2 failed -350 again");
}

TEST(FirstFailure, IsTheLowerNodesWhereTwoFailAtOneTime) {
  Nodes job(3);
  job.running();
  job.fails(2, "two").fails(1, "one").pass(kGatherMs);
  EXPECT_EQ(job.text_of_all(), "failed 0 by 1 failed -300 again");
}

TEST(FirstFailure, IsTheRootsOfThoseThatFailInTheSameBreath) {
  using Role = NodeFailure::Role;
  Nodes job(3);
  job.running();
  job.now = 1000;
  job.fails(1, "victim", 100, false).fails(2, "root", 50, false).pass(100);
  Nodes other = job;
  job.shows(2, Role::kRoot).shows(1, Role::kVictim).pass(kGatherMs);
  EXPECT_EQ(job.text_of_all(), "failed 0 by 2 failed -450 again");
  EXPECT_EQ(job.verdict(0).failure->message, "root");
  other.shows(1, Role::kVictim).shows(2, Role::kRoot).pass(kGatherMs);
  EXPECT_EQ(other.text_of_all(), "failed 0 by 2 failed -450 again") << "whichever is read first";
}

TEST(FirstFailure, IsTheEarliestUnlessThatIsAVictim) {
  using Role = NodeFailure::Role;
  struct {
    Role first, second;
    const char* named;
  } const rows[] = {
      {Role::kOpen, Role::kRoot, "first"},    {Role::kOpen, Role::kVictim, "first"},
      {Role::kRoot, Role::kRoot, "first"},    {Role::kVictim, Role::kRoot, "second"},
      {Role::kVictim, Role::kOpen, "second"}, {Role::kVictim, Role::kVictim, "first"},
  };
  for (const auto& row : rows) {
    Nodes job(3);
    job.running();
    job.now = 1000;
    job.fails(1, "first", 100).fails(2, "second", 50).shows(1, row.first).shows(2, row.second);
    job.pass(kDetailMs);
    EXPECT_EQ(job.verdict(0).failure->message, row.named);
  }
}

// The culprit's node is slow, by a CPU limit perhaps: its report comes after the victim's.
TEST(FirstFailure, IsAwaitedWhereAVictimIsAllThatIsKnown) {
  using Role = NodeFailure::Role;
  Nodes job(3);
  job.running();
  job.now = 1000;
  job.fails(1, "victim").shows(1, Role::kVictim).pass(kDetailMs - 100);
  EXPECT_EQ(job.text_of_all(), "failing 0");
  Nodes alone = job;
  job.fails(2, "killed");
  EXPECT_EQ(job.verdict(0).failure->message, "killed") << "at once: the others had their time";
  alone.pass(100);
  EXPECT_EQ(alone.verdict(0).failure->message, "victim");
}

// A failure whose role becomes known while the others are compared with it.
TEST(FirstFailure, IsNoneOfThoseThatTurnOutToBeVictims) {
  using Role = NodeFailure::Role;
  Nodes job(4);
  job.running();
  job.now = 1000;
  job.fails(1, "one", 100, false).fails(2, "two", 50, false).fails(3, "three", 20, false);
  job.shows(1, Role::kVictim).shows(2, Role::kVictim).pass(kDetailMs);
  EXPECT_EQ(job.verdict(0).failure->message, "three");
}

// The root's own node says that no restart can help.
TEST(FirstFailure, IsAnsweredAsItsNodeSaysWhereAVictimWasEarlier) {
  using Role = NodeFailure::Role;
  Nodes job(3);
  job.running();
  job.now = 1000;
  job.fails(1, "victim", 100).shows(1, Role::kVictim).fails(2, "root", 50);
  job.reports[2].failure->restarts = false;
  job.shows(2, Role::kRoot).pass(kGatherMs);
  EXPECT_EQ(job.text_of_all(), "failed 0 by 2 failed -350");
}

TEST(FirstFailure, NeverChangesOnceItIsKnown) {
  Nodes job(3);
  job.running();
  job.now = 5000;
  job.fails(2).pass(kGatherMs).fails(1, "long before", 4000).pass(1000);
  EXPECT_EQ(job.text_of_all(), "failed 0 by 2 failed -1300 again");
}

// Its platform stops a node between two starts: nobody waits for it until the window ends.
TEST(FirstFailure, IsTheStopOfANodeThatTheNextStartWaitsFor) {
  for (const bool stop_comes_first : {true, false}) {
    Nodes job(3);
    job.running();
    job.now = 1000;
    job.fails(2).pass(kGatherMs);
    EXPECT_EQ(job.text_of_all(), "failed 0 by 2 failed -300 again");
    const auto stops = [&job] {
      job.is_stopped(1);
      job.says_farewell(1, 143);
    };
    if (stop_comes_first) stops();
    job.lets_go(0).lets_go(2).arrive(0).arrive(2);
    if (!stop_comes_first) {
      EXPECT_EQ(job.text(0), "fine 1") << "node 1 is on its way";
      stops();
    }
    job.pass(kGatherMs);
    EXPECT_EQ(job.text(0).substr(0, 21), "failed 1 by 1 stopped");
    EXPECT_EQ(job.text(0).find("again"), std::string::npos);
    EXPECT_EQ(job.text(2).substr(0, 21), "failed 1 by 1 stopped");
  }
  Coordinator::Settings elastic = Nodes::of(3);
  elastic.stop_counts = false;
  Nodes job(elastic);
  job.running();
  job.now = 1000;
  job.fails(2).pass(kGatherMs);
  job.is_stopped(1);
  job.says_farewell(1, 143);
  job.lets_go(0).lets_go(2).arrive(0).arrive(2).pass(kGatherMs);
  EXPECT_EQ(job.text(0), "fine 1") << "the list of nodes changes";
}

TEST(FirstFailure, WaitsForItsLastLines) {
  Nodes job(2);
  job.running();
  job.fails(1, "rank 1 died", 0, false).pass(1000);
  EXPECT_EQ(job.text_of_all(), "failing 0");
  job.fails(1, "rank 1 died: no memory");
  EXPECT_EQ(job.verdict(0).failure->message, "rank 1 died: no memory");
  EXPECT_EQ(job.verdict(0).state, NodeVerdict::State::kFailed);
}

TEST(FirstFailure, WaitsNotLongForItsLastLines) {
  Nodes job(2);
  job.running();
  job.fails(1, "rank 1 died", 0, false).pass(kDetailMs);
  EXPECT_EQ(job.text_of_all(), "failed 0 by 1 failed -2500 again");
  const auto before = job.coordinator().version();
  job.fails(1, "rank 1 died: no memory", kDetailMs);
  EXPECT_EQ(job.verdict(0).failure->message, "rank 1 died: no memory");
  EXPECT_GT(job.coordinator().version(), before);
  job.fails(1, "rank 1 died", kDetailMs, false);
  EXPECT_EQ(job.verdict(0).failure->message, "rank 1 died: no memory") << "what was sent before";
}

// The earliest failure, a victim, makes a root the first, however many others there are.
TEST(FirstFailure, IsTheRootAmongMoreFailuresThanAreCompared) {
  using Role = NodeFailure::Role;
  Nodes job(40);
  job.running();
  job.now = 1000;
  job.fails(1, "victim", 100).shows(1, Role::kVictim);
  for (std::uint32_t i = 2; i < 30; ++i) job.fails(i, "unknown", 50);
  job.fails(30, "root", 10).shows(30, Role::kRoot).pass(kDetailMs);
  EXPECT_EQ(job.verdict(0).failure->message, "root");
  Nodes victims(40);
  victims.running();
  victims.now = 1000;
  for (std::uint32_t i = 1; i < 39; ++i) victims.fails(i, "victim", 100).shows(i, Role::kVictim);
  victims.fails(39, "unknown", 10).pass(kDetailMs);
  EXPECT_EQ(victims.verdict(0).failure->message, "unknown");
  Nodes lost(40);
  lost.running();
  lost.now = 1000;
  for (std::uint32_t i = 2; i < 30; ++i) lost.fails(i, "unknown", 50);
  lost.pass(100).close(31).pass(kReconnectMs + 100);
  EXPECT_EQ(lost.text(0).substr(0, 21), "failed 0 by 31 closed");
}

// Its ranks' connections close first, and what they print does not say that they are victims.
TEST(FirstFailure, IsALossThatIsNoticedSoonAfterFailuresOfUnknownRole) {
  Nodes job(3);
  job.running();
  job.now = 1000;
  job.fails(1).pass(100).close(2).pass(kReconnectMs + 100);
  EXPECT_EQ(job.text_of_all(), "failed 0 by 2 closed -3100 again");
  Nodes later(3);
  later.running();
  later.now = 1000;
  later.fails(1).pass(250).close(2).pass(kReconnectMs);
  EXPECT_EQ(later.text(0).substr(0, 20), "failed 0 by 2 closed");
  Nodes stopped(3);
  stopped.running();
  stopped.now = 1000;
  stopped.is_stopped(1).pass(100).close(2).pass(kReconnectMs + 100);
  EXPECT_EQ(stopped.text(0).substr(0, 21), "failed 0 by 1 stopped") << "the platform ends the job";
  Nodes other(3);
  other.running();
  other.now = 1000;
  other.fails(1).pass(kGatherMs + 50).close(2).pass(kReconnectMs);
  EXPECT_EQ(other.text(0).substr(0, 20), "failed 0 by 1 failed");
}

// A platform that stops a job may kill one container before another one reports its stop.
TEST(FirstFailure, IsTheStopThatIsReportedAfterALoss) {
  Nodes job(3);
  job.running();
  job.now = 1000;
  job.close(2).pass(kReconnectMs);
  EXPECT_EQ(job.text(0), "failing 0");
  job.reports[1].failure = NodeFailure{.kind = Kind::kStopped,
                                       .node = 1,
                                       .age_ms = kReconnectMs + kGatherMs - 100,
                                       .message = {},
                                       .detail = {}};
  job.stage(1, Nodes::Stage::kStopping).pass(kGatherMs);
  EXPECT_EQ(job.text(0).substr(0, 21), "failed 0 by 1 stopped");
}

TEST(FirstFailure, WaitsForANodeWhoseConnectionIsBeingMadeAgain) {
  Nodes job(3);
  job.running();
  job.close(2).pass(100).fails(1).pass(2000);
  EXPECT_EQ(job.text(0), "failing 0");
  job.reports[2].failure = NodeFailure{.kind = Kind::kFailed,
                                       .node = 2,
                                       .age_ms = 2150,
                                       .restarts = true,
                                       .message = {},
                                       .detail = {}};
  job.connect(2);
  EXPECT_EQ(job.text_of_all(), "failed 0 by 2 failed -2150 again");
}

TEST(FirstFailure, OfAnEarlierStartIsNone) {
  Nodes job(2);
  job.running().fails(1).pass(kGatherMs).lets_go(0).lets_go(1).meet();
  EXPECT_EQ(job.text_of_all(), "fine 1");
  job.reports[1].restarts = 0;
  job.fails(1);
  EXPECT_EQ(job.text(0), "fine 1");
}

TEST(FirstFailure, OfAStartThatNode0HasNotComeToCountsThen) {
  Nodes job(2);
  job.running().fails(1).pass(kGatherMs).lets_go(1).fails(1, "no rank table");
  EXPECT_EQ(job.text(0), "failed 0 by 1 failed -300 again");
  job.lets_go(0);
  EXPECT_EQ(job.text(0), "failing 1");
}

TEST(FirstFailure, OfANodeThatTakesAnothersPlaceIsItsOwn) {
  Nodes job(2);
  job.running().fails(1).pass(kGatherMs).lets_go(0).lets_go(1).meet();
  job.another_instance(1).pass(kGatherMs).lets_go(0);
  job.fails(1, "the hook failed");
  job.reports[1].failure->restarts = false;
  job.say(1);
  EXPECT_EQ(job.text(0), "fine 2");
  EXPECT_EQ(job.text(1), "failed 0 by 1 failed -0") << "or it would wait for an answer";
}

TEST(FirstFailure, IsAnsweredByARestartIfAllMay) {
  for (const bool may : {true, false}) {
    Nodes job(3);
    job.running();
    job.reports[0].may_restart = may;
    job.say(0).fails(1).pass(kGatherMs);
    EXPECT_EQ(job.verdict(2).again, may);
  }
}

TEST(FirstFailure, IsAnsweredByNoRestartIfItsNodeSaysSo) {
  Nodes job(2);
  job.running().fails(1);
  job.reports[1].failure->restarts = false;
  job.say(1).pass(kGatherMs);
  EXPECT_EQ(job.text_of_all(), "failed 0 by 1 failed -300");
}

TEST(FirstFailure, IsAnsweredByNoRestartWhereANodeHasEnded) {
  Nodes job(3);
  job.running().says_farewell(2, 0).fails(1).pass(kGatherMs);
  EXPECT_EQ(job.text(0), "failed 0 by 1 failed -300");
}

TEST(FirstFailure, IsKnownAtOnceWhereNode0Ends) {
  Nodes job(3);
  job.running();
  job.reports[0].failure =
      NodeFailure{.kind = Kind::kStopped, .message = "told to stop", .detail = {}};
  job.stage(0, Stage::kStopping).pass(5);
  EXPECT_EQ(job.text(1), "failing 0");
  job.says_farewell(0, 143);
  EXPECT_EQ(job.text(1), "failed 0 by 0 stopped -5") << "there is nobody who could say it later";
}

TEST(FirstFailure, ThatIsAStopOrTheTimeLimitIsNoRestart) {
  for (const Kind kind : {Kind::kStopped, Kind::kExpired}) {
    Nodes job(2);
    job.running();
    job.reports[1].failure =
        NodeFailure{.kind = kind, .restarts = true, .message = "told to stop", .detail = {}};
    job.stage(1, Stage::kStopping).pass(kGatherMs);
    const std::string how = kind == Kind::kStopped ? "stopped" : "expired";
    EXPECT_EQ(job.text_of_all(), "failed 0 by 1 " + how + " -300");
  }
}

TEST(FirstFailure, IsNoneWhereANodeStartsAgainForOtherNodes) {
  for (const std::uint32_t node : {0, 1}) {
    Nodes job(3);
    job.reports[2].may_restart = false;
    job.running().replans(node);
    const std::string by = "failed 0 by " + std::to_string(node) + " replanned -0 again";
    EXPECT_EQ(job.text_of_all(), by) << "at once, and whether restarts are left or not";
    job.fails(2);
    EXPECT_EQ(job.text_of_all(), by) << "what fails by it changes nothing";
    job.lets_go(0);
    EXPECT_EQ(job.text(2), by) << "that one may hear of it late";
  }
}

TEST(FirstFailure, IsBoundedAndBelongsToItsReporter) {
  Nodes job(3);
  job.running().fails(1, std::string(kMaxTextBytes - 1, 'x') + "\xC3\xA4");
  job.reports[1].failure->detail = std::string(kMaxDetailBytes + 1, 'x');
  job.reports[1].failure->node = 2;
  job.say(1).pass(kGatherMs);
  EXPECT_EQ(job.verdict(0).failure->node, 1U);
  EXPECT_EQ(job.verdict(0).failure->message, std::string(kMaxTextBytes - 1, 'x'));
  EXPECT_EQ(job.verdict(0).failure->detail, "d") << "the first one's, which was not too long";
}

TEST(FirstFailure, SparesANodeThatHasNotBegun) {
  Nodes job(3);
  job.running().another_instance(2);
  EXPECT_EQ(job.text(1), "failing 0");
  EXPECT_EQ(job.text(2), "fine 0") << "it prepares, and will be there when all meet again";
  job.pass(kGatherMs);
  EXPECT_EQ(job.text(1), "failed 0 by 2 closed -300 again");
  EXPECT_EQ(job.text(2), "fine 0");
}

TEST(FirstFailure, EndsANodeThatHasNotBegunWhereNobodyStartsAgain) {
  Nodes job(3);
  job.running();
  job.reports[0].may_restart = false;
  job.say(0).another_instance(2).pass(kGatherMs);
  EXPECT_EQ(job.text_of_all(), "failed 0 by 2 closed -300");
}

TEST(FirstFailure, EndsAStrangerToTheStartWhereNobodyStartsAgain) {
  Nodes job(2);
  job.running().fails(1).pass(kGatherMs).lets_go(0).lets_go(1).meet();
  job.reports[0].may_restart = false;
  job.say(0).another_instance(1).pass(kGatherMs);
  EXPECT_EQ(job.text_of_all(), "failed 1 by 1 closed -300");
}

// --- Losses ---

TEST(LostNode, IsOneWhoseConnectionClosedAndWasNotMadeAgain) {
  Nodes job(3);
  job.running().close(2).pass(kReconnectMs - 1);
  EXPECT_EQ(job.text(0), "fine 0");
  EXPECT_EQ(job.coordinator().presence(2), Coordinator::Presence::kReconnecting);
  job.pass(1);
  EXPECT_EQ(job.text(0), "failing 0");
  EXPECT_EQ(job.coordinator().presence(2), Coordinator::Presence::kLost);
  job.pass(kGatherMs);
  EXPECT_EQ(job.text(0), "failed 0 by 2 closed -3300 again");
  EXPECT_THAT(job.verdict(0).failure->message, HasSubstr("node 2 (c) is lost"));
}

TEST(LostNode, IsTheFirstFailureOfThoseThatFailForItsSake) {
  Nodes job(3);
  job.running().close(2).pass(200).fails(1, "the peer is gone").pass(kReconnectMs + kGatherMs);
  EXPECT_EQ(job.text(0), "failed 0 by 2 closed -3500 again");
}

TEST(LostNode, IsNoneWhoseConnectionIsMadeAgain) {
  Nodes job(2);
  job.running().close(1).pass(kReconnectMs - 1).connect(1).pass(60'000);
  EXPECT_EQ(job.text_of_all(), "fine 0");
}

TEST(LostNode, IsOneThatWasGivenGo) {
  Nodes job(2);
  job.running().fails(1).pass(kGatherMs).lets_go(0).another_instance(1).arrive(1).arrive(0);
  job.runs(0).close(1).pass(kReconnectMs);
  EXPECT_EQ(job.text(0), "failing 1") << "it said of itself that it is in start 0";
}

TEST(LostNode, IsOneThatIsSilent) {
  Nodes job(2);
  job.running().pass(29'999, {1});
  EXPECT_EQ(job.text(0), "fine 0");
  job.pass(1001 + kGatherMs, {1});
  EXPECT_EQ(job.verdict(0).failure->kind, Kind::kSilent);
  EXPECT_EQ(job.verdict(0).failure->age_ms, job.now) << "when it was last heard";
  job.pass(1000);
  EXPECT_EQ(job.coordinator().presence(1), Coordinator::Presence::kConnected);
}

TEST(LostNode, IsNotNode0) {
  Nodes job(2);
  job.running().pass(120'000, {0});
  EXPECT_EQ(job.text_of_all(), "fine 0");
}

// Silence of all other nodes at once speaks of node 0's own network.
TEST(LostNode, IsNode0WhereItHearsNoOtherNodeAnyMore) {
  Nodes job(3);
  job.running().pass(5000, {2}).pass(25'000, {1, 2});
  EXPECT_EQ(job.text(0), "failing 0");
  job.pass(kGatherMs, {1, 2});
  EXPECT_EQ(job.text_of_all(), "failed 0 by 0 silent -30300 again");
  EXPECT_EQ(job.verdict(0).failure->message,
            "node 0 (a) has lost all 2 other nodes at once: nothing was heard from them for 30 s, "
            "so its own network is the likelier place");
  job.pass(10'000, {1, 2});
  EXPECT_EQ(job.verdict(0).failure->node, 0U) << "the others are lost by now";
}

TEST(LostNode, IsNotNode0WhereItHearsAnotherNodeOrOneHasEnded) {
  Nodes hears(3);
  hears.running().pass(31'000 + kGatherMs, {2});
  EXPECT_EQ(hears.verdict(0).failure->node, 2U);
  Nodes one_ended(3);
  one_ended.running().says_farewell(1, 0).pass(31'000 + kGatherMs, {2});
  EXPECT_EQ(one_ended.verdict(0).failure->node, 2U) << "of one other nothing can be told";
  Nodes closes(3);
  closes.running().pass(29'000, {2}).close(1).pass(2500 + kGatherMs, {1, 2});
  EXPECT_EQ(closes.text(0), "failing 0") << "its kernel closed the connection";
  closes.pass(1000, {1, 2});
  EXPECT_EQ(closes.verdict(0).failure->node, 2U);
}

TEST(LostNode, IsNoneThatNeverConnected) {
  Nodes job(2);
  job.connect(0).runs(0).pass(120'000);
  EXPECT_EQ(job.text(0), "fine 0") << "the link fails open";
}

TEST(LostNode, IsNoneThatSaidFarewell) {
  Nodes job(2);
  job.running().says_farewell(1, 0).close(1).pass(60'000);
  EXPECT_EQ(job.text(0), "fine 0");
  EXPECT_EQ(job.coordinator().presence(1), Coordinator::Presence::kLeft);
}

TEST(LostNode, IsOneWhosePlaceAnotherLifeTakes) {
  Nodes job(2);
  job.running().pass(500).another_instance(1);
  EXPECT_EQ(job.text(0), "failing 0") << "its connection may not have closed yet";
  job.pass(kGatherMs);
  EXPECT_EQ(job.text(0), "failed 0 by 1 closed -300 again");
}

TEST(LostNode, IsNoneWhosePlaceIsTakenAfterAFarewell) {
  Nodes job(2);
  job.running().says_farewell(1, 0).another_instance(1).pass(10'000);
  EXPECT_EQ(job.text_of_all(), "fine 0");
}

TEST(LostNode, IsOnlyMissingBeforeAnyNodeRuns) {
  Nodes job(3);
  for (const std::uint32_t node : {0U, 1U, 2U}) job.connect(node);
  job.arrive(0).arrive(2).close(2).pass(10'000);
  EXPECT_EQ(job.text(0), "fine 0");
  EXPECT_EQ(job.verdict(0).missing, 2U);
  EXPECT_EQ(job.verdict(0).waits_for,
            "node 1 (b): still preparing, node 2 (c): its connection is closed");
  job.another_instance(2).arrive(2).arrive(1);
  EXPECT_EQ(job.verdict(0).go, 1U);
}

TEST(LostNode, CountsOnceANodeRunsWithoutAMeeting) {
  Nodes job(2);
  job.connect(0).connect(1).close(1).pass(10'000);
  EXPECT_EQ(job.text(0), "fine 0");
  job.runs(0);
  EXPECT_EQ(job.text(0), "failing 0");
}

TEST(LostNode, IsNotOneThatThisProcessDidNotListenTo) {
  Nodes job(2);
  job.running();
  job.now = 40'000;
  job.coordinator().tick(job.now);
  job.pass(29'000, {1});
  EXPECT_EQ(job.text(0), "fine 0");
}

NodeReport has_lost_node_0(NodeReport report, TimeMs age_ms) {
  report.stage = Stage::kStopping;
  report.failure =
      NodeFailure{.kind = Kind::kClosed, .age_ms = age_ms, .message = {}, .detail = {}};
  return report;
}

TEST(LostNode, IsTheOneThatSaysItHasLostNode0) {
  Nodes job(2);
  job.running().pass(10'000);
  job.reports[1] = has_lost_node_0(job.reports[1], 4000);
  job.say(1).pass(kGatherMs);
  EXPECT_EQ(job.text(0), "failed 0 by 1 closed -4300 again");
}

TEST(LostNode, IsNode0WhereNobodyWasThereToHear) {
  Nodes job(2);
  job.running();
  job.now = 20'000;
  job.reports[1] = has_lost_node_0(job.reports[1], 15'000);
  job.say(1).pass(kGatherMs);
  EXPECT_EQ(job.text(1), "failed 0 by 0 closed -15300 again");
}

// The report takes its time to come, so the loss seems to be younger than the coordinator.
TEST(LostNode, IsNode0WhereTheLostConnectionWasToAnEarlierCoordinator) {
  Nodes job(3);
  job.running();
  job.now = 10'000;
  job.forget().another_instance(0).connect(1);
  job.now = 10'100;
  job.reports[2] = has_lost_node_0(job.reports[2], 60);
  job.connect(2).says_farewell(2, 76).pass(kGatherMs);
  EXPECT_EQ(job.verdict(0).failure->node, 0U);
  EXPECT_EQ(job.verdict(1).failure->node, 0U);
}

// The worker that holds the connections has died with a node's connection.
TEST(LostNode, IsOneThatDoesNotComeBackToACoordinatorThatIsMadeAgain) {
  auto settings = Nodes::of(3);
  settings.together = false;
  Nodes first(settings);
  first.connect(0).connect(1);
  EXPECT_FALSE(first.coordinator().all_connected());
  first.connect(2).close(2);
  EXPECT_TRUE(first.coordinator().all_connected()) << "it may come back";
  settings.all_connected = true;
  Nodes job(settings);
  EXPECT_TRUE(job.coordinator().all_connected()) << "for the one after it";
  job.connect(0).stage(0, Stage::kRunning).connect(1).stage(1, Stage::kRunning);
  job.pass(settings.timeout_ms + 1000 + kGatherMs);
  EXPECT_EQ(job.verdict(0).failure->node, 2U);
  first.says_farewell(1, 0);
  EXPECT_FALSE(first.coordinator().all_connected()) << "it does not come back";
}

// --- Farewells ---

TEST(Farewell, WithAFailureIsTheFailure) {
  Nodes job(2);
  job.running().fails(1).says_farewell(1, 9).pass(kGatherMs);
  EXPECT_EQ(job.text(0), "failed 0 by 1 failed -300");
}

TEST(Farewell, OfNode0IsToldAndStopsNobody) {
  Nodes job(2);
  job.running().says_farewell(0, 3);
  EXPECT_EQ(job.text(1), "fine 0");
  EXPECT_TRUE(job.verdict(1).ended);
  EXPECT_EQ(job.verdict(1).exit_code, 3);
}

// --- Workers that live on their own ---

Coordinator::Settings only_told() {
  auto settings = Nodes::of(3);
  settings.stops = false;
  return settings;
}

TEST(OwnLives, AreToldOfEachFailure) {
  Nodes job(only_told());
  job.running().fails(1);
  EXPECT_EQ(job.text_of_all(), "told 0 by 1 failed -0");
  job.fails(2);
  EXPECT_EQ(job.text_of_all(), "told 0 by 2 failed -0");
  const auto version = job.coordinator().version();
  job.say(1).pass(1000).say(1);
  EXPECT_EQ(job.text_of_all(), "told 0 by 2 failed -1000") << "node 1 says nothing new";
  EXPECT_EQ(job.coordinator().version(), version);
}

TEST(OwnLives, StartAgainByThemselves) {
  Nodes job(only_told());
  job.running().fails(1).fails(2).lets_go(1).stage(1, Stage::kRunning).fails(1, "again");
  EXPECT_EQ(job.text(0), "told 0 by 1 failed -0");
  EXPECT_EQ(job.text(1), "told 1 by 1 failed -0");
}

TEST(OwnLives, MayStartAgainAloneAndFailTogether) {
  auto settings = Nodes::of(2);
  settings.together = false;
  Nodes job(settings);
  job.running().lets_go(1).stage(1, Stage::kRunning);
  EXPECT_EQ(job.text(0), "fine 0");
  job.fails(1).pass(kGatherMs);
  EXPECT_EQ(job.text(0), "failed 0 by 1 failed -300");
  EXPECT_EQ(job.text(1), "failed 1 by 1 failed -300");
}

TEST(OwnLives, HearOfALoss) {
  Nodes job(only_told());
  job.running().close(2).pass(kReconnectMs);
  EXPECT_EQ(job.text(0), "told 0 by 2 closed -3000");
}

TEST(OwnLives, MayBeLostOrStoppedAloneAndFailTogether) {
  auto settings = Nodes::of(3);
  settings.loss_counts = settings.stop_counts = false;
  Nodes job(settings);
  job.running().close(2).pass(kReconnectMs);
  EXPECT_EQ(job.text(0), "told 0 by 2 closed -3000");
  job.reports[1].failure =
      NodeFailure{.kind = Kind::kStopped, .message = "told to stop", .detail = {}};
  job.say(1);
  EXPECT_EQ(job.text(0), "told 0 by 1 stopped -0");
  job.fails(0).pass(kGatherMs);
  EXPECT_EQ(job.text(1), "failed 0 by 0 failed -300 again");
}

}  // namespace
}  // namespace lifecycle
