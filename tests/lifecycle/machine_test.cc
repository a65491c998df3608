// The way up: preparing, starting, running, and what counts as success or failure.

#include "lifecycle/machine.h"

#include <gtest/gtest.h>

#include "tests/lifecycle/script.h"

namespace lifecycle {
namespace {

// The list of nodes of an elastic job has this one no longer.
TEST(Machine, EndsWellWhereTheJobGoesOnWithoutThisNode) {
  Script job({}, {kResolve});
  job.begin();
  EXPECT_EQ(job.step(event::ResolveFailed{.left = true}), "signal 0#1=9, set give-up#1@250");
  EXPECT_EQ(job.signaled(0, SIGKILL), "cancel give-up, sweep 15, set sweep#1@7500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 0");
}

TEST(Machine, RunsASingleCommandFromBeginToExit) {
  Script job(standard(), {kResolve});
  EXPECT_EQ(job.begin(), "start 0#1");
  EXPECT_EQ(job.ready({kMain}), "set resolve#1@10000");
  EXPECT_EQ(job.exited(0, 0), "cancel resolve, start 1#1");
  EXPECT_EQ(job.phase(), "starting");
  EXPECT_EQ(job.started(1), "");
  EXPECT_EQ(job.phase(), "running");
  job.now = 5000;
  EXPECT_EQ(job.exited(1, 0), "sweep 15, set sweep#1@12500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 0");
  EXPECT_EQ(job.phase(), "exited");
  EXPECT_EQ(job.machine().cause(), nullptr);
}

// --- Preparing ---

TEST(Machine, DataAndResolveRunSideBySideAndAreBothAwaited) {
  Script job(standard(), {kData, kResolve});
  EXPECT_EQ(job.begin(), "start 0#1, start 1#1");
  job.ready({kMain});
  EXPECT_EQ(job.exited(1, 0), "cancel resolve");
  EXPECT_EQ(job.phase(), "preparing");
  EXPECT_EQ(job.exited(0, 0), "start 2#1");
}

TEST(Machine, TheAnswerMayComeAfterTheResolversEnd) {
  Script job(standard(), {kResolve});
  job.begin();
  EXPECT_EQ(job.exited(0, 0), "set resolve#1@10000");
  EXPECT_EQ(job.ready({kMain}), "cancel resolve, start 1#1");
}

TEST(Machine, AResolverThatEndsWithoutAnAnswerIsOurOwnFailure) {
  Script job(standard(), {kResolve});
  job.begin();
  job.exited(0, 0);
  job.now = 10000;
  EXPECT_EQ(job.fired(Timer::kResolve), "report, sweep 15, set sweep#1@17500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 125");
}

TEST(Machine, AResolverThatAnswersAndDoesNotEndIsOurOwnFailure) {
  Script job(standard(), {kResolve});
  job.begin();
  job.ready({kMain});
  EXPECT_EQ(job.fired(Timer::kResolve), "report, signal 0#1=9, set give-up#1@250");
  EXPECT_EQ(job.machine().cause()->exit_code, 125);
}

TEST(Machine, AResolversCrashIsOurOwnFailureWhateverItsCode) {
  for (const bool by_signal : {true, false}) {
    Script job(standard(), {kResolve});
    job.begin();
    EXPECT_EQ(by_signal ? job.signaled(0, SIGSEGV) : job.exited(0, 3),
              "report, sweep 15, set sweep#1@7500");
    EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 125");
  }
}

TEST(Machine, AResolverThatCrashesAfterItsAnswerFailsTheJob) {
  Script job(standard(), {kResolve});
  job.begin();
  job.ready({kMain});
  job.signaled(0, SIGSEGV);
  EXPECT_EQ(job.phase(), "stopping");
  EXPECT_EQ(job.machine().cause()->exit_code, 125);
}

TEST(Machine, TheResolverSaysWithWhichCodeItFails) {
  for (const int code : {69, 125}) {
    Script job(standard(), {kResolve});
    job.begin();
    EXPECT_EQ(job.step(event::ResolveFailed{code}), "set resolve#1@10000");
    EXPECT_EQ(job.exited(0, code), "report, cancel resolve, sweep 15, set sweep#1@7500");
    EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT " + std::to_string(code));
  }
}

TEST(Machine, AResolverThatFailsAndDoesNotEndIsKilledForIt) {
  Script job(standard(), {kResolve});
  job.begin();
  job.step(event::ResolveFailed{69});
  EXPECT_EQ(job.fired(Timer::kResolve), "report, signal 0#1=9, set give-up#1@250");
  EXPECT_EQ(job.machine().cause()->exit_code, 69);
}

TEST(Machine, AnAnswerAfterAFailureIsNone) {
  Script job(standard(), {kResolve});
  job.begin();
  job.step(event::ResolveFailed{125});
  EXPECT_EQ(job.ready({kMain}), "");
}

TEST(Machine, ResolvingTakesTooLong) {
  Policy policy;
  policy.resolve_timeout_ms = 60'000;
  Script job(policy, {kResolve});
  job.now = 500;
  EXPECT_EQ(job.begin(), "start 0#1, set resolve#1@60500");
  job.now = 60'500;
  EXPECT_EQ(job.fired(Timer::kResolve), "report, signal 0#1=9, set give-up#1@60750");
  EXPECT_TRUE(job.machine().cause()->ends.empty());
  EXPECT_EQ(job.signaled(0, SIGKILL), "cancel give-up, sweep 15, set sweep#1@68000");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 69");
}

TEST(Machine, FailedDataEndsTheResolver) {
  Script job(standard(), {kData, kResolve});
  job.begin();
  EXPECT_EQ(job.exited(0, 5), "report, signal 1#1=9, set give-up#1@250");
  EXPECT_EQ(job.signaled(1, SIGKILL), "cancel give-up, sweep 15, set sweep#1@7500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 5");
}

TEST(Machine, AFailedResolverEndsTheData) {
  Script job(standard(), {kData, kResolve});
  job.begin();
  EXPECT_EQ(job.exited(1, 1), "report, signal 0#1=9, set give-up#1@250");
}

TEST(Machine, WithoutAResolverTheAnswerComesByItself) {
  Script job(standard(), {kData});
  EXPECT_EQ(job.begin(), "start 0#1");
  EXPECT_EQ(job.ready({kMain}), "");
  EXPECT_EQ(job.exited(0, 0), "start 1#1");
}

TEST(Machine, NothingIsReadyBeforeItWasAskedFor) {
  Script job(standard(), {kResolve});
  EXPECT_EQ(job.ready({kMain}), "");
  EXPECT_EQ(job.step(event::ResolveFailed{125}), "");
  EXPECT_EQ(job.begin(), "start 0#1");
  EXPECT_EQ(job.machine().tasks().size(), 1U);
}

TEST(Machine, TheAnswersPolicyHoldsFromThenOn) {
  Policy policy;
  policy.grace_ms = 20'000;
  Script job(standard(), {kResolve});
  job.begin();
  job.ready({kMain}, policy);
  job.exited(0, 0);
  job.started(1);
  EXPECT_EQ(job.stop(), "signal 1#1=15, set kill#1@19000");
}

TEST(Machine, TheAnswerNamesNoDataAndNoResolver) {
  Script job(standard(), {kData, kResolve});
  job.begin();
  job.ready({kData, kResolve, kMain});
  EXPECT_EQ(job.machine().tasks().size(), 3U);
}

// --- Starting and running ---

TEST(Machine, StartsMainAndServiceTasksInTableOrder) {
  Script job;
  job.begin();
  EXPECT_EQ(job.ready({kMain, kService, kMain}), "start 0#1, start 1#1, start 2#1");
  job.started(0);
  EXPECT_EQ(job.phase(), "starting");
  job.started(2);
  EXPECT_EQ(job.phase(), "running") << "services are not waited for";
}

TEST(Machine, OrdinalsTellWhichTaskOfItsKindItIs) {
  Script job;
  job.begin();
  job.ready({kPreStart, kPreStart, kPostStop, kMain, kService, kMain});
  std::string places;
  for (const Task& task : job.machine().tasks()) places += std::to_string(task.ordinal);
  EXPECT_EQ(places, "010001");
}

// A STOPSIGNAL that trainit only forwards, HUP, say.
TEST(Machine, ASignalFromOutsideThatEndsTheJobIsAStop) {
  Policy policy;
  policy.max_restarts = 3;
  Script job;
  job.begin();
  job.ready({kMain, kMain}, policy);
  job.started(0);
  job.started(1);
  job.step(event::SignalReceived{SIGHUP});
  event::TasksEnded ended{{{job.ref(0), {ExitStatus::How::kSignaled, SIGHUP}}}, SIGHUP};
  EXPECT_EQ(job.step(ended), "signal 1#1=15, set kill#1@7000");
  EXPECT_TRUE(job.machine().stopped());
  EXPECT_EQ(job.machine().cause(), nullptr);
  job.signaled(1, SIGTERM);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 129");
}

TEST(Machine, ACommandMayEndBeforeItIsConfirmed) {
  Script job;
  job.begin();
  job.ready({kMain});
  job.exited(0, 0);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 0");
}

TEST(Machine, ATaskThatCannotStartEndsTheOthers) {
  Script job;
  job.begin();
  job.ready({kMain, kMain});
  job.started(0);
  EXPECT_EQ(job.not_started(1, 127), "report, signal 0#1=15, set kill#1@7000");
  EXPECT_EQ(job.signaled(0, SIGTERM), "cancel kill, sweep 15, set sweep#1@7500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 127");
}

TEST(Machine, AServicesEndIsNoFailure) {
  Script job;
  job.running(1, 1);
  EXPECT_EQ(job.exited(1, 255), "");
  EXPECT_EQ(job.phase(), "running");
}

TEST(Machine, ForwardsOtherSignalsToTheMainTasksThatLive) {
  Script job;
  job.running(3, 1);
  job.exited(1, 0);
  EXPECT_EQ(job.step(event::SignalReceived{SIGUSR1}), "signal 0#1=10, signal 2#1=10");
  job.stop();
  EXPECT_EQ(job.step(event::SignalReceived{SIGUSR1}), "signal 0#1=10, signal 2#1=10");
}

TEST(Machine, ADeathByAForwardedSignalIsAFailure) {
  Script job;
  job.running(1);
  job.step(event::SignalReceived{SIGUSR1});
  job.signaled(0, SIGUSR1);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 138");
}

TEST(Machine, WithoutMainTasksItPausesUntilTheStop) {
  Script job;
  job.running(0, 1);
  EXPECT_EQ(job.phase(), "running");
  EXPECT_EQ(job.stop(), "sweep 15, signal 0#1=15, set sweep#1@7500");
  job.signaled(0, SIGTERM);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 0");
}

// --- Success and failure ---

TEST(Machine, TheFirstFailureEndsTheOthersAndIsTheCause) {
  Script job;
  job.running(3);
  job.now = 100;
  EXPECT_EQ(job.exited(1, 3), "report, signal 0#1=15, signal 2#1=15, set kill#1@7100");
  job.exited(0, 1);
  job.signaled(2, SIGTERM);
  const Cause& cause = *job.machine().cause();
  ASSERT_EQ(cause.ends.size(), 1U);
  EXPECT_EQ(cause.ends[0].task, job.ref(1));
  EXPECT_EQ(cause.at, 100);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 3");
}

TEST(Machine, DeathsOfOneTurnAreListedTogetherAndTheFirstGivesTheCode) {
  Script job;
  job.running(4);
  job.ended({{job.ref(3), {ExitStatus::How::kExited, 0}},
             {job.ref(2), {ExitStatus::How::kSignaled, SIGKILL}},
             {job.ref(0), {ExitStatus::How::kExited, 1}}});
  const Cause& cause = *job.machine().cause();
  ASSERT_EQ(cause.ends.size(), 2U);
  EXPECT_EQ(cause.ends[0].task, job.ref(2));
  EXPECT_EQ(cause.ends[1].task, job.ref(0));
  EXPECT_EQ(cause.exit_code, 137);
}

TEST(Machine, AllMeansThatEveryMainTaskExitsWithZero) {
  Script job;
  job.running(2);
  EXPECT_EQ(job.exited(0, 0), "");
  EXPECT_EQ(job.exited(1, 0), "sweep 15, set sweep#1@7500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 0");
}

TEST(Machine, FirstMeansThatTheOthersDoNotMatter) {
  Script job;
  job.running(3, 0, SuccessPolicy::kFirst);
  EXPECT_EQ(job.exited(1, 7), "");
  EXPECT_EQ(job.exited(0, 0), "signal 2#1=15, set kill#1@7000");
  job.signaled(2, SIGTERM);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 0");
}

TEST(Machine, FirstFailsWithTheFirstsCodeEvenBesideAnEarlierDeath) {
  Script job;
  job.running(2, 0, SuccessPolicy::kFirst);
  job.ended(
      {{job.ref(1), {ExitStatus::How::kExited, 7}}, {job.ref(0), {ExitStatus::How::kExited, 2}}});
  EXPECT_EQ(job.machine().cause()->ends.size(), 1U);
  EXPECT_EQ(job.machine().cause()->exit_code, 2);
}

TEST(Machine, AServerThatEndsByItselfFailsOnlyByItsCode) {
  Script well;
  well.running(1, 0, SuccessPolicy::kServe);
  well.exited(0, 0);
  EXPECT_EQ(well.nothing_left(), "cancel sweep, sweep 0, EXIT 0");
  Script badly;
  badly.running(1, 0, SuccessPolicy::kServe);
  badly.exited(0, 4);
  EXPECT_EQ(badly.nothing_left(), "cancel sweep, sweep 0, EXIT 4");
}

// --- Late events ---

TEST(Machine, LateEventsChangeNothing) {
  Script job(standard(), {kResolve});
  job.begin();
  job.ready({kMain});
  job.exited(0, 0);
  job.started(1);
  EXPECT_EQ(job.begin(), "");
  EXPECT_EQ(job.ready({kMain, kMain}), "");
  EXPECT_EQ(job.step(event::ResolveFailed{69}), "");
  EXPECT_EQ(job.fired(Timer::kResolve), "") << "it was cancelled";
  EXPECT_EQ(job.fired(Timer::kKill), "") << "it was never set";
  EXPECT_EQ(job.exited(0, 9), "") << "it has already ended";
  EXPECT_EQ(job.ended({{{1, 2}, {ExitStatus::How::kExited, 9}}}), "") << "another run";
  EXPECT_EQ(job.ended({{{99, 1}, {ExitStatus::How::kExited, 9}}}), "") << "no such task";
  EXPECT_EQ(job.step(event::TaskStarted{{99, 1}}), "");
  EXPECT_EQ(job.nothing_left(), "") << "not asked for";
  EXPECT_EQ(job.nothing_adopted(), "");
  EXPECT_EQ(job.step(event::Release{}), "");
  EXPECT_EQ(job.step(event::HoldFor{1000}), "");
  EXPECT_EQ(job.phase(), "running");
  EXPECT_EQ(job.machine().tasks().size(), 2U);
}

TEST(Machine, AnEndStateIsNeverLeft) {
  Script job;
  job.running(1);
  job.exited(0, 0);
  job.nothing_left();
  EXPECT_EQ(job.stop(), "");
  EXPECT_EQ(job.begin(), "");
  EXPECT_EQ(job.exited(0, 1), "");
  EXPECT_EQ(job.nothing_left(), "");
  EXPECT_EQ(job.phase(), "exited");
}

TEST(Machine, IsAValue) {
  Script job;
  job.running(1);
  Script other = job;
  other.exited(0, 3);
  EXPECT_EQ(other.phase(), "stopping");
  EXPECT_EQ(job.phase(), "running");
}

}  // namespace
}  // namespace lifecycle
