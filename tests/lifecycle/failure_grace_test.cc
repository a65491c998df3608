// Policy::failure_grace_ms: the time of the other main tasks after a failure.

#include <gtest/gtest.h>

#include "lifecycle/machine.h"
#include "tests/lifecycle/script.h"

namespace lifecycle {
namespace {

Policy with_failure_grace(TimeMs failure_grace_ms) {
  Policy policy = standard();
  policy.failure_grace_ms = failure_grace_ms;
  return policy;
}

TEST(FailureGrace, KillsTheOtherTasksSoonerAfterAFailure) {
  Script job(with_failure_grace(3000));
  job.running(2);
  job.now = 100;
  EXPECT_EQ(job.exited(0, 1), "report, signal 1#1=15, set kill#1@3100");
  EXPECT_TRUE(job.machine().cuts_grace());
  job.now = 3100;
  EXPECT_EQ(job.fired(Timer::kKill), "signal 1#1=9, set give-up#1@3350");
  EXPECT_FALSE(job.machine().cuts_grace());
  EXPECT_EQ(job.signaled(1, SIGKILL), "cancel give-up, sweep 15, set sweep#1@3600");
}

TEST(FailureGrace, IsNotForAStop) {
  Script job(with_failure_grace(3000));
  job.running(2);
  EXPECT_EQ(job.stop(), "signal 0#1=15, signal 1#1=15, set kill#1@7000");
  EXPECT_FALSE(job.machine().cuts_grace());
  EXPECT_EQ(job.step(event::TaskWrites{}), "");
}

TEST(FailureGrace, IsForAFailureOfAnotherNode) {
  Script job(with_failure_grace(3000));
  job.running(1).linked();
  EXPECT_EQ(job.job_failed(), "signal 0#1=15, set kill#1@3000");
}

TEST(FailureGrace, BeginsAgainWhenATaskWrites) {
  Script job(with_failure_grace(3000));
  job.running(2);
  job.exited(0, 1);
  job.now = 2000;
  EXPECT_EQ(job.step(event::TaskWrites{}), "set kill#2@5000");
  job.now = 4900;
  EXPECT_EQ(job.step(event::TaskWrites{}), "set kill#3@7000") << "the end of the grace";
}

TEST(FailureGrace, IsTheWholeGraceWhereTheWritesAreUnknown) {
  Script job(with_failure_grace(3000));
  job.running(2);
  job.exited(0, 1);
  EXPECT_EQ(job.step(event::TaskWrites{.unknown = true}), "set kill#2@7000");
}

TEST(FailureGrace, IsNeverLongerThanTheGrace) {
  Script job(with_failure_grace(60'000));
  job.running(2);
  EXPECT_EQ(job.exited(0, 1), "report, signal 1#1=15, set kill#1@7000");
  job.now = 6000;
  EXPECT_EQ(job.step(event::TaskWrites{}), "set kill#2@7000");
}

TEST(FailureGrace, LeavesServicesTheirTimeAfterTheDebugWindow) {
  Policy policy = with_failure_grace(100);
  policy.hold_ms = 1000;
  Script job(policy);
  job.running(1, 1);
  job.exited(0, 1);
  job.nothing_adopted();
  ASSERT_EQ(job.phase(), "hold");
  EXPECT_EQ(job.step(event::Release{}), "cancel hold, sweep 15, signal 1#1=15, set sweep#2@7500");
}

}  // namespace
}  // namespace lifecycle
