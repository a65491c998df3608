// One node of a job of several: what fails on another, or is stopped there, ends it.

#include <gtest/gtest.h>

#include "lifecycle/machine.h"
#include "tests/lifecycle/script.h"

namespace lifecycle {
namespace {

// --- A failure elsewhere ---

TEST(FailureElsewhere, StopsTheTasksAtOnce) {
  Policy policy;
  policy.drain_ms = 3000;
  Script job(policy);
  job.running(2, 1, SuccessPolicy::kAll, {kPreStop});
  job.linked();
  EXPECT_EQ(job.job_failed(kElsewhere), "report, signal 0#1=15, signal 1#1=15, set kill#1@7000")
      << "no drain and no pre-stop hook, as after a failure here";
  EXPECT_EQ(job.phase(), "stopping");
  EXPECT_TRUE(job.machine().failed_elsewhere());
  ASSERT_NE(job.machine().cause(), nullptr);
  EXPECT_TRUE(job.machine().cause()->ends.empty());
  EXPECT_EQ(job.machine().cause()->exit_code, 76);
  EXPECT_EQ(job.machine().exit_code(), 76);
  job.signaled(0, SIGTERM);
  EXPECT_EQ(job.exited(1, 3), "cancel kill, sweep 15, signal 2#1=15, set sweep#1@7500")
      << "nothing is waited for: it is known";
  job.exited(2, 0);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 76");
}

TEST(FailureElsewhere, KillsWhatDoesNotStopInTheGrace) {
  Script job;
  job.running(1).linked();
  job.job_failed(kElsewhere);
  EXPECT_EQ(job.fired(Timer::kKill), "signal 0#1=9, set give-up#1@250");
  EXPECT_EQ(job.signaled(0, SIGKILL), "cancel give-up, sweep 15, set sweep#1@7500");
}

TEST(FailureElsewhere, StopsTasksThatStart) {
  Script job;
  job.begin();
  job.ready({kMain, kMain});
  job.started(0);
  EXPECT_EQ(job.phase(), "starting");
  EXPECT_EQ(job.job_failed(kElsewhere), "report, signal 0#1=15, signal 1#1=15, set kill#1@7000");
  EXPECT_EQ(job.machine().exit_code(), 76);
}

TEST(FailureElsewhere, BreaksOffACheckpoint) {
  Policy policy;
  policy.checkpoint_ms = 60'000;
  Script job(policy);
  job.running(1, {kCheckpoint});
  job.checkpoint();
  EXPECT_EQ(job.phase(), "checkpointing");
  EXPECT_EQ(job.job_failed(kElsewhere),
            "report, cancel checkpoint, signal 1#1=15, signal 0#1=15, set kill#1@7000");
  EXPECT_EQ(job.machine().exit_code(), 76);
  EXPECT_FALSE(job.machine().rescheduled());
}

// --- A failure elsewhere, before the checkpoint that ends the job ---

Policy saves_by_signal() {
  Policy policy;
  policy.checkpoint_signal = SIGUSR1;
  policy.checkpoint_ms = 60'000;
  return policy;
}

// The node has saved, and its tasks are gone, before all nodes have said that they know of it.
Script saved() {
  Script job(saves_by_signal());
  job.running(1).linked();
  job.checkpoint();
  EXPECT_EQ(job.exited(0, 0), "cancel checkpoint, set verdict#1@6000");
  EXPECT_TRUE(job.machine().rescheduled());
  return job;
}

TEST(SaveInDoubt, IsOverWhenAllNodesKnowOfTheCheckpoint) {
  Script job = saved();
  job.now = 20;
  EXPECT_EQ(job.save_known(), "cancel verdict, sweep 15, set sweep#1@7520");
  EXPECT_EQ(job.job_failed(kElsewhere), "") << "what fails now failed behind it";
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 75");
}

TEST(SaveInDoubt, IsNotWaitedForOnceAllKnow) {
  Script job(saves_by_signal());
  job.running(1).linked();
  job.checkpoint();
  EXPECT_EQ(job.save_known(), "");
  EXPECT_EQ(job.exited(0, 0), "cancel checkpoint, sweep 15, set sweep#1@7500");
}

TEST(SaveInDoubt, EndsWith76WhereANodeHadFailedBefore) {
  Script job = saved();
  job.now = 5999;
  EXPECT_EQ(job.job_failed(kUnknown), "cancel verdict, set verdict#2@11999");
  EXPECT_TRUE(job.machine().failed_elsewhere());
  EXPECT_FALSE(job.machine().rescheduled());
  job.now = 6300;
  EXPECT_EQ(job.job_failed(kElsewhere), "report, cancel verdict, sweep 15, set sweep#1@13800");
  EXPECT_EQ(job.save_known(), "") << "too late";
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 76");
}

TEST(SaveInDoubt, IsAnsweredWhileTheTasksStillStop) {
  Script job(saves_by_signal());
  job.running(1).linked();
  job.checkpoint();
  job.fired(Timer::kCheckpoint);
  EXPECT_EQ(job.job_failed(kElsewhere), "report");
  EXPECT_EQ(job.signaled(0, SIGTERM), "cancel kill, sweep 15, set sweep#1@7500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 76");
}

TEST(SaveInDoubt, WaitsForAStopOfItsOwnWhereAnotherNodeWasStopped) {
  Script job = saved();
  job.now = 50;
  EXPECT_EQ(job.job_failed(kStoppedElsewhere), "report, cancel verdict, set verdict#2@1050");
  EXPECT_EQ(job.machine().exit_code(), 76);
  EXPECT_EQ(job.stop(), "cancel verdict, sweep 15, set sweep#1@7550");
  EXPECT_TRUE(job.machine().stopped());
}

TEST(SaveInDoubt, EndsWith75WhereNobodySaysMore) {
  Script late = saved();
  late.now = 6000;
  EXPECT_EQ(late.fired(Timer::kVerdict), "sweep 15, set sweep#1@13500");
  EXPECT_EQ(late.job_failed(kElsewhere), "") << "too late";
  EXPECT_EQ(late.machine().exit_code(), 75);
  Script alone = saved();
  EXPECT_EQ(alone.linked(false), "cancel verdict, sweep 15, set sweep#1@7500");
  EXPECT_EQ(alone.machine().exit_code(), 75);
  Script stopped = saved();
  EXPECT_EQ(stopped.stop(), "cancel verdict, sweep 15, set sweep#1@7500");
  EXPECT_EQ(stopped.machine().exit_code(), 75);
}

TEST(SaveInDoubt, IsNoneWhereOnlyTheNodesAreOthers) {
  Script job = saved();
  EXPECT_EQ(job.step(event::MembershipChanged{true}), "cancel verdict, sweep 15, set sweep#1@7500");
  EXPECT_EQ(job.machine().exit_code(), 75);
}

TEST(SaveInDoubt, IsNoneOfACheckpointThatKeepsTheJobRunning) {
  Script job(saves_by_signal());
  job.running(1).linked();
  job.checkpoint_and_go_on();
  EXPECT_EQ(job.save_known(), "");
  EXPECT_EQ(job.exited(0, 0), "sweep 15, set sweep#1@7500");
}

// All start again: so the stop of one of them is not a part of the failure.
TEST(FailureElsewhere, ThatIsAnsweredByARestartLeavesAStopItsCode) {
  Policy policy;
  policy.max_restarts = 3;
  for (const bool again : {true, false}) {
    Script job(policy);
    job.running(2).linked();
    event::JobFailed failed = kElsewhere;
    failed.again = again;
    EXPECT_EQ(job.job_failed(failed), "report, signal 0#1=15, signal 1#1=15, set kill#1@7000");
    job.stop();
    EXPECT_EQ(job.machine().stopped(), again);
    EXPECT_EQ(job.machine().exit_code(), again ? 143 : 76);
  }
}

TEST(FailureElsewhere, IsReportedOnceItIsKnown) {
  Script job;
  job.running(1).linked();
  EXPECT_EQ(job.job_failed(kUnknown), "signal 0#1=15, set kill#1@7000");
  EXPECT_TRUE(job.machine().failed_elsewhere());
  EXPECT_EQ(job.machine().exit_code(), 76);
  EXPECT_EQ(job.job_failed(kUnknown), "") << "said again";
  EXPECT_EQ(job.job_failed(kHere), "") << "nothing failed here";
  EXPECT_EQ(job.job_failed(kElsewhere), "report");
  EXPECT_EQ(job.job_failed(kElsewhere), "") << "said again";
  EXPECT_EQ(job.signaled(0, SIGTERM), "cancel kill, sweep 15, set sweep#1@7500");
}

TEST(FailureElsewhere, IsReportedWhenTheWaitForItIsOver) {
  Script job;
  job.running(1).linked();
  job.job_failed(kUnknown);
  EXPECT_EQ(job.signaled(0, SIGTERM), "cancel kill, set verdict#1@6000");
  EXPECT_TRUE(job.machine().awaits_verdict());
  job.now = 6000;
  EXPECT_EQ(job.fired(Timer::kVerdict), "report, sweep 15, set sweep#1@13500");
  EXPECT_FALSE(job.machine().awaits_verdict());
  EXPECT_EQ(job.job_failed(kElsewhereAgain), "") << "too late";
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 76");
}

TEST(FailureElsewhere, IsReportedWhenTheLinkIsLost) {
  Script job;
  job.running(1).linked();
  job.job_failed(kUnknown);
  job.signaled(0, SIGTERM);
  EXPECT_EQ(job.linked(false), "cancel verdict, report, sweep 15, set sweep#1@7500");
  Script before;
  before.running(1).linked();
  before.job_failed(kUnknown);
  EXPECT_EQ(before.linked(false), "");
  EXPECT_EQ(before.signaled(0, SIGTERM), "cancel kill, report, sweep 15, set sweep#1@7500");
}

TEST(FailureElsewhere, ThatIsThisNodesOwnIsNone) {
  Script job;
  job.running(1).linked();
  EXPECT_EQ(job.job_failed(kHere), "");
  EXPECT_EQ(job.job_failed(kHereAgain), "");
  EXPECT_EQ(job.phase(), "running");
}

TEST(UnfitNode, EndsAsOneOfBadInput) {
  Script runs(with_restarts(9));
  runs.running(1).linked();
  EXPECT_EQ(runs.step(event::Unfit{}), "report, signal 0#1=15, set kill#1@7000");
  EXPECT_FALSE(runs.machine().failed_elsewhere());
  EXPECT_EQ(runs.signaled(0, SIGTERM), "cancel kill, sweep 15, set sweep#1@7500")
      << "node 0 has said all that there is to be said";
  EXPECT_EQ(runs.nothing_left(), "cancel sweep, sweep 0, EXIT 125");
  Script prepares;
  prepares.begin();
  prepares.ready({kMain, kPreStart});
  prepares.step(event::Unfit{});
  EXPECT_EQ(prepares.machine().exit_code(), 125);
  Script stops;
  stops.running(1).linked();
  stops.stop();
  EXPECT_EQ(stops.step(event::Unfit{}), "");
}

TEST(FailureElsewhere, RunsTheHooksOfAFailureAndHolds) {
  Script job(with_hold(60'000));
  job.running(1, {kOnFailure});
  job.job_failed(kElsewhere);
  job.signaled(0, SIGTERM);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, start 1#1");
  EXPECT_EQ(job.exited(1, 0), "set hold#1@60000");
  EXPECT_EQ(job.machine().exit_code(), 76);
}

TEST(FailureElsewhere, IsAnsweredByARestartOfAllNodes) {
  Policy policy = with_restarts(2);
  policy.no_restart_on = {{76, 76}};
  Script job(policy);
  job.running(1).linked();
  job.job_failed(kElsewhereAgain);
  EXPECT_TRUE(job.machine().would_restart()) << "the code is not this node's";
  job.signaled(0, SIGTERM);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, set restart#1@0");
  EXPECT_EQ(job.fired(Timer::kRestart), "start 0#2");
  EXPECT_FALSE(job.machine().failed_elsewhere());
  EXPECT_EQ(job.machine().cause(), nullptr);
  job.started(0);
  job.job_failed(kUnknown);
  job.signaled(0, SIGTERM);
  EXPECT_EQ(job.job_failed(kElsewhereAgain), "report, cancel verdict, sweep 15, set sweep#2@7500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, set restart#2@1000") << "the second waits";
  job.fired(Timer::kRestart, 2);
  job.started(0);
  job.job_failed(kElsewhereAgain);
  EXPECT_FALSE(job.machine().may_restart());
  job.signaled(0, SIGTERM);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 76") << "none is left";
}

TEST(FailureElsewhere, IsNotAnsweredByARestartWhereNoNodeMakesOne) {
  Script job(with_restarts(9));
  job.running(1);
  job.job_failed(kElsewhere);
  EXPECT_FALSE(job.machine().would_restart());
  job.signaled(0, SIGTERM);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 76");
}

TEST(FailureElsewhere, ChangesNothingOnceTheEndWasDecided) {
  Script done;
  done.running(1).linked();
  done.exited(0, 0);
  Script stopped;
  stopped.running(1).linked();
  stopped.stop();
  for (Script* job : {&done, &stopped}) {
    for (const event::JobFailed& failure : {kUnknown, kElsewhere, kElsewhereAgain, kHere}) {
      EXPECT_EQ(job->job_failed(failure), "");
    }
  }
  EXPECT_EQ(done.nothing_left(), "cancel sweep, sweep 0, EXIT 0");
  EXPECT_EQ(stopped.exited(0, 3), "cancel kill, sweep 15, set sweep#1@7500") << "without a wait";
  EXPECT_EQ(stopped.nothing_left(), "cancel sweep, sweep 0, EXIT 3");
}

// --- A stop elsewhere ---

TEST(StopElsewhere, IsAStopAndNoFailure) {
  Policy policy = with_hold(60'000);
  policy.pre_stop_ms = 2000;
  Script job(policy);
  job.running(1, {kPreStop, kOnFailure}).linked();
  EXPECT_EQ(job.job_failed(kStoppedElsewhere), "report, start 1#1, set notify#1@2000");
  EXPECT_TRUE(job.machine().failed_elsewhere());
  EXPECT_FALSE(job.machine().stopped()) << "this node was not asked to";
  EXPECT_EQ(job.exited(1, 0), "cancel notify, signal 0#1=15, set kill#1@7000");
  EXPECT_EQ(job.exited(0, 0), "cancel kill, set verdict#1@1000") << "its own stop may come";
  EXPECT_EQ(job.linked(false), "") << "whoever is stopped first is gone by now";
  EXPECT_EQ(job.fired(Timer::kVerdict), "sweep 15, set sweep#1@7500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 76");
}

TEST(StopElsewhere, MayTurnOutToHaveBeenTheFirst) {
  Script job(with_hold(60'000));
  job.running(1, {kOnFailure}).linked();
  job.exited(0, 3);
  EXPECT_EQ(job.job_failed(kStoppedElsewhere), "report, cancel verdict, set verdict#2@1000");
  EXPECT_EQ(job.fired(Timer::kVerdict, 2), "sweep 15, set sweep#1@7500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 76");
}

TEST(StopElsewhere, IsOneHereWhereThisNodeIsAskedToo) {
  Script job;
  job.running(1).linked();
  job.job_failed(kStoppedElsewhere);
  EXPECT_EQ(job.stop(SIGINT), "signal 0#1=2");
  EXPECT_TRUE(job.machine().stopped());
  job.exited(0, 7);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 7") << "its own code, as after a stop";
}

TEST(StopElsewhere, IsOneHereWhereThisNodeIsAskedBeforeItIsKnown) {
  Script job;
  job.running(1).linked();
  job.job_failed(kUnknown);
  job.stop();
  EXPECT_TRUE(job.machine().stopped());
  EXPECT_FALSE(job.machine().failed_elsewhere());
  EXPECT_EQ(job.machine().cause(), nullptr);
  job.signaled(0, SIGTERM);
  EXPECT_EQ(job.machine().exit_code(), 143);

  Script waits;
  waits.running(1).linked();
  waits.job_failed(kUnknown);
  waits.signaled(0, SIGTERM);
  waits.stop();
  EXPECT_EQ(waits.machine().exit_code(), 143);
}

TEST(StopElsewhere, IsOneHereUntilTheCodeIsFinal) {
  Script sweeping;
  sweeping.running(2).linked();
  sweeping.job_failed(kStoppedElsewhere);
  sweeping.ended({{sweeping.ref(0), {}}, {sweeping.ref(1), {}}});
  sweeping.stop();
  EXPECT_EQ(sweeping.nothing_left(), "cancel sweep, sweep 0, EXIT 143");
  Script after(with_post_stop(3000));
  after.running(1, {kPostStop}).linked();
  after.job_failed(kStoppedElsewhere);
  after.exited(0, 0);
  after.fired(Timer::kVerdict);
  after.nothing_left();
  EXPECT_EQ(after.phase(), "post-stop");
  after.stop();
  EXPECT_EQ(after.exited(1, 0), "cancel kill, EXIT 76") << "the hook was told so";
}

// --- The job's time, over elsewhere ---

TEST(ExpiryElsewhere, IsTheEndOfTheJobsTimeHere) {
  Policy policy = with_restarts(1);
  policy.hold_ms = 60'000;
  Script job(policy);
  job.running(1, {kOnFailure}).linked();
  EXPECT_EQ(job.job_failed(kExpiredElsewhere), "report, signal 0#1=15, set kill#1@7000");
  EXPECT_TRUE(job.machine().expired());
  EXPECT_TRUE(job.machine().failed_elsewhere());
  job.stop();
  EXPECT_EQ(job.exited(0, 0), "cancel kill, sweep 15, set sweep#1@7500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 124");
}

TEST(ExpiryElsewhere, MayTurnOutToHaveBeenTheFirst) {
  Script job(with_restarts(1));
  job.running(1).linked();
  job.exited(0, 3);
  job.job_failed(kExpiredElsewhere);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 124");
}

TEST(ExpiryElsewhere, CallsOffTheRestart) {
  Script job(with_restarts(1));
  job.running(1);
  job.exited(0, 3);
  job.nothing_left();
  EXPECT_EQ(job.job_failed(kExpiredElsewhere),
            "report, cancel restart, sweep 15, set sweep#2@7500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 124");
}

// --- The nodes are others, as another node has seen ---

TEST(OtherNodesElsewhere, StartTheJobAgain) {
  Script job;
  job.running(1, {kOnFailure}).linked();
  EXPECT_EQ(job.other_nodes_elsewhere(), "signal 0#1=15, set kill#1@7000");
  EXPECT_TRUE(job.machine().replanned());
  job.signaled(0, SIGTERM);
  job.nothing_left();
  EXPECT_EQ(job.phase(), "auto-restart") << "without an on-failure hook, and with no restarts left";
}

TEST(OtherNodesElsewhere, AreWhyARankFailedHere) {
  Policy policy;
  policy.hold_ms = 60'000;
  Script job(policy);
  job.running(1, {kOnFailure}).linked();
  job.exited(0, 3);
  ASSERT_TRUE(job.machine().awaits_verdict());
  EXPECT_EQ(job.other_nodes_elsewhere(), "report, cancel verdict, sweep 15, set sweep#1@7500");
  EXPECT_EQ(job.machine().cause(), nullptr);
  job.nothing_left();
  EXPECT_EQ(job.phase(), "auto-restart");
}

TEST(OtherNodesElsewhere, ChangeNothingOnceTheFirstFailureIsKnownOrAStopWasAskedFor) {
  Script job;
  job.running(2).linked();
  job.exited(0, 3);
  job.job_failed(kHere);
  EXPECT_EQ(job.other_nodes_elsewhere(), "");
  EXPECT_EQ(job.machine().exit_code(), 3);
  Script stopped;
  stopped.running(2).linked();
  stopped.exited(0, 3);
  stopped.stop();
  EXPECT_EQ(stopped.other_nodes_elsewhere(), "");
  EXPECT_NE(stopped.machine().cause(), nullptr);
}

TEST(OtherNodesElsewhere, AreNoNewsToOneThatPrepares) {
  Policy policy = with_restarts(1);
  policy.rendezvous_ms = 1000;
  Script job(policy, {kResolve});
  job.begin();
  EXPECT_EQ(job.other_nodes_elsewhere(), "");
  EXPECT_EQ(job.phase(), "preparing");
}

// --- While the job is prepared ---

TEST(FailureElsewhere, WhilePreparingCountsOnceNobodyStartsAgain) {
  Script job({}, {kResolve});
  EXPECT_EQ(job.job_failed(kElsewhere), "") << "before the beginning";
  job.begin();
  for (const event::JobFailed& failure : {kUnknown, kElsewhereAgain, kHere, kHereAgain}) {
    EXPECT_EQ(job.job_failed(failure), "");
  }
  EXPECT_EQ(job.job_failed(kElsewhere), "report, signal 0#1=9, set give-up#1@250");
  EXPECT_EQ(job.signaled(0, SIGKILL), "cancel give-up, sweep 15, set sweep#1@7500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 76");
}

TEST(FailureElsewhere, WhilePreparingMayBeAStop) {
  Script job({}, {kData});
  job.begin();
  job.job_failed(kStoppedElsewhere);
  job.signaled(0, SIGKILL);
  job.fired(Timer::kVerdict);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 76");
}

TEST(FailureElsewhere, WhilePreparingARestartEndsTheServices) {
  Script job(with_restarts(1), {kResolve});
  job.begin();
  job.ready({kMain, kService});
  job.exited(0, 0);
  job.exited(1, 3);
  job.nothing_adopted();
  job.fired(Timer::kRestart);
  EXPECT_EQ(job.phase(), "preparing");
  EXPECT_EQ(job.job_failed(kElsewhere), "report, signal 0#2=9, set give-up#1@250");
  EXPECT_EQ(job.signaled(0, SIGKILL), "cancel give-up, sweep 15, signal 2#1=15, set sweep#2@7500");
}

}  // namespace
}  // namespace lifecycle
