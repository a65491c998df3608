// Limits and stop requests that are not plain: the job's time, another signal, a second TERM.

#include <gtest/gtest.h>

#include "lifecycle/machine.h"
#include "tests/lifecycle/script.h"

namespace lifecycle {
namespace {

Policy limited(TimeMs max_duration_ms) {
  Policy policy;
  policy.max_duration_ms = max_duration_ms;
  return policy;
}

// --- The job's time ---

TEST(Expiry, CountsFromTheBeginningAndEndsWith124) {
  Script job(limited(60'000));
  job.now = 1000;
  EXPECT_EQ(job.begin(), "set expire#1@61000");
  EXPECT_EQ(job.machine().expires_at(), 61'000);
  job.ready({kMain});
  job.started(0);
  job.now = 61'000;
  EXPECT_EQ(job.fired(Timer::kExpire), "signal 0#1=15, set kill#1@68000");
  EXPECT_TRUE(job.machine().expired());
  EXPECT_EQ(job.machine().expires_at(), 0);
  job.exited(0, 0);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 124");
}

TEST(Expiry, IsNoFailure) {
  Policy policy = limited(1000);
  policy.hold_ms = 60'000;
  policy.max_restarts = 3;
  Script job(policy);
  job.running(1, {kOnFailure});
  job.fired(Timer::kExpire);
  job.exited(0, 3);
  EXPECT_EQ(job.machine().cause(), nullptr);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 124");
}

TEST(Expiry, HasPreStopHooksAndTheDrainAsAStopHas) {
  Policy policy = limited(1000);
  policy.pre_stop_ms = 2000;
  Script job(policy);
  job.running(1, {kPreStop});
  EXPECT_EQ(job.fired(Timer::kExpire), "start 1#1, set notify#1@2000");
}

TEST(Expiry, WhilePreparingToo) {
  Script job(limited(1000), {kData, kResolve});
  job.begin();
  EXPECT_EQ(job.fired(Timer::kExpire), "signal 0#1=9, signal 1#1=9, set give-up#1@250");
}

TEST(Expiry, DoesNotBeginAnewWithARestart) {
  Policy policy = limited(1000);
  policy.max_restarts = 3;
  Script job(policy);
  job.running(1);
  job.exited(0, 1);
  job.nothing_left();
  EXPECT_EQ(job.fired(Timer::kRestart), "start 0#2");
  EXPECT_EQ(job.machine().expires_at(), 1000);
  EXPECT_EQ(job.fired(Timer::kExpire), "signal 0#2=15, set kill#1@7000");
}

TEST(Expiry, CallsOffARestart) {
  Policy policy = limited(1500);
  policy.max_restarts = 3;
  policy.restart_delay_ms = 5000;
  Script job(policy);
  job.running(1, 1);
  job.exited(0, 1);
  job.nothing_adopted();
  EXPECT_EQ(job.fired(Timer::kExpire), "cancel restart, sweep 15, signal 1#1=15, set sweep#2@7500");
  EXPECT_EQ(job.machine().restart_at(), 0);
  job.signaled(1, SIGTERM);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 124");
}

TEST(Expiry, OnTheWayDownComesInsteadOfTheRestart) {
  Policy policy = limited(1500);
  policy.max_restarts = 3;
  Script job(policy);
  job.running(1, 1);
  job.exited(0, 1);
  EXPECT_EQ(job.fired(Timer::kExpire), "");
  EXPECT_EQ(job.nothing_adopted(),
            "cancel sweep, sweep 0, sweep 15, signal 1#1=15, set sweep#2@7500");
  job.signaled(1, SIGTERM);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 124");
}

TEST(Expiry, OnTheWayDownLeavesAFailuresCodeAlone) {
  Script job(limited(1000));
  job.running(2);
  job.exited(0, 3);
  EXPECT_EQ(job.fired(Timer::kExpire), "");
  job.signaled(1, SIGTERM);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 3");
}

TEST(Expiry, DoesNotEndTheHold) {
  Policy policy = limited(1000);
  policy.hold_ms = 60'000;
  Script job(policy);
  job.running(1);
  job.exited(0, 3);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, cancel expire, set hold#1@60000");
  EXPECT_EQ(job.machine().expires_at(), 0);
  EXPECT_EQ(job.step(event::ExpireIn{1000}), "");
}

TEST(Expiry, ByADuplicateOfTheStopIsStillTheLimits) {
  Script job(limited(1000));
  job.running(1);
  job.fired(Timer::kExpire);
  job.stop();
  job.signaled(0, SIGTERM);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 124");
}

TEST(ExpireIn, MovesTheEndBothWaysAndNothingElse) {
  Script job(limited(1000));
  job.running(1);
  job.now = 900;
  EXPECT_EQ(job.step(event::ExpireIn{5000}), "set expire#2@5900");
  EXPECT_EQ(job.machine().expires_at(), 5900);
  job.now = 1000;
  EXPECT_EQ(job.fired(Timer::kExpire, 1), "");
  EXPECT_EQ(job.phase(), "running");
  EXPECT_EQ(job.step(event::ExpireIn{500}), "set expire#3@1500");
  EXPECT_EQ(job.step(event::ExpireIn{-7}), "set expire#4@1000") << "at once";
  EXPECT_EQ(job.fired(Timer::kExpire, 4), "signal 0#1=15, set kill#1@8000");
  EXPECT_TRUE(job.machine().expired());
}

TEST(ExpireIn, GivesALimitToAJobWithoutOne) {
  Policy policy;
  policy.max_restarts = 1;
  Script job(policy);
  EXPECT_EQ(job.step(event::ExpireIn{1000}), "") << "it has not begun";
  job.running(1);
  EXPECT_EQ(job.step(event::ExpireIn{1000}), "set expire#1@1000");
  job.exited(0, 1);
  job.nothing_left();
  EXPECT_EQ(job.machine().expires_at(), 1000) << "restarts included";
  EXPECT_EQ(job.step(event::ExpireIn{700}), "set expire#2@700") << "between two starts";
  job.fired(Timer::kExpire, 2);
  EXPECT_TRUE(job.machine().expired());
}

TEST(ExpireIn, OfAnEndThatIsOverdueSetsNoTimerInThePast) {
  Script job(limited(1000));
  job.running(1);
  job.now = 4000;  // and the timer fires after this
  EXPECT_EQ(job.step(event::ExpireIn{500}), "set expire#2@4500");
}

TEST(ExpireIn, ComesTooLateOnceTheJobIsOnItsWayDown) {
  Script job(limited(1000));
  job.running(1);
  job.fired(Timer::kExpire);
  EXPECT_EQ(job.step(event::ExpireIn{5000}), "");
  EXPECT_EQ(job.machine().expires_at(), 0);
  Script stopped;
  stopped.running(1);
  stopped.stop();
  EXPECT_EQ(stopped.step(event::ExpireIn{5000}), "");
}

// --- The stop signal ---

TEST(StopSignal, MayBeAnotherForTheMainTasks) {
  Script job;
  job.running(1, 1);
  EXPECT_EQ(job.stop(SIGTERM, SIGINT), "signal 0#1=2, set kill#1@7000");
  EXPECT_EQ(job.machine().stop_signal(), SIGTERM);
  EXPECT_EQ(job.exited(0, 0), "cancel kill, sweep 15, signal 1#1=15, set sweep#1@7500");
}

TEST(StopSignal, OfAFanOutIsTheOneThatWasAskedFor) {
  Script job;
  job.running(2);
  job.stop(SIGTERM, SIGUSR1);
  job.signaled(0, SIGUSR1);
  job.signaled(1, SIGUSR1);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 143");
}

TEST(StopSignal, ToDieOfTheOtherIsHowAServerIsStopped) {
  Script job;
  job.running(1, 0, SuccessPolicy::kServe);
  job.stop(SIGTERM, SIGINT);
  job.signaled(0, SIGINT);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 0");
}

TEST(StopSignal, ASecondTermHurriesOnRequest) {
  Policy policy;
  policy.second_term_kills = true;
  Script job(policy);
  job.running(1);
  EXPECT_EQ(job.stop(), "signal 0#1=15, set kill#1@7000");
  EXPECT_EQ(job.stop(SIGINT), "signal 0#1=2") << "one of each";
  EXPECT_EQ(job.stop(), "cancel kill, signal 0#1=9, set give-up#1@250");
}

}  // namespace
}  // namespace lifecycle
