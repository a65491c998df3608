#include "lifecycle/policy.h"

#include <gtest/gtest.h>

namespace lifecycle {
namespace {

TEST(RestartDelay, IsNoneAtFirstThenDoublesUpToItsMaximum) {
  Policy policy;
  policy.restart_delay_ms = 1000;
  policy.restart_delay_max_ms = 5000;
  EXPECT_EQ(restart_delay(policy, 0), 0);
  EXPECT_EQ(restart_delay(policy, 1), 1000);
  EXPECT_EQ(restart_delay(policy, 2), 2000);
  EXPECT_EQ(restart_delay(policy, 3), 4000);
  EXPECT_EQ(restart_delay(policy, 4), 5000);
  EXPECT_EQ(restart_delay(policy, 4'000'000'000U), 5000);
}

TEST(RestartDelay, IsWhatWasAskedForWhereThatIsMoreThanTheUsualMaximum) {
  Policy policy;
  policy.restart_delay_ms = 300'000;
  EXPECT_EQ(restart_delay(policy, 1), 300'000);
  EXPECT_EQ(restart_delay(policy, 5), 300'000);
}

TEST(RestartsOn, AllButTheRangesWithTheirEnds) {
  Policy policy;
  EXPECT_TRUE(restarts_on(policy, 1));
  policy.no_restart_on = {{1, 2}, {126, 126}};
  for (const int code : {1, 2, 126}) EXPECT_FALSE(restarts_on(policy, code)) << code;
  for (const int code : {3, 125, 127}) EXPECT_TRUE(restarts_on(policy, code)) << code;
}

TEST(RestartDelay, OfNothingStaysNothing) {
  Policy policy;
  policy.restart_delay_ms = 0;
  EXPECT_EQ(restart_delay(policy, 4'000'000'000U), 0);
}

}  // namespace
}  // namespace lifecycle
