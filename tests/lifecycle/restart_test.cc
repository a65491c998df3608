// The next start of a job: after a failure, and when its nodes are others.

#include <gtest/gtest.h>

#include "lifecycle/machine.h"
#include "tests/lifecycle/script.h"

namespace lifecycle {
namespace {

// --- After a failure ---

TEST(Restart, ResolvesAgainAndMakesTheNextStart) {
  Script job(with_restarts(1), {kData, kResolve});
  job.begin();
  job.ready({kMain, kMain, kService});
  job.exited(0, 0);
  EXPECT_EQ(job.exited(1, 0), "cancel resolve, start 2#1, start 3#1, start 4#1");
  job.now = 50'000;
  EXPECT_EQ(job.exited(2, 1), "report, signal 3#1=15, set kill#1@57000");
  EXPECT_EQ(job.signaled(3, SIGTERM), "cancel kill, sweep 15, set sweep#1@57500");
  EXPECT_EQ(job.nothing_adopted(), "cancel sweep, sweep 0, set restart#1@50000");
  EXPECT_EQ(job.phase(), "auto-restart");
  EXPECT_EQ(job.machine().cause()->exit_code, 1);
  EXPECT_EQ(job.machine().restart_at(), 50'000);
  EXPECT_EQ(job.fired(Timer::kRestart), "start 1#2") << "the data are there";
  EXPECT_EQ(job.machine().cause(), nullptr);
  EXPECT_EQ(job.machine().restarts(), 1U);
  EXPECT_EQ(job.machine().restart_at(), 0);
  EXPECT_EQ(job.ended({{{1, 1}, {ExitStatus::How::kExited, 9}}}), "") << "the earlier resolver";
  job.ready({kMain, kMain, kService});
  EXPECT_EQ(job.exited(1, 0), "cancel resolve, start 2#2, start 3#2") << "the service goes on";
}

// --- What a restart leaves behind ---

// The restart was the answer to the failure. Without it, the container ends as before the next
// start.
TEST(Restart, ThatAStopCancelsLeavesNoFailure) {
  Policy policy = with_restarts(1);
  policy.restart_delay_ms = 60'000;
  policy.restart_reset_ms = 1000;
  for (const bool elsewhere : {false, true}) {
    Script job(policy);
    job.running(1).linked();
    job.now = 5000;
    if (elsewhere) job.job_failed(kElsewhereAgain);
    elsewhere ? job.signaled(0, SIGTERM) : job.exited(0, 3);
    if (!elsewhere) job.job_failed(kHereAgain);
    job.nothing_left();
    ASSERT_EQ(job.phase(), "auto-restart");
    EXPECT_NE(job.machine().cause(), nullptr);
    job.stop();
    EXPECT_TRUE(job.machine().stopped());
    EXPECT_EQ(job.machine().exit_code(), 143);
    EXPECT_EQ(job.machine().cause(), nullptr);
    EXPECT_FALSE(job.machine().failed_elsewhere());
    EXPECT_EQ(job.machine().ran_ms(job.now), -1);
    EXPECT_EQ(job.machine().restart_at(), 0);
  }
}

TEST(Restart, ThatTheTimeLimitOrACheckpointCancelsLeavesNoFailure) {
  Policy policy = with_restarts(1);
  policy.max_duration_ms = 60'000;
  for (const bool expires : {false, true}) {
    Script job(policy);
    job.running(1);
    job.exited(0, 3);
    job.nothing_left();
    ASSERT_EQ(job.phase(), "auto-restart");
    expires ? job.fired(Timer::kExpire) : job.checkpoint();
    EXPECT_EQ(job.machine().exit_code(), expires ? 124 : 75);
    EXPECT_EQ(job.machine().cause(), nullptr);
  }
}

// No start of this job is granted to it any more, and it must not say that it may restart.
TEST(Restart, ThatAFailureElsewhereCancelsIsNoneThatMayFollow) {
  Policy policy = with_restarts(9);
  policy.rendezvous_ms = 60'000;
  Script job(policy);
  job.running(1);
  job.nodes_ready();
  job.started(0);
  job.linked();
  job.exited(0, 3);
  job.job_failed(kHereAgain);
  job.nothing_left();
  ASSERT_EQ(job.phase(), "auto-restart");
  job.job_failed(kElsewhere);
  EXPECT_TRUE(job.machine().failed_elsewhere());
  EXPECT_EQ(job.machine().exit_code(), 76);
  EXPECT_FALSE(job.machine().may_restart());
}

// The main processes of the first start keep their exit status until they start again.
TEST(Restart, TakesNoRankOfAnEarlierStartForTheFirstFailure) {
  Policy policy = with_restarts(9);
  policy.rendezvous_ms = 60'000;
  Script job(policy);
  job.running(1, {kPreStart});
  job.nodes_ready();
  job.exited(1, 0);
  job.started(0);
  job.linked();
  job.exited(0, 3);
  job.job_failed(kHereAgain);
  job.nothing_left();
  job.fired(Timer::kRestart);
  job.nodes_ready(1);
  ASSERT_TRUE(job.machine().start_granted());
  job.job_failed(kUnknown);
  ASSERT_TRUE(job.machine().awaits_verdict());
  EXPECT_EQ(job.step(event::Diagnosed{.restarts = 1, .first = job.ref(0)}), "");
  EXPECT_TRUE(job.machine().failed_elsewhere());
  EXPECT_EQ(job.machine().exit_code(), 76);
}

// --- Where it cannot help ---

Policy with_verdict() {
  Policy policy = with_restarts(3);
  policy.restart_verdict = base::RestartVerdict::kEnforce;
  return policy;
}

// Up to where the next thing is the restart.
Script failed(const Policy& policy) {
  Script job(policy);
  job.begin();
  job.ready({kMain});
  job.exited(0, 1);
  job.nothing_left();
  return job;
}

TEST(RestartVerdict, IsWaitedForBeforeTheRestart) {
  Script job = failed(with_verdict());
  EXPECT_EQ(job.phase(), "on-failure");
  EXPECT_EQ(job.step(event::Diagnosed{0, false}), "cancel diagnosis, set restart#1@0");
  EXPECT_EQ(job.phase(), "auto-restart");
}

TEST(RestartVerdict, EndsTheRestartsWithTheCodeOfTheFailure) {
  Script job = failed(with_verdict());
  job.step(event::Diagnosed{0, true});
  job.nothing_left();
  EXPECT_EQ(job.phase(), "exited");
  EXPECT_EQ(job.machine().exit_code(), 1);
  EXPECT_EQ(job.machine().restarts(), 0U);
}

TEST(RestartVerdict, MayComeBeforeAllHasEnded) {
  Script job(with_verdict());
  job.begin();
  job.ready({kMain, kMain});
  job.exited(0, 1);
  job.step(event::Diagnosed{0, true});
  job.signaled(1, SIGTERM);
  job.nothing_left();
  EXPECT_EQ(job.phase(), "exited");
}

TEST(RestartVerdict, IsNotWaitedForForEver) {
  Script job = failed(with_verdict());
  job.now = 2500;
  EXPECT_EQ(job.fired(Timer::kDiagnosis), "set restart#1@2500");
  job.step(event::Diagnosed{0, true});
  EXPECT_EQ(job.phase(), "auto-restart") << "it comes too late";
}

TEST(RestartVerdict, OfAnEarlierStartIsNoneOfThisOne) {
  Script job = failed(with_verdict());
  job.step(event::Diagnosed{0, false});
  job.fired(Timer::kRestart);
  job.ready({kMain});
  job.exited(0, 1);
  job.nothing_left();
  EXPECT_EQ(job.step(event::Diagnosed{0, true}), "");
  job.step(event::Diagnosed{1, true});
  job.nothing_left();
  EXPECT_EQ(job.phase(), "exited");
}

TEST(RestartVerdict, GivesWayToAStop) {
  Script job = failed(with_verdict());
  job.stop();
  job.nothing_left();
  EXPECT_EQ(job.phase(), "exited");
}

TEST(RestartVerdict, LetsTheDebugWindowFollow) {
  Policy policy = with_verdict();
  policy.hold_ms = 1000;
  Script job = failed(policy);
  job.step(event::Diagnosed{0, true});
  EXPECT_EQ(job.phase(), "hold");
}

TEST(RestartVerdict, OfSeveralNodesIsNodeZeros) {
  Policy policy = with_verdict();
  policy.rendezvous_ms = 60'000;
  const auto linked = [&] {
    Script job(policy);
    job.running(1);
    job.nodes_ready();
    job.started(0);
    job.linked();
    job.exited(0, 3);
    return job;
  };
  Script in_time = linked();
  in_time.step(event::Diagnosed{0, true});
  EXPECT_FALSE(in_time.machine().would_restart()) << "and that is what it reports";
  Script late = linked();
  late.job_failed(kHereAgain);
  late.step(event::Diagnosed{0, true});
  EXPECT_TRUE(late.machine().would_restart()) << "the others start again";
}

// The others let go of this start: there is no failure left to be looked at.
TEST(RestartVerdict, OfAFailureThatWasAConsequenceIsNotWaitedFor) {
  Policy policy = with_verdict();
  policy.rendezvous_ms = 60'000;
  policy.elastic = true;
  Script job(policy);
  job.running(1);
  job.nodes_ready();
  job.started(0);
  job.linked();
  job.exited(0, 3);
  job.step(event::MembershipChanged{.elsewhere = true});
  job.nothing_left();
  EXPECT_EQ(job.phase(), "auto-restart");
  EXPECT_FALSE(job.machine().uses_diagnosis());
}

// --- After a failure ---

TEST(Restart, DoesNotFindACommandThatIsNotThere) {
  for (const int code : {126, 127}) {
    Script job(with_restarts(3));
    job.begin();
    job.ready({kMain});
    job.not_started(0, code);
    job.nothing_left();
    EXPECT_EQ(job.phase(), "exited") << code;
    EXPECT_EQ(job.machine().exit_code(), code);
  }
}

TEST(Restart, MayHelpWhereAForkWasRefused) {
  Script job(with_restarts(3));
  job.begin();
  job.ready({kMain});
  job.not_started(0, 125);
  job.nothing_left();
  EXPECT_EQ(job.phase(), "auto-restart");
}

TEST(Restart, OfAnElasticJobMayChangeTheNumberOfTasks) {
  Script job(with_restarts(2), {kResolve});
  const auto run_with = [&job](const std::vector<TaskKind>& tasks) {
    job.ready(tasks);
    return job.exited(0, 0);
  };
  job.begin();
  EXPECT_EQ(run_with({kMain, kMain}), "cancel resolve, start 1#1, start 2#1");
  job.ended(
      {{job.ref(1), {ExitStatus::How::kExited, 1}}, {job.ref(2), {ExitStatus::How::kExited, 1}}});
  job.step(event::Diagnosed{});
  job.nothing_left();
  job.fired(Timer::kRestart);
  EXPECT_EQ(run_with({kMain}), "cancel resolve, start 1#2");
  job.exited(1, 1);
  job.nothing_left();
  job.fired(Timer::kRestart, 2);
  EXPECT_EQ(run_with({kMain, kMain, kMain}), "cancel resolve, start 1#3, start 2#2, start 3#1");
}

TEST(Restart, StartsAServiceAgainThatHadEnded) {
  Script job(with_restarts(1), {kResolve});
  job.begin();
  job.ready({kMain, kService});
  job.exited(0, 0);
  job.exited(2, 0);
  job.exited(1, 1);
  job.nothing_left();
  job.fired(Timer::kRestart);
  job.ready({kMain, kService});
  EXPECT_EQ(job.exited(0, 0), "cancel resolve, start 1#2, start 2#2");
}

TEST(Restart, WithoutAResolverStartsAtOnce) {
  Script job(with_restarts(1));
  job.running(1);
  job.exited(0, 1);
  job.nothing_left();
  EXPECT_EQ(job.fired(Timer::kRestart), "start 0#2");
  EXPECT_EQ(job.phase(), "starting");
}

TEST(Restart, ComesAtOnceThenLaterEachTimeAndEndsWithTheLastFailure) {
  Script job(with_restarts(3));
  job.running(1);
  job.exited(0, 1);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, set restart#1@0");
  job.fired(Timer::kRestart, 1);
  job.exited(0, 2);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, set restart#2@1000");
  job.fired(Timer::kRestart, 2);
  job.exited(0, 2);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, set restart#3@2000");
  job.fired(Timer::kRestart, 3);
  job.exited(0, 3);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 3");
}

TEST(Restart, ComesBeforeTheHold) {
  Policy policy = with_restarts(1);
  policy.hold_ms = 60'000;
  Script job(policy);
  job.running(1);
  job.exited(0, 1);
  job.nothing_left();
  job.fired(Timer::kRestart);
  job.exited(0, 2);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, set hold#1@60000");
  job.step(event::Release{});
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 2");
}

TEST(Restart, NeverFollowsBadInput) {
  Script job(with_restarts(3), {kResolve});
  job.begin();
  job.step(event::ResolveFailed{125});
  job.exited(0, 125);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 125");
}

TEST(Restart, NeverRunsBesideAStartThatCannotBeKilled) {
  Script job(with_restarts(3));
  job.running(2);
  job.exited(0, 1);
  job.fired(Timer::kKill);
  job.fired(Timer::kGiveUp);
  job.fired(Timer::kSweep);
  EXPECT_EQ(job.fired(Timer::kGiveUp, 2), "sweep 0, EXIT 1");
}

TEST(Restart, IsCalledOffByAStop) {
  Script job(with_restarts(3));
  job.running(1, 1, SuccessPolicy::kAll, {kPostStop});
  job.exited(0, 1);
  job.nothing_adopted();
  EXPECT_EQ(job.stop(), "cancel restart, sweep 15, signal 1#1=15, set sweep#2@7500");
  EXPECT_EQ(job.machine().restart_at(), 0);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, set kill#1@7750, start 2#1");
  EXPECT_EQ(job.exited(2, 0), "cancel kill, EXIT 143");
}

TEST(Restart, NeverFollowsAFailedHook) {
  Script before(with_restarts(3));
  before.begin();
  before.ready({kMain, kPreStart});
  before.exited(1, 3);
  EXPECT_EQ(before.nothing_left(), "cancel sweep, sweep 0, EXIT 3");
  Script after(with_restarts(3));
  after.running(1, {kPostStart});
  after.exited(1, 3);
  after.signaled(0, SIGTERM);
  EXPECT_EQ(after.nothing_left(), "cancel sweep, sweep 0, EXIT 3");
}

TEST(Restart, NeverFollowsAnExitCodeThatItDoesNotMend) {
  Policy policy = with_restarts(3);
  policy.no_restart_on = {{1, 2}, {126, 126}};
  for (const int code : {1, 2, 126}) {
    Script job(policy);
    job.running(1);
    job.exited(0, code);
    EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT " + std::to_string(code));
  }
  Script job(policy);
  job.running(1);
  job.exited(0, 3);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, set restart#1@0");
}

TEST(Restart, IsCountedAgainstTheAnswersPolicy) {
  Script job(with_restarts(0), {kResolve});
  job.begin();
  job.ready({kMain}, with_restarts(1));
  job.exited(0, 0);
  job.exited(1, 1);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, set restart#1@0");
}

// A hook in D state, killed while the job was torn down, may end at any time later.
TEST(Restart, IsNotDisturbedByWhatTheLastStartLeftInTheKernel) {
  for (const bool prepared : {false, true}) {
    Script job(with_restarts(1), {kResolve});
    job.begin();
    job.ready({kMain, kPostStart});
    job.exited(0, 0);
    job.started(1);
    job.exited(1, 1);
    job.fired(Timer::kKill);
    job.fired(Timer::kGiveUp);
    job.nothing_left();
    EXPECT_EQ(job.fired(Timer::kRestart), "start 0#2");
    job.ready({kMain, kPostStart});
    if (prepared) job.exited(0, 0);
    EXPECT_EQ(job.signaled(2, SIGKILL), "");
    EXPECT_EQ(job.machine().cause(), nullptr);
  }
}

// --- Other nodes ---

TEST(Membership, OtherNodesStartTheJobAgainWithoutCountingAsAFailure) {
  Script job(with_restarts(1), {kResolve});
  job.begin();
  job.ready({kMain, kService});
  job.exited(0, 0);
  job.started(1);
  job.now = 1000;
  EXPECT_EQ(job.other_nodes(), "signal 1#1=15, set kill#1@8000");
  job.signaled(1, SIGTERM);
  EXPECT_EQ(job.nothing_adopted(), "cancel sweep, sweep 0, set restart#1@1000") << "no backoff";
  EXPECT_EQ(job.machine().cause(), nullptr);
  EXPECT_EQ(job.fired(Timer::kRestart), "start 0#2");
  EXPECT_EQ(job.machine().restarts(), 1U);
  job.ready({kMain, kService});
  EXPECT_EQ(job.exited(0, 0), "cancel resolve, start 1#2");
  job.exited(1, 3);
  EXPECT_EQ(job.nothing_adopted(), "cancel sweep, sweep 0, set restart#2@1000")
      << "the first failure that is answered by a restart";
}

TEST(Membership, WhatItsStopBringsAboutIsNoFailure) {
  Script job(with_hold(60'000));
  job.running(2, {kOnFailure});
  job.other_nodes();
  job.exited(0, 1);
  job.signaled(1, SIGKILL);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, set restart#1@0");
}

TEST(Membership, CountsWhileTheJobStartsToo) {
  Script job;
  job.begin();
  job.ready({kMain});
  EXPECT_EQ(job.other_nodes(), "signal 0#1=15, set kill#1@7000");
}

TEST(Membership, IsReadByTheResolverWhileItPrepares) {
  Script job(standard(), {kResolve});
  job.begin();
  EXPECT_EQ(job.other_nodes(), "");
  EXPECT_EQ(job.phase(), "preparing");
}

TEST(Membership, ChangesNothingOnTheWayDown) {
  Script job;
  job.running(1);
  job.exited(0, 0);
  EXPECT_EQ(job.other_nodes(), "");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 0");
}

TEST(Membership, BesideATaskThatCannotBeKilledAsksToBeStartedElsewhere) {
  Script job;
  job.running(1);
  job.other_nodes();
  job.fired(Timer::kKill);
  job.fired(Timer::kGiveUp);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 75");
}

// What post-stop hooks were told stays.
TEST(Membership, DoesNotGiveWayToAStopThatComesWithTheLastHooks) {
  Script job(with_post_stop(1000));
  job.running(1, {kPostStop});
  job.other_nodes();
  job.fired(Timer::kKill);
  job.fired(Timer::kGiveUp);
  job.nothing_left();
  EXPECT_EQ(job.machine().exit_code(), 75);
  job.stop();
  EXPECT_FALSE(job.machine().stopped());
  EXPECT_EQ(job.exited(1, 0), "cancel kill, EXIT 75");
}

TEST(Membership, GivesWayToAStop) {
  Script job;
  job.running(2);
  job.other_nodes();
  EXPECT_EQ(job.stop(), "") << "they were told";
  job.signaled(0, SIGTERM);
  job.signaled(1, SIGTERM);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 143");
}

TEST(Membership, AServerThatItStoppedBeforeTheUserDidHasServed) {
  Script job;
  job.running(1, 0, SuccessPolicy::kServe);
  job.other_nodes();
  job.stop(SIGINT);
  job.signaled(0, SIGTERM);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 0");
}

// A job of services alone, which has no main task to wait for.
TEST(Membership, StartsAPauseAgain) {
  Script job(standard(), {kResolve});
  job.begin();
  job.ready({kService});
  job.exited(0, 0);
  EXPECT_EQ(job.other_nodes(), "sweep 15, set sweep#1@7500");
  EXPECT_EQ(job.nothing_adopted(), "cancel sweep, sweep 0, set restart#1@0");
  EXPECT_EQ(job.fired(Timer::kRestart), "start 0#2");
}

}  // namespace
}  // namespace lifecycle
