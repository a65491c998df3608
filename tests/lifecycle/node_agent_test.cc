#include "lifecycle/node_agent.h"

#include <gtest/gtest.h>

#include <csignal>

namespace lifecycle {
namespace {

using Stage = NodeReport::Stage;
using State = NodeVerdict::State;
using Kind = NodeFailure::Kind;

constexpr std::uint64_t kCluster = 7;

// Node 1 of a job with one main task.
class NodeSideTest : public testing::Test {
 protected:
  NodeSideTest() { restarts(0, 0); }

  void restarts(int most, TimeMs rendezvous_ms) {
    policy_ = {};
    policy_.max_restarts = most;
    policy_.restart_delay_ms = 0;
    policy_.rendezvous_ms = rendezvous_ms;
    machine_ = Machine(policy_, {TaskKind::kResolve});
    side_ = NodeAgent(1, rendezvous_ms > 0);
  }
  void give(const Event& event) { machine_.step(event, now_); }
  void end(std::uint32_t task, int code) {
    const std::uint32_t incarnation = machine_.tasks()[task].incarnation;
    give(event::TasksEnded{{{{task, incarnation}, {ExitStatus::How::kExited, code}}}});
  }
  void resolve() {
    give(event::ClusterReady{.tasks = {TaskKind::kMain}, .policy = policy_});
    end(0, 0);
  }
  void run() {
    give(event::Begin{});
    give(event::Linked{true});
    resolve();
    if (machine_.awaits_nodes()) give(event::NodesReady{0});
    give(event::TaskStarted{{1, 1}});
  }
  NodeReport report() { return side_.report(machine_, kCluster, now_); }
  std::vector<Event> apply_verdict(const NodeVerdict& verdict) {
    return side_.apply_verdict(verdict, machine_, now_);
  }
  static NodeVerdict failed(std::uint32_t node, Kind kind = Kind::kFailed, bool again = false) {
    NodeVerdict verdict{.state = State::kFailed, .again = again};
    verdict.failure.emplace();
    verdict.failure->node = node;
    verdict.failure->kind = kind;
    return verdict;
  }

