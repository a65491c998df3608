// The nodes of a job wait for one another before a start.

#include <gtest/gtest.h>

#include "lifecycle/machine.h"
#include "tests/lifecycle/script.h"

namespace lifecycle {
namespace {

TEST(Rendezvous, ComesBeforeTheStart) {
  Script job(with_rendezvous(30'000), {kResolve});
  job.begin();
  job.ready({kMain, kPreStart});
  EXPECT_FALSE(job.machine().awaits_nodes()) << "the resolver has not ended";
  EXPECT_EQ(job.nodes_ready(5), "") << "too early";
  EXPECT_EQ(job.exited(0, 0), "cancel resolve, set rendezvous#1@30000");
  EXPECT_TRUE(job.machine().awaits_nodes());
  EXPECT_EQ(job.phase(), "preparing");
  EXPECT_EQ(job.machine().restarts(), 0U);
  EXPECT_EQ(job.nodes_ready(4), "cancel rendezvous, start 2#1") << "the pre-start hook";
  EXPECT_EQ(job.machine().restarts(), 4U) << "all nodes count alike";
  EXPECT_FALSE(job.machine().awaits_nodes());
  EXPECT_EQ(job.nodes_ready(9), "") << "late";
  EXPECT_EQ(job.exited(2, 0), "start 1#1");
  EXPECT_EQ(job.machine().restarts(), 4U);
}

TEST(Rendezvous, EndsWithNode0) {
  Script job(with_rendezvous(30'000), {kResolve});
  job.begin();
  job.ready({kMain});
  job.exited(0, 0);
  job.linked();
  job.node0_ended();
  EXPECT_EQ(job.machine().exit_code(), 76);
  EXPECT_NE(job.phase(), "preparing");
}

TEST(Rendezvous, IsNoneAfterNode0HasEnded) {
  Policy policy = with_rendezvous(30'000);
  policy.max_restarts = 2;
  Script job(policy);
  job.begin();
  job.ready({kMain});
  job.nodes_ready();
  job.started(0);
  job.linked();
  job.node0_ended();
  EXPECT_EQ(job.phase(), "running");
  EXPECT_FALSE(job.machine().may_restart());
  job.linked();
  EXPECT_TRUE(job.machine().may_restart()) << "there is another one";
  job.node0_ended();
  job.exited(0, 5);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 5");
}

TEST(Rendezvous, IsNotAwaitedWhereThePolicyDoesNot) {
  Script job({}, {kResolve});
  job.begin();
  job.ready({kMain});
  EXPECT_EQ(job.exited(0, 0), "cancel resolve, start 1#1");
  EXPECT_EQ(job.nodes_ready(4), "");
  EXPECT_EQ(job.machine().restarts(), 0U);
}

TEST(Rendezvous, FollowsAnAnswerThatComesLast) {
  Script job(with_rendezvous(30'000), {kResolve});
  job.begin();
  job.exited(0, 0);
  EXPECT_EQ(job.ready({kMain}), "cancel resolve, set rendezvous#1@30000");
  EXPECT_EQ(job.nodes_ready(), "cancel rendezvous, start 1#1");
}

TEST(Rendezvous, WorksWithoutAResolver) {
  Script job(with_rendezvous(30'000));
  job.begin();
  EXPECT_EQ(job.ready({kMain}), "set rendezvous#1@30000");
  EXPECT_EQ(job.other_nodes(), "") << "nobody could say which";
  EXPECT_EQ(job.nodes_ready(), "cancel rendezvous, start 0#1");
}

TEST(Rendezvous, LeavesTheDataTheirTime) {
  Script job(with_rendezvous(30'000), {kData, kResolve});
  EXPECT_EQ(job.begin(), "start 0#1, start 1#1");
  job.ready({kMain});
  EXPECT_EQ(job.exited(1, 0), "cancel resolve, set rendezvous#1@30000");
  Script first = job;
  EXPECT_EQ(first.exited(0, 0), "") << "data first";
  EXPECT_EQ(first.nodes_ready(), "cancel rendezvous, start 2#1");
  EXPECT_EQ(job.nodes_ready(), "cancel rendezvous") << "nodes first";
  EXPECT_EQ(job.exited(0, 0), "start 2#1");
}

// The hook needed a node that was gone, or was stopped with it.
TEST(Rendezvous, HookThatFailsAfterAnotherNodeRefusesNoRestart) {
  Policy policy = with_rendezvous(30'000);
  policy.max_restarts = 1;
  policy.restart_delay_ms = 0;
  Script job(policy);
  job.begin();
  job.ready({kMain, kPreStart});
  job.linked();
  job.nodes_ready();
  job.exited(1, 9);
  EXPECT_TRUE(job.machine().may_restart()) << "restarts are left";
  EXPECT_FALSE(job.machine().would_restart()) << "a hook that fails first is answered by none";
  Script first = job;
  EXPECT_EQ(first.job_failed(kHere), "cancel verdict, sweep 15, set sweep#1@7500");
  EXPECT_EQ(first.nothing_left(), "cancel sweep, sweep 0, EXIT 9");
  job.job_failed(kElsewhereAgain);
  job.nothing_left();
  EXPECT_EQ(job.phase(), "auto-restart");
}

// Between the grant of a start and its ranks: hooks and data of this node.
TEST(Rendezvous, FailureElsewhereStopsHooksAndDataOfTheStart) {
  Policy policy = with_rendezvous(30'000);
  policy.max_restarts = 1;
  policy.restart_delay_ms = 0;
  Script job(policy, {kData});
  job.begin();
  job.ready({kMain, kPreStart});
  job.linked();
  EXPECT_EQ(job.job_failed(kElsewhereAgain), "") << "not granted yet: it waits for the others";
  EXPECT_FALSE(job.machine().start_granted());
  job.nodes_ready();
  EXPECT_TRUE(job.machine().start_granted());
  Script known = job;
  EXPECT_EQ(known.job_failed(kElsewhereAgain), "report, signal 0#1=9, set give-up#1@250");
  EXPECT_TRUE(known.machine().may_restart());
  known.signaled(0, SIGKILL);
  known.nothing_left();
  EXPECT_EQ(known.phase(), "auto-restart");
  EXPECT_EQ(known.fired(Timer::kRestart), "start 0#2, set rendezvous#2@30000")
      << "the copy was not complete";
  Script ends = job;
  ends.job_failed(kElsewhere);
  ends.signaled(0, SIGKILL);
  EXPECT_EQ(ends.nothing_left(), "cancel sweep, sweep 0, EXIT 76");
  job.exited(0, 0);
  EXPECT_TRUE(job.machine().start_granted()) << "the hook runs";
  EXPECT_EQ(job.job_failed(kUnknown), "signal 2#1=15, set kill#1@7000");
  EXPECT_EQ(job.signaled(2, SIGTERM), "cancel kill, set verdict#1@6000");
  job.job_failed(kElsewhereAgain);
  job.nothing_left();
  EXPECT_EQ(job.fired(Timer::kRestart), "set rendezvous#2@30000") << "the data are complete";
  EXPECT_EQ(job.nodes_ready(1), "cancel rendezvous, start 2#2") << "hooks run in each start";
}

TEST(Rendezvous, CopyThatCannotBeKilledRefusesARestart) {
  Policy policy = with_rendezvous(30'000);
  policy.max_restarts = 1;
  Script job(policy, {kData});
  job.begin();
  job.ready({kMain});
  job.linked();
  job.nodes_ready();
  job.job_failed(kElsewhereAgain);
  job.fired(Timer::kGiveUp);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 76");
}

// The next start would run without this hook.
TEST(Rendezvous, HookThatCannotBeKilledRefusesARestart) {
  Policy policy = with_rendezvous(30'000);
  policy.max_restarts = 1;
  Script job(policy);
  job.begin();
  job.ready({kMain, kPreStart});
  job.linked();
  job.nodes_ready();
  job.job_failed(kElsewhereAgain);
  job.fired(Timer::kKill);
  job.fired(Timer::kGiveUp);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 76");
}

TEST(Rendezvous, OtherNodesEndHooksOfTheStart) {
  Script job(with_rendezvous(30'000), {kResolve});
  job.begin();
  job.ready({kMain, kPreStart});
  job.exited(0, 0);
  job.nodes_ready();
  EXPECT_EQ(job.other_nodes(), "signal 2#1=15, set kill#1@7000");
  EXPECT_TRUE(job.machine().replanned());
  job.signaled(2, SIGTERM);
  job.nothing_left();
  EXPECT_EQ(job.fired(Timer::kRestart), "start 0#2");
}

TEST(Rendezvous, IsBrokenOffByFailedData) {
  Script job(with_rendezvous(30'000), {kData});
  job.begin();
  job.ready({kMain});
  EXPECT_EQ(job.exited(0, 3), "report, cancel rendezvous, sweep 15, set sweep#1@7500");
  EXPECT_FALSE(job.machine().awaits_nodes());
  EXPECT_EQ(job.nodes_ready(), "");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 3");
}

TEST(Rendezvous, ThatTakesTooLongIsAFailure) {
  Script job(with_rendezvous(30'000), {kResolve});
  job.begin();
  job.ready({kMain});
  job.exited(0, 0);
  job.now = 30'000;
  EXPECT_EQ(job.fired(Timer::kRendezvous), "report, sweep 15, set sweep#1@37500");
  EXPECT_EQ(job.nodes_ready(), "");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 69");
}

TEST(Rendezvous, OfOtherNodesResolvesAgainInTheSameTime) {
  Script job(with_rendezvous(30'000), {kData, kResolve});
  job.begin();
  job.ready({kMain, kMain});
  EXPECT_EQ(job.other_nodes(), "") << "the resolver sees by itself what there is";
  job.now = 1000;
  job.exited(1, 0);
  job.now = 9000;
  EXPECT_EQ(job.other_nodes(), "cancel rendezvous, start 1#2");
  EXPECT_FALSE(job.machine().awaits_nodes());
  EXPECT_EQ(job.nodes_ready(), "") << "those of before";
  job.ready({kMain});
  EXPECT_EQ(job.exited(1, 0), "cancel resolve, set rendezvous#2@31000") << "from the first wait";
  EXPECT_EQ(job.nodes_ready(), "cancel rendezvous");
  EXPECT_EQ(job.exited(0, 0), "start 2#1") << "one main task by now";
}

TEST(Rendezvous, WhoseTimeIsOverWhileItResolvesAgainFailsAtOnce) {
  Script job(with_rendezvous(30'000), {kResolve});
  job.begin();
  job.ready({kMain});
  job.exited(0, 0);
  job.now = 29'000;
  job.other_nodes();
  job.now = 40'000;
  job.ready({kMain});
  EXPECT_EQ(job.exited(0, 0), "cancel resolve, set rendezvous#2@40000") << "not in the past";
  EXPECT_EQ(job.fired(Timer::kRendezvous, 2), "report, sweep 15, set sweep#1@47500");
  EXPECT_EQ(job.machine().exit_code(), 69);
}

TEST(Rendezvous, EndsWithAStop) {
  Script job(with_rendezvous(30'000), {kResolve});
  job.begin();
  job.ready({kMain});
  job.exited(0, 0);
  EXPECT_EQ(job.stop(), "cancel rendezvous, sweep 15, set sweep#1@7500");
  EXPECT_EQ(job.nodes_ready(), "");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 143");
}

TEST(Rendezvous, EndsWithTheFailureOfANodeThatIsAwaited) {
  Script job(with_rendezvous(30'000), {kResolve});
  job.begin();
  job.ready({kMain});
  job.exited(0, 0);
  EXPECT_EQ(job.job_failed(kElsewhereAgain), "") << "it will come";
  EXPECT_EQ(job.job_failed(kElsewhere), "report, cancel rendezvous, sweep 15, set sweep#1@7500");
}

TEST(Rendezvous, ComesBeforeEachRestart) {
  Policy policy = with_restarts(1);
  policy.rendezvous_ms = 30'000;
  Script job(policy, {kResolve});
  job.begin();
  job.ready({kMain});
  job.exited(0, 0);
  job.nodes_ready(7);
  job.started(1);
  job.exited(1, 3);
  job.nothing_left();
  job.now = 5000;
  EXPECT_EQ(job.fired(Timer::kRestart), "start 0#2");
  EXPECT_EQ(job.machine().restarts(), 8U);
  job.ready({kMain});
  EXPECT_EQ(job.exited(0, 0), "cancel resolve, set rendezvous#2@35000") << "a window of its own";
  EXPECT_EQ(job.nodes_ready(8), "cancel rendezvous, start 1#2");
}

}  // namespace
}  // namespace lifecycle
