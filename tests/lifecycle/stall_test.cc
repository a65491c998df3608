// A main task that lives and makes no progress, as somebody who watches it says.

#include <gtest/gtest.h>

#include "lifecycle/machine.h"
#include "tests/lifecycle/script.h"

namespace lifecycle {
namespace {

TEST(Stall, OfAMainTaskIsAFailureOfIt) {
  Script job;
  job.running(2);
  EXPECT_EQ(job.stalled(1), "report, signal 0#1=15, signal 1#1=15, set kill#1@7000");
  ASSERT_NE(job.machine().cause(), nullptr);
  const Cause& cause = *job.machine().cause();
  EXPECT_EQ(cause.exit_code, 70);
  ASSERT_EQ(cause.ends.size(), 1U);
  EXPECT_EQ(cause.ends[0].task, (TaskRef{1, 1}));
  EXPECT_EQ(cause.ends[0].exit_status, (ExitStatus{ExitStatus::How::kStalled, 70}));
  job.signaled(0, SIGTERM);
  job.signaled(1, SIGTERM);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 70");
}

TEST(Stall, IsAnsweredByARestartLikeAnyFailureOfAMainTask) {
  Policy policy;
  policy.max_restarts = 1;
  Script job(policy);
  job.running(1);
  job.stalled(0);
  job.signaled(0, SIGTERM);
  job.nothing_left();
  EXPECT_EQ(job.phase(), "auto-restart");
}

TEST(Stall, OfAnythingElseIsNone) {
  Script job;
  job.running(1, 1);
  EXPECT_EQ(job.stalled(1), "") << "a service has nothing to reach";
  EXPECT_EQ(job.stalled(9), "");
  EXPECT_EQ(job.stalled(0, 2), "") << "another run of it is meant";
  job.stop(SIGTERM);
  EXPECT_EQ(job.stalled(0), "") << "it is being ended";
}

TEST(Stall, OfATaskThatDoesNotCountIsNone) {
  Script job;
  job.running(2, 0, SuccessPolicy::kFirst);
  EXPECT_EQ(job.stalled(1), "");
  EXPECT_NE(job.stalled(0), "");
}

}  // namespace
}  // namespace lifecycle