  TimeMs now_ = 100;
  Policy policy_;
  Machine machine_{{}, {}};
  NodeAgent side_;
};

TEST_F(NodeSideTest, SaysWhereItsNodeIs) {
  EXPECT_EQ(report().stage, Stage::kPreparing);
  run();
  EXPECT_EQ(report().stage, Stage::kRunning);
  EXPECT_EQ(report().cluster, kCluster);
  EXPECT_FALSE(report().failure);
  give(event::StopRequested{SIGTERM});
  EXPECT_EQ(report().stage, Stage::kStopping);
}

// A new process of this node joins a job that has restarted before.
TEST_F(NodeSideTest, ReportsTheRendezvousOfALaterStart) {
  restarts(1, 1000);
  give(event::Begin{});
  resolve();
  EXPECT_EQ(report().stage, Stage::kArrived);
  for (const Event& event : apply_verdict({.restarts = 3, .go = 1, .meeting = 5})) give(event);
  give(event::TaskStarted{{1, 1}});
  EXPECT_EQ(report().restarts, 3U);
  EXPECT_EQ(report().meeting, 5U);
}

TEST_F(NodeSideTest, TakesPartInAGrantedStartWhileItsHooksRun) {
  restarts(1, 1000);
  give(event::Begin{});
  give(event::ClusterReady{.tasks = {TaskKind::kMain, TaskKind::kPreStart}, .policy = policy_});
  end(0, 0);
  EXPECT_EQ(report().stage, Stage::kArrived);
  for (const Event& event : apply_verdict({.go = 1, .meeting = 5})) give(event);
  EXPECT_EQ(machine_.phase(), Phase::kPreparing);
  EXPECT_EQ(report().stage, Stage::kRunning);
  EXPECT_EQ(report().meeting, 5U);
  EXPECT_EQ(report().ran_ms, -1);
}

TEST_F(NodeSideTest, CountsItsArrivals) {
  restarts(1, 1000);
  give(event::Begin{});
  EXPECT_EQ(report().arrival, 0U);
  resolve();
  EXPECT_EQ(report().stage, Stage::kArrived);
  EXPECT_EQ(report().arrival, 1U);
  EXPECT_EQ(report().arrival, 1U) << "once";
  give(event::MembershipChanged{});
  EXPECT_EQ(report().stage, Stage::kPreparing);
  resolve();
  EXPECT_EQ(report().arrival, 2U);
}

TEST_F(NodeSideTest, CountsOnWithAnotherLink) {
  restarts(1, 1000);
  give(event::Begin{});
  resolve();
  report();
  give(event::NodesReady{0});
  give(event::TaskStarted{{1, 1}});
  apply_verdict({.saves = 0});
  give(event::CheckpointRequested{.keep_running = true});
  ASSERT_EQ(report().saves, 1U);
  const std::uint32_t before = report().arrival;
  give(event::MembershipChanged{});
  end(1, 0);
  give(event::NothingAdopted{});
  give(event::TimerFired{Timer::kRestart, 1});
  resolve();
  side_.relink(2, true);
  EXPECT_EQ(report().arrival, before + 1);
  EXPECT_EQ(report().saves, 0U) << "nobody is asked again to save";
  EXPECT_TRUE(apply_verdict({.go = before, .saves = 5}).empty()) << "of the last start";
}

TEST_F(NodeSideTest, GoesWhenThisArrivalMay) {
  restarts(1, 1000);
  give(event::Begin{});
  resolve();
  report();
  EXPECT_TRUE(apply_verdict({.go = 0}).empty());
  EXPECT_TRUE(apply_verdict({.go = 2}).empty()) << "of another instance";
  const auto events = apply_verdict({.restarts = 3, .go = 1});
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(std::get<event::NodesReady>(events[0]).restarts, 3U);
  give(events[0]);
  report();
  EXPECT_TRUE(apply_verdict({.restarts = 3, .go = 1}).empty()) << "it has gone";
}

TEST_F(NodeSideTest, GoesAndStopsWhereTheStartHasFailedMeanwhile) {
  restarts(3, 1000);
  give(event::Begin{});
  resolve();
  report();
  for (const Event& event : apply_verdict({.go = 1, .meeting = 9})) give(event);
  give(event::TaskStarted{{1, 1}});
  EXPECT_EQ(report().meeting, 9U);
  end(1, 3);
  give(event::NothingAdopted{});
  give(event::TimerFired{Timer::kRestart, 1});
  ASSERT_EQ(report().restarts, 1U);
  EXPECT_EQ(report().meeting, 0U) << "of the start before";
  resolve();
  ASSERT_EQ(report().arrival, 2U);
  NodeVerdict verdict = failed(2, Kind::kFailed, true);
  verdict.go = 2;
  const auto events = apply_verdict(verdict);
  ASSERT_EQ(events.size(), 2U) << "of start 0, by a node 0 that counts anew";
  EXPECT_TRUE(std::holds_alternative<event::NodesReady>(events[0]));
  EXPECT_TRUE(std::get<event::JobFailed>(events[1]).again);
}

TEST_F(NodeSideTest, TellsItsFailureAndHowLongAgoItWas) {
  run();
  end(1, 3);
  now_ += 40;
  const NodeReport said = report();
  ASSERT_TRUE(said.failure);
  EXPECT_EQ(said.failure->kind, Kind::kFailed);
  EXPECT_EQ(said.failure->node, 1U);
  EXPECT_EQ(said.failure->age_ms, 40);
  EXPECT_FALSE(said.failure->restarts);
}

TEST_F(NodeSideTest, TellsWhetherItWouldStartAgain) {
  restarts(1, 1000);
  run();
  EXPECT_TRUE(report().may_restart);
  end(1, 3);
  EXPECT_TRUE(report().failure->restarts);
}

TEST_F(NodeSideTest, KeepsToItselfAFailureThatItAnswersAlone) {
  restarts(1, 0);
  run();
  end(1, 3);
  EXPECT_FALSE(report().failure);
  restarts(0, 0);
  run();
  end(1, 3);
  EXPECT_TRUE(report().failure);
}

// The one restart is counted by then.
TEST_F(NodeSideTest, KeepsItToItselfWhileItWaitsForItsLastRestart) {
  restarts(1, 0);
  policy_.restart_delay_ms = policy_.restart_delay_max_ms = 1000;
  machine_ = Machine(policy_, {TaskKind::kResolve});
  run();
  end(1, 3);
  give(event::Linked{false});  // no verdict comes
  give(event::NothingLeft{});
  ASSERT_EQ(machine_.phase(), Phase::kAutoRestart);
  EXPECT_FALSE(report().failure);
}

TEST_F(NodeSideTest, TellsNoFailureThatIsAnothersConsequence) {
  run();
  for (const Event& event : apply_verdict({.state = State::kFailing})) give(event);
  EXPECT_EQ(report().stage, Stage::kStopping);
  EXPECT_FALSE(report().failure);
}

TEST_F(NodeSideTest, TellsItsStopAndTheEndOfItsTime) {
  run();
  give(event::StopRequested{SIGTERM});
  EXPECT_EQ(report().failure->kind, Kind::kStopped);
  now_ += 25;
  EXPECT_EQ(report().failure->age_ms, 25);
}

TEST_F(NodeSideTest, TurnsAVerdictIntoWhatItIsHere) {
  run();
  auto events = apply_verdict({.state = State::kFailing});
  ASSERT_EQ(events.size(), 1U);
  EXPECT_FALSE(std::get<event::JobFailed>(events[0]).known);
  events = apply_verdict(failed(2, Kind::kClosed, true));
  ASSERT_EQ(events.size(), 1U);
  const auto there = std::get<event::JobFailed>(events[0]);
  EXPECT_TRUE(there.known && there.again && !there.here && !there.stopped && !there.expired);
  const auto here = std::get<event::JobFailed>(apply_verdict(failed(1))[0]);
  EXPECT_TRUE(here.known && here.here && !here.again);
  EXPECT_TRUE(std::get<event::JobFailed>(apply_verdict(failed(2, Kind::kStopped))[0]).stopped);
  EXPECT_FALSE(std::get<event::JobFailed>(apply_verdict(failed(2, Kind::kUnfit))[0]).here);
  EXPECT_TRUE(std::holds_alternative<event::Unfit>(apply_verdict(failed(1, Kind::kUnfit))[0]));
  for (const std::uint32_t node : {1U, 2U}) {
    EXPECT_TRUE(
        std::holds_alternative<event::Unfit>(apply_verdict(failed(node, Kind::kDiffers))[0]));
  }
  EXPECT_TRUE(std::get<event::JobFailed>(apply_verdict(failed(2, Kind::kExpired))[0]).expired);
}

TEST_F(NodeSideTest, LeavesWhatIsToldOrOfAnEarlierStart) {
  restarts(3, 1000);
  give(event::Begin{});
  resolve();
  give(event::NodesReady{2});
  NodeVerdict verdict = failed(2);
  verdict.restarts = 1;
  EXPECT_TRUE(apply_verdict(verdict).empty());
  verdict.restarts = 2;
  EXPECT_EQ(apply_verdict(verdict).size(), 1U);
  verdict.state = State::kTold;
  EXPECT_TRUE(apply_verdict(verdict).empty());
}

TEST_F(NodeSideTest, TellsThatItsNodesAreOthers) {
  restarts(0, 1000);
  give(event::Begin{});
  resolve();
  give(event::NodesReady{0});
  give(event::TaskStarted{{1, 1}});
  give(event::MembershipChanged{});
  now_ += 30;
  report();
  now_ += 10;
  ASSERT_TRUE(report().failure);
  EXPECT_EQ(report().failure->kind, Kind::kReplanned);
  EXPECT_TRUE(report().failure->restarts);
  EXPECT_EQ(report().failure->age_ms, 10) << "since it was first said";
  EXPECT_TRUE(apply_verdict(failed(1, Kind::kReplanned, true)).empty()) << "its own";
  end(1, 0);
  give(event::NothingAdopted{});
  give(event::TimerFired{Timer::kRestart, 1});
  EXPECT_FALSE(report().failure);
  const auto events = apply_verdict(failed(2, Kind::kReplanned, true));
  EXPECT_TRUE(events.empty()) << "of the start before";
}

TEST_F(NodeSideTest, HearsThatTheNodesAreOthers) {
  run();
  const auto events = apply_verdict(failed(2, Kind::kReplanned, true));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_TRUE(std::get<event::MembershipChanged>(events[0]).elsewhere);
}

TEST_F(NodeSideTest, SavesWhatAnotherNodeAskedFor) {
  run();
  EXPECT_TRUE(apply_verdict({.saves = 0}).empty());
  const auto events = apply_verdict({.saves = 1, .keeps_running = true});
  ASSERT_EQ(events.size(), 1U);
  const auto save = std::get<event::CheckpointRequested>(events[0]);
  EXPECT_TRUE(save.keep_running && save.elsewhere);
  EXPECT_TRUE(apply_verdict({.saves = 1, .keeps_running = true}).empty()) << "once";
  give(save);
  EXPECT_EQ(report().saves, 1U) << "it knows of it, and asks for none";
}

TEST_F(NodeSideTest, HearsOnceThatAllNodesKnowOfTheCheckpoint) {
  run();
  apply_verdict({.saves = 0});
  give(event::CheckpointRequested{});
  EXPECT_TRUE(apply_verdict({.saves = 1, .saves_known = 0}).empty());
  const auto events = apply_verdict({.saves = 1, .saves_known = 1});
  ASSERT_EQ(events.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<event::SaveKnown>(events[0]));
  EXPECT_TRUE(apply_verdict({.saves = 1, .saves_known = 1}).empty()) << "said again";
}

TEST_F(NodeSideTest, SavesOnceWhatWasAskedForHere) {
  run();
  apply_verdict({.saves = 0});
  give(event::CheckpointRequested{.keep_running = true});
  EXPECT_EQ(report().saves, 1U);
  EXPECT_TRUE(report().keeps_running);
  EXPECT_TRUE(apply_verdict({.saves = 1}).empty());
  EXPECT_EQ(apply_verdict({.saves = 2}).size(), 1U);
}

// Node 0 may have ended and come again as another one, which has seen nothing of it.
TEST_F(NodeSideTest, TellsOfTheLossOfNode0WhenItIsBack) {
  run();
  NodeVerdict lost = failed(0, Kind::kClosed);
  lost.failure->age_ms = 10;
  for (const Event& event : apply_verdict(lost)) give(event);
  now_ += 5;
  ASSERT_TRUE(report().failure);
  EXPECT_EQ(report().failure->kind, Kind::kClosed);
  EXPECT_EQ(report().failure->node, 0U);
  EXPECT_EQ(report().failure->age_ms, 15);
}

// An other node 0 counts the starts anew.
TEST_F(NodeSideTest, TellsOfNoLossOfBeforeItsPresentStart) {
  restarts(2, 1000);
  run();
  for (const Event& event : apply_verdict(failed(0, Kind::kClosed, true))) give(event);
  ASSERT_TRUE(report().failure);
  end(1, 0);
  give(event::NothingAdopted{});
  give(event::TimerFired{Timer::kRestart, 1});
  resolve();
  const std::uint32_t arrival = report().arrival;
  for (const Event& event : apply_verdict({.restarts = 0, .go = arrival, .meeting = 9}))
    give(event);
  give(event::TaskStarted{{1, 2}});
  ASSERT_EQ(report().stage, Stage::kRunning);
  for (const Event& event : apply_verdict({.state = State::kFailing})) give(event);
  EXPECT_EQ(report().stage, Stage::kStopping);
  EXPECT_FALSE(report().failure);
}

TEST_F(NodeSideTest, HoldsWhatFailedHereBeforeForNoConsequenceOfThatLoss) {
  run();
  end(1, 3);
  now_ += 1000;
  NodeVerdict lost = failed(0, Kind::kClosed);
  lost.by_itself = true;
  lost.failure->age_ms = 600;
  EXPECT_TRUE(std::get<event::JobFailed>(apply_verdict(lost)[0]).here);
  lost.failure->age_ms = 800;
  EXPECT_FALSE(std::get<event::JobFailed>(apply_verdict(lost)[0]).here)
      << "at about the same time: its ranks saw the loss first";
  lost.failure->age_ms = 1200;
  EXPECT_FALSE(std::get<event::JobFailed>(apply_verdict(lost)[0]).here) << "it came behind";
  lost.failure->age_ms = 600;
  lost.by_itself = false;
  EXPECT_FALSE(std::get<event::JobFailed>(apply_verdict(lost)[0]).here) << "node 0 knows better";
}

TEST_F(NodeSideTest, OfNode0ReportsNoLossOfItself) {
  run();
  side_.relink(0, true);
  const std::vector<Event> events = apply_verdict(failed(0, Kind::kSilent));
  EXPECT_FALSE(std::get<event::JobFailed>(events[0]).here) << "nothing failed on it";
  give(events[0]);
  EXPECT_FALSE(report().failure) << "it has found that itself";
}

TEST_F(NodeSideTest, SavesNothingThatWasAskedForBeforeItCame) {
  run();
  EXPECT_TRUE(apply_verdict({.saves = 5}).empty());
  EXPECT_EQ(apply_verdict({.saves = 6}).size(), 1U);
}

TEST_F(NodeSideTest, AsksForACheckpointThatComesAfterThoseOfBefore) {
  run();
  give(event::CheckpointRequested{.keep_running = true});
  EXPECT_TRUE(apply_verdict({.saves = 5}).empty());
  EXPECT_EQ(report().saves, 6U);
  EXPECT_TRUE(apply_verdict({.saves = 6}).empty());
}

TEST_F(NodeSideTest, SavesNothingTwiceThatACoordinatorHasToLearn) {
  run();
  apply_verdict({.saves = 5});
  EXPECT_TRUE(apply_verdict({.saves = 0}).empty());
  EXPECT_TRUE(apply_verdict({.saves = 5}).empty());
  EXPECT_EQ(apply_verdict({.saves = 6}).size(), 1U);
}

TEST_F(NodeSideTest, StopsWhereItsOwnLossHasStoppedTheOthers) {
  run();
  for (const Kind kind : {Kind::kClosed, Kind::kSilent}) {
    EXPECT_FALSE(std::get<event::JobFailed>(apply_verdict(failed(1, kind))[0]).here);
  }
}

}  // namespace
}  // namespace lifecycle
