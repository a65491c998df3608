// Policy::failure_grace_ms: the time of the other main tasks after a failure.

#include <gmock/gmock.h>
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
  EXPECT_EQ(job.job_failed(kElsewhere), "report, signal 0#1=15, set kill#1@3000");
}

// The first node that a platform stops looks like a failure until its verdict comes.
TEST(FailureGrace, BeginsWhenTheFirstFailureIsKnown) {
  Script job(with_failure_grace(3000));
  job.running(1).linked();
  EXPECT_EQ(job.job_failed(kUnknown), "signal 0#1=15, set kill#1@7000");
  EXPECT_FALSE(job.machine().cuts_grace());
  job.now = 500;
  EXPECT_EQ(job.job_failed(kElsewhere), "report, set kill#2@3500");
  EXPECT_TRUE(job.machine().cuts_grace());
}

TEST(FailureGrace, OfTheNodeThatFailedBeginsWithItsVerdict) {
  Script job(with_failure_grace(3000));
  job.running(2).linked();
  EXPECT_EQ(job.exited(0, 1), "report, signal 1#1=15, set kill#1@7000");
  job.now = 500;
  EXPECT_THAT(job.job_failed(kHere), testing::HasSubstr("set kill#2@3500"));
}

TEST(FailureGrace, IsNotForAStopOfAnotherNode) {
  Script job(with_failure_grace(3000));
  job.running(1).linked();
  job.job_failed(kUnknown);
  job.now = 500;
  EXPECT_EQ(job.job_failed(kStoppedElsewhere), "report");
  EXPECT_FALSE(job.machine().cuts_grace());
}

TEST(FailureGrace, EndsWithAStopOfThisNode) {
  Script job(with_failure_grace(3000));
  job.running(2);
  job.exited(0, 1);
  job.now = 1000;
  EXPECT_EQ(job.stop(), "set kill#2@7000") << "the rank may save for the stop";
  EXPECT_FALSE(job.machine().cuts_grace());
}

TEST(FailureGrace, IsNotForAFailureWithoutARank) {
  Script job(with_failure_grace(3000));
  job.running(1);
  EXPECT_EQ(job.step(event::Unfit{}), "report, signal 0#1=15, set kill#1@7000");
}

TEST(FailureGrace, GivesTheEscalationBackWithTheGrace) {
  Policy policy = with_escalation({{SIGINT, 5000}});
  policy.failure_grace_ms = 3000;
  Script job(policy);
  job.running(2);
  EXPECT_EQ(job.exited(0, 1), "report, signal 1#1=15, set kill#1@3000");
  job.now = 1000;
  EXPECT_EQ(job.stop(), "set kill#2@7000, set escalate#1@5000");
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
  EXPECT_FALSE(job.machine().cuts_grace());
  EXPECT_EQ(job.step(event::TaskWrites{}), "") << "a look from before";
}

TEST(FailureGrace, IsNeverLongerThanTheGrace) {
  Script job(with_failure_grace(60'000));
  job.running(2);
  EXPECT_EQ(job.exited(0, 1), "report, signal 1#1=15, set kill#1@7000");
  job.now = 6000;
  EXPECT_EQ(job.step(event::TaskWrites{}), "") << "the KILL cannot be later";
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

TEST(FailureGrace, LimitsLeftoversBeforeARestartIfTheVerdictComesAfterTheEndOfTheRanks) {
  Policy policy = with_restarts(1);
  policy.failure_grace_ms = 3000;
  Script job(policy);
  job.running(2).linked();
  job.exited(0, 1);
  job.now = 10;
  job.signaled(1, SIGTERM);
  job.now = 300;
  EXPECT_THAT(job.job_failed(kHereAgain), testing::HasSubstr("sweep 15, set sweep#1@4090"));
}

TEST(FailureGrace, OfAHookThatOutlivesTheRanksStays) {
  Script job(with_failure_grace(3000));
  job.running(2, {kPostStart});
  EXPECT_EQ(job.exited(0, 1), "report, signal 2#1=15, signal 1#1=15, set kill#1@3000");
  EXPECT_EQ(job.signaled(1, SIGTERM), "");
}

}  // namespace
}  // namespace lifecycle
