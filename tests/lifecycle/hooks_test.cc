// Hooks: before the start, beside the job, before and after its end, after a failure.

#include <gtest/gtest.h>

#include "lifecycle/machine.h"
#include "tests/lifecycle/script.h"

namespace lifecycle {
namespace {

// --- Pre-start ---

TEST(PreStart, FollowsTheDataAndTheResolverAndComesBeforeTheMainTasks) {
  Script job(standard(), {kData, kResolve});
  job.begin();
  EXPECT_EQ(job.ready({kMain, kPreStart, kPreStart}), "set resolve#1@10000");
  EXPECT_EQ(job.exited(1, 0), "cancel resolve");
  EXPECT_EQ(job.exited(0, 0), "start 3#1");
  EXPECT_EQ(job.started(3), "");
  EXPECT_EQ(job.exited(3, 0), "start 4#1");
  EXPECT_EQ(job.phase(), "preparing");
  EXPECT_EQ(job.exited(4, 0), "start 2#1");
}

TEST(PreStart, ItsFailureIsTheJobs) {
  Script job;
  job.begin();
  job.ready({kMain, kPreStart, kPreStart});
  EXPECT_EQ(job.exited(1, 9), "report, sweep 15, set sweep#1@7500") << "the second does not start";
  EXPECT_EQ(job.machine().cause()->ends[0].task, job.ref(1));
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 9");
}

TEST(PreStart, ThatCannotStartIsTheCause) {
  Script job;
  job.begin();
  job.ready({kMain, kPreStart});
  job.not_started(1, 126);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 126");
}

TEST(PreStart, RunsAgainInEachStart) {
  Script job(with_restarts(1), {kResolve});
  job.begin();
  job.ready({kMain, kPreStart});
  EXPECT_EQ(job.exited(0, 0), "cancel resolve, start 2#1");
  job.exited(2, 0);
  job.exited(1, 1);
  job.nothing_left();
  EXPECT_EQ(job.fired(Timer::kRestart), "start 0#2");
  job.ready({kMain, kPreStart});
  EXPECT_EQ(job.exited(0, 0), "cancel resolve, start 2#2");
  EXPECT_EQ(job.exited(2, 0), "start 1#2");
}

TEST(PreStart, NoLongerNamedIsLeftOut) {
  Script job(with_restarts(1), {kResolve});
  job.begin();
  job.ready({kMain, kPreStart});
  job.exited(0, 0);
  job.exited(2, 0);
  job.exited(1, 1);
  job.nothing_left();
  job.fired(Timer::kRestart);
  job.ready({kMain});
  EXPECT_EQ(job.exited(0, 0), "cancel resolve, start 1#2");
}

// --- Post-start ---

TEST(PostStart, BeginsWhenAllMainTasksRunAndOneAfterTheOther) {
  Script job;
  job.begin();
  job.ready({kMain, kMain, kService, kPostStart, kPostStart});
  EXPECT_EQ(job.started(0), "");
  EXPECT_EQ(job.started(1), "start 3#1");
  EXPECT_EQ(job.exited(3, 0), "start 4#1");
  EXPECT_EQ(job.exited(4, 0), "");
  EXPECT_EQ(job.phase(), "running");
}

TEST(PostStart, ItsFailureIsTheJobs) {
  Script job;
  job.running(1, {kPostStart, kPostStart});
  EXPECT_EQ(job.exited(1, 4), "report, signal 0#1=15, set kill#1@7000");
  job.signaled(0, SIGTERM);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 4");
}

TEST(PostStart, IsToldToStopWhenTheJobIsDone) {
  Script job;
  job.running(1, {kPostStart, kPostStart});
  EXPECT_EQ(job.exited(0, 0), "signal 1#1=15, set kill#1@7000");
  EXPECT_EQ(job.exited(1, 3), "cancel kill, sweep 15, set sweep#1@7500") << "nor the second";
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 0");
}

TEST(PostStart, RunsBesideAPauseToo) {
  Script job;
  job.begin();
  EXPECT_EQ(job.ready({kService, kPostStart}), "start 0#1, start 1#1");
}

// --- Pre-stop and the drain ---

Policy with_pre_stop(TimeMs pre_stop_ms, TimeMs drain_ms = 0) {
  Policy policy;
  policy.pre_stop_ms = pre_stop_ms;
  policy.drain_ms = drain_ms;
  return policy;
}

TEST(PreStop, HooksRunBeforeTheMainTasksAreTold) {
  Script job(with_pre_stop(2000));
  job.running(1, 1, SuccessPolicy::kAll, {kPreStop, kPreStop});
  EXPECT_EQ(job.stop(), "start 2#1, set notify#1@2000");
  EXPECT_EQ(job.exited(2, 9), "start 3#1, set notify#2@2000") << "its failure changes nothing";
  EXPECT_EQ(job.exited(3, 0), "cancel notify, signal 0#1=15, set kill#1@7000");
}

TEST(PreStop, AHookThatTakesTooLongIsToldTogetherWithTheMainTasks) {
  Script job(with_pre_stop(2000));
  job.running(1, {kPreStop, kPreStop});
  job.stop();
  job.now = 2000;
  EXPECT_EQ(job.fired(Timer::kNotify), "signal 0#1=15, signal 1#1=15, set kill#1@7000");
  EXPECT_EQ(job.exited(1, 0), "") << "the second has no time left";
  job.now = 7000;
  EXPECT_EQ(job.fired(Timer::kKill), "signal 0#1=9, set give-up#1@7250");
}

TEST(PreStop, AHookThatIgnoresTermIsKilledWithTheMainTasksTime) {
  Script job(with_pre_stop(2000));
  job.running(1, {kPreStop});
  job.stop();
  job.now = 2000;
  job.fired(Timer::kNotify);
  EXPECT_EQ(job.exited(0, 0), "") << "it is waited for";
  job.now = 7000;
  EXPECT_EQ(job.fired(Timer::kKill), "signal 1#1=9, set give-up#1@7250");
  EXPECT_EQ(job.signaled(1, SIGKILL), "cancel give-up, sweep 15, set sweep#1@7500");
}

TEST(PreStop, IsOverWhenTheLastMainTaskEndsByItself) {
  Script job(with_pre_stop(2000));
  job.running(1, {kPreStop, kPreStop});
  job.stop();
  EXPECT_EQ(job.exited(0, 3), "cancel notify, signal 1#1=15, set kill#1@7000");
  EXPECT_EQ(job.exited(1, 0), "cancel kill, sweep 15, set sweep#1@7500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 3");
}

TEST(PreStop, IsLeftOutAfterAFailureAndASuccess) {
  for (const int code : {0, 3}) {
    Script job(with_pre_stop(2000, 1000));
    job.running(2, 0, SuccessPolicy::kFirst, {kPreStop});
    const std::string report = code == 0 ? "" : "report, ";
    EXPECT_EQ(job.exited(0, code), report + "signal 1#1=15, set kill#1@7000");
  }
}

TEST(PreStop, IsLeftOutWhereNoMainTaskRuns) {
  Script job(with_pre_stop(2000, 1000), {kResolve});
  job.begin();
  job.ready({kMain, kPreStop});
  EXPECT_EQ(job.stop(), "cancel resolve, signal 0#1=9, set give-up#1@250");
}

TEST(PreStop, ComesBeforeARestartForOtherNodesToo) {
  Script job(with_pre_stop(2000));
  job.running(1, {kPreStop});
  EXPECT_EQ(job.other_nodes(), "start 1#1, set notify#1@2000");
  EXPECT_EQ(job.exited(1, 0), "cancel notify, signal 0#1=15, set kill#1@7000");
  job.signaled(0, SIGTERM);
  job.nothing_left();
  job.fired(Timer::kRestart);
  job.started(0);
  EXPECT_EQ(job.stop(), "start 1#2, set notify#2@2000") << "again in the next start";
}

TEST(PreStop, NoLongerNamedIsLeftOutAndTakesNoTime) {
  Script job(with_pre_stop(2000), {kResolve});
  job.begin();
  job.ready({kMain, kPreStop});
  job.exited(0, 0);
  job.started(1);
  job.other_nodes();
  job.fired(Timer::kNotify);
  job.signaled(2, SIGTERM);
  job.signaled(1, SIGTERM);
  job.nothing_left();
  job.fired(Timer::kRestart);
  job.ready({kMain});
  job.exited(0, 0);
  EXPECT_EQ(job.stop(), "signal 1#2=15, set kill#2@7000");
}

TEST(PreStop, WithoutTimeOfItsOwnIsLeftOut) {
  Script job;
  job.running(1, {kPreStop});
  EXPECT_EQ(job.stop(), "signal 0#1=15, set kill#1@7000");
}

TEST(PreStop, NoFurtherHookStartsWhenTheClockIsLate) {
  Script job(with_pre_stop(2000));
  job.running(1, {kPreStop, kPreStop});
  job.stop();
  job.now = 3'600'000;  // and the timer fires after this
  EXPECT_EQ(job.exited(1, 0), "cancel notify, signal 0#1=15, set kill#1@3600000");
}

TEST(PreStop, IsKilledBySomeoneInAHurry) {
  Script job(with_pre_stop(2000));
  job.running(1, {kPreStop, kPreStop});
  job.stop(SIGINT);
  EXPECT_EQ(job.stop(SIGINT), "cancel notify, signal 0#1=9, signal 1#1=9, set give-up#1@250");
  job.signaled(0, SIGKILL);
  EXPECT_EQ(job.signaled(1, SIGKILL), "cancel give-up, sweep 9, set give-up#2@250");
}

TEST(PreStop, TheJobsOtherHooksAreToldAtOnce) {
  Script job(with_pre_stop(2000));
  job.running(1, {kPostStart, kPreStop});
  EXPECT_EQ(job.stop(), "signal 1#1=15, start 2#1, set notify#1@2000");
}

TEST(Drain, KeepsTheMainTasksUntoldForAWhile) {
  Script job(with_pre_stop(0, 1500));
  job.running(1);
  EXPECT_EQ(job.stop(), "set notify#1@1500");
  EXPECT_EQ(job.step(event::SignalReceived{SIGUSR1}), "signal 0#1=10");
  job.now = 1500;
  EXPECT_EQ(job.fired(Timer::kNotify), "signal 0#1=15, set kill#1@7000");
}

TEST(Drain, GoesOnAfterTheHooks) {
  Script job(with_pre_stop(3000, 1500));
  job.running(1, {kPreStop});
  EXPECT_EQ(job.stop(), "start 1#1, set notify#1@3000");
  job.now = 100;
  EXPECT_EQ(job.exited(1, 0), "set notify#2@1500");
  job.now = 1500;
  EXPECT_EQ(job.fired(Timer::kNotify, 2), "signal 0#1=15, set kill#1@7000");
}

TEST(Drain, MayBeOverBeforeTheHooks) {
  Script job(with_pre_stop(3000, 1500));
  job.running(1, {kPreStop});
  job.stop();
  job.now = 2000;
  EXPECT_EQ(job.exited(1, 0), "cancel notify, signal 0#1=15, set kill#1@7000");
}

TEST(Drain, EndsWithTheLastMainTask) {
  Script job(with_pre_stop(0, 1500));
  job.running(2);
  job.stop();
  job.exited(0, 0);
  EXPECT_EQ(job.exited(1, 0), "cancel notify, sweep 15, set sweep#1@7500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 143");
}

TEST(Drain, LateEventsChangeNothing) {
  Script job(with_pre_stop(0, 1500));
  job.running(2);
  job.exited(0, 0);
  job.stop();
  EXPECT_EQ(job.exited(0, 9), "") << "it has already ended";
  EXPECT_EQ(job.ended({}), "");
}

TEST(Drain, TheEscalationCountsFromTheSignalNotFromTheStop) {
  Policy policy = with_escalation({{SIGINT, 2000}, {SIGQUIT, 6000}});
  policy.drain_ms = 1500;
  Script job(policy);
  job.running(1);
  job.stop();
  job.now = 1500;
  EXPECT_EQ(job.fired(Timer::kNotify), "signal 0#1=15, set kill#1@7000, set escalate#1@3500");
  job.now = 3500;
  EXPECT_EQ(job.fired(Timer::kEscalate), "signal 0#1=2") << "the next would come after the KILL";
}

TEST(PreStop, AnEarlyKillOfTheMainTasksLeavesAHookItsTimeWhenTheyAreGone) {
  Policy policy = with_escalation({{SIGKILL, 100}});
  policy.pre_stop_ms = 2000;
  Script job(policy);
  job.running(1, {kPreStop});
  job.stop();
  job.now = 2000;
  EXPECT_EQ(job.fired(Timer::kNotify),
            "signal 0#1=15, signal 1#1=15, set kill#1@7000, set escalate#1@2100");
  job.exited(0, 0);
  job.now = 2100;
  EXPECT_EQ(job.fired(Timer::kEscalate), "");
}

// --- On-failure ---

TEST(OnFailure, FollowsTheMainTasksAndComesBeforeTheEnd) {
  Script job;
  job.running(2, 1, SuccessPolicy::kAll, {kOnFailure, kOnFailure, kPostStop});
  job.exited(0, 3);
  job.signaled(1, SIGTERM);
  job.signaled(2, SIGTERM);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, start 3#1");
  EXPECT_EQ(job.phase(), "on-failure");
  EXPECT_EQ(job.exited(3, 1), "start 4#1") << "its failure changes nothing";
  EXPECT_EQ(job.exited(4, 0), "set kill#2@7750, start 5#1");
  EXPECT_EQ(job.exited(5, 0), "cancel kill, EXIT 3");
}

TEST(OnFailure, ComesBeforeTheHoldAndNotAgainAfterIt) {
  Script job(with_hold(60'000));
  job.running(1, 1, SuccessPolicy::kAll, {kOnFailure});
  job.exited(0, 3);
  EXPECT_EQ(job.nothing_adopted(), "cancel sweep, sweep 0, start 2#1");
  job.now = 5000;
  EXPECT_EQ(job.exited(2, 0), "set hold#1@65000");
  job.step(event::Release{});
  job.signaled(1, SIGTERM);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 3");
}

TEST(OnFailure, ComesBeforeARestartAndAfterEachFailure) {
  Script job(with_restarts(1));
  job.running(1, {kOnFailure});
  job.exited(0, 3);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, start 1#1");
  job.now = 700;
  EXPECT_EQ(job.exited(1, 0), "set restart#1@700") << "the restart follows it";
  job.fired(Timer::kRestart);
  job.exited(0, 4);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, start 1#2");
  EXPECT_EQ(job.exited(1, 0), "EXIT 4");
}

TEST(OnFailure, FollowsAFailedHookToo) {
  Script job;
  job.begin();
  job.ready({kMain, kPreStart, kOnFailure});
  job.exited(1, 3);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, start 2#1");
  EXPECT_EQ(job.exited(2, 0), "EXIT 3");
}

TEST(OnFailure, NeverFollowsASuccessOrAStop) {
  Script well;
  well.running(1, {kOnFailure});
  well.exited(0, 0);
  EXPECT_EQ(well.nothing_left(), "cancel sweep, sweep 0, EXIT 0");
  Script stopped;
  stopped.running(1, {kOnFailure});
  stopped.stop();
  stopped.exited(0, 3);
  EXPECT_EQ(stopped.nothing_left(), "cancel sweep, sweep 0, EXIT 3");
}

TEST(OnFailure, IsLeftOutWhenAStopComesBeforeIt) {
  Script job;
  job.running(2, {kOnFailure});
  job.exited(0, 3);
  job.stop();
  job.signaled(1, SIGTERM);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 3");
}

TEST(OnFailure, IsToldToStopByAStopAndNoFurtherOneStarts) {
  Script job(with_hold(60'000));
  job.running(1, 1, SuccessPolicy::kAll, {kOnFailure, kOnFailure});
  job.exited(0, 3);
  job.nothing_adopted();
  job.now = 60'000;
  EXPECT_EQ(job.stop(), "signal 2#1=15, set kill#1@67000") << "a new grace";
  EXPECT_EQ(job.signaled(2, SIGTERM), "cancel kill, sweep 15, signal 1#1=15, set sweep#2@67500");
  job.signaled(1, SIGTERM);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 3");
}

TEST(OnFailure, ThatHangsIsKilledWhenTheGraceOfAStopIsOver) {
  Script job;
  job.running(1, {kOnFailure});
  job.exited(0, 3);
  job.nothing_left();
  job.stop(SIGINT);
  EXPECT_EQ(job.stop(SIGINT), "cancel kill, signal 1#1=9, set give-up#1@250");
}

// --- Post-stop ---

// One main task that runs, and post-stop tasks behind it.
Script running_before(const std::vector<TaskKind>& hooks) {
  Script job(with_post_stop(2000));
  job.running(1, hooks);
  return job;
}

TEST(PostStop, TasksRunOneAfterTheOtherWhenAllElseIsGone) {
  Script job = running_before({kPostStop, kPostStop});
  EXPECT_EQ(job.stop(), "signal 0#1=15, set kill#1@5000");
  EXPECT_EQ(job.exited(0, 0), "cancel kill, sweep 15, set sweep#1@5500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, set kill#2@7250, start 1#1");
  EXPECT_EQ(job.phase(), "post-stop");
  EXPECT_EQ(job.exited(1, 9), "start 2#1") << "its failure changes nothing";
  EXPECT_EQ(job.exited(2, 0), "cancel kill, EXIT 0");
}

TEST(PostStop, ATaskThatTakesTooLongIsToldThenKilledThenGivenUp) {
  Script job = running_before({kPostStop, kPostStop});
  job.stop();
  job.exited(0, 0);
  job.nothing_left();
  job.now = 7250;
  EXPECT_EQ(job.fired(Timer::kKill, 2), "signal 1#1=15, set kill#3@7750");
  job.now = 7750;
  EXPECT_EQ(job.fired(Timer::kKill, 3), "signal 1#1=9, set give-up#1@8000");
  job.now = 8000;
  EXPECT_EQ(job.fired(Timer::kGiveUp, 1), "EXIT 0") << "and the second has no time left";
}

TEST(PostStop, NoFurtherTaskStartsOnceTheTimeIsUp) {
  Script job = running_before({kPostStop, kPostStop});
  job.stop();
  job.exited(0, 0);
  job.nothing_left();
  job.now = 7250;
  job.fired(Timer::kKill, 2);
  EXPECT_EQ(job.signaled(1, SIGTERM), "cancel kill, EXIT 0");
}

TEST(PostStop, AStopShortensTheTimeOfAJobThatEndedByItself) {
  Script job(with_post_stop(60'000));
  job.running(1, {kPostStop});
  job.exited(0, 0);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, set kill#1@45000, start 1#1");
  job.now = 1000;
  EXPECT_EQ(job.stop(), "set kill#2@7501");
  EXPECT_EQ(job.stop(), "");
  job.now = 7501;
  EXPECT_EQ(job.fired(Timer::kKill, 2), "signal 1#1=15, set kill#3@8976");
}

TEST(PostStop, HasTheTimeThatTheAnswersPolicyKeepsForIt) {
  Script job(with_post_stop(500));
  job.begin();
  EXPECT_EQ(job.ready({kMain, kPostStop, kService}, with_post_stop(2000)), "start 0#1, start 2#1");
  job.started(0);
  EXPECT_EQ(job.stop(), "signal 0#1=15, set kill#1@5000");
  EXPECT_EQ(job.exited(0, 3), "cancel kill, sweep 15, signal 2#1=15, set sweep#1@5500");
  job.signaled(2, SIGTERM);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, set kill#2@7250, start 1#1");
  EXPECT_EQ(job.machine().exit_code(), 3);
  EXPECT_EQ(job.not_started(1, 127), "cancel kill, EXIT 3") << "its failure changes nothing";
}

TEST(PostStop, RunsAfterSuccessAndFailureToo) {
  for (const int code : {0, 9}) {
    Script job(with_post_stop(1000));
    job.running(1, {kPostStop});
    job.exited(0, code);
    EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, set kill#1@7500, start 1#1");
    EXPECT_EQ(job.machine().exit_code(), code);
    EXPECT_EQ(job.exited(1, 1), "cancel kill, EXIT " + std::to_string(code));
  }
}

TEST(PostStop, KeepsItsPlaceAtARestartAndRunsOnce) {
  Policy policy = with_post_stop(1000);
  policy.max_restarts = 1;
  Script job(policy, {kResolve});
  job.begin();
  job.ready({kMain, kPostStop, kPostStop});
  job.exited(0, 0);
  job.exited(1, 3);
  job.nothing_left();
  job.fired(Timer::kRestart);
  job.ready({kMain, kPostStop});
  EXPECT_EQ(job.exited(0, 0), "cancel resolve, start 1#2");
  EXPECT_EQ(job.machine().tasks().size(), 4U);
  job.exited(1, 4);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, set kill#1@7500, start 2#1");
  EXPECT_EQ(job.exited(2, 0), "cancel kill, EXIT 4") << "the second is no longer named";
}

TEST(PostStop, TheCodeThatItsTasksAreToldStaysWhateverEndsLater) {
  Script job = running_before({kPostStop});
  job.stop();
  job.now = 5000;
  job.fired(Timer::kKill);
  job.now = 5250;
  job.fired(Timer::kGiveUp);
  job.now = 5500;
  job.fired(Timer::kSweep);
  job.now = 5750;
  EXPECT_EQ(job.fired(Timer::kGiveUp, 2), "sweep 0, set kill#2@7250, start 1#1");
  EXPECT_EQ(job.machine().exit_code(), 137);
  job.exited(0, 0);
  EXPECT_EQ(job.machine().exit_code(), 137);
  EXPECT_EQ(job.exited(1, 0), "cancel kill, EXIT 137");
}

TEST(PostStop, RunsAfterTheHold) {
  Script job(with_hold(60'000));
  job.running(1, {kPostStop});
  job.exited(0, 3);
  job.nothing_left();
  EXPECT_EQ(job.step(event::Release{}), "cancel hold, sweep 15, set sweep#2@7500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, set kill#1@7750, start 1#1");
  EXPECT_EQ(job.exited(1, 0), "cancel kill, EXIT 3");
}

TEST(PostStop, IsLeftOutBySomeoneInAHurry) {
  Script job = running_before({kPostStop});
  job.stop(SIGINT);
  job.stop(SIGINT);
  job.signaled(0, SIGKILL);
  EXPECT_EQ(job.nothing_left(), "cancel give-up, sweep 0, EXIT 137");
}

TEST(PostStop, IsKilledBySomeoneInAHurry) {
  Script job = running_before({kPostStop});
  job.stop(SIGINT);
  job.exited(0, 0);
  job.nothing_left();
  EXPECT_EQ(job.stop(SIGINT), "signal 1#1=9, cancel kill, set give-up#1@250");
  EXPECT_EQ(job.signaled(1, SIGKILL), "cancel give-up, EXIT 0");
}

}  // namespace
}  // namespace lifecycle
