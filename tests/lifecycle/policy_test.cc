#include "lifecycle/policy.h"

#include <gtest/gtest.h>

#include <limits>

namespace lifecycle {
namespace {

constexpr TimeMs kStart = 100'000;

TEST(Budget, KeepsTheReserveForKillAndWhatFollowsIt) {
  Policy policy;
  policy.grace_ms = 8000;
  policy.kill_reserve_ms = 1000;
  const Budget budget = make_budget(policy, false, kStart);
  EXPECT_EQ(budget.kill_at, kStart + 7000);
  EXPECT_EQ(budget.sweep_kill_at, kStart + 7500);
  EXPECT_EQ(budget.post_kill_at, kStart + 7750);
  EXPECT_EQ(budget.reap_ms, 250);
}

TEST(Budget, KeepsTimeForPostStopTasksWhereThereAreAny) {
  Policy policy;
  policy.grace_ms = 8000;
  policy.kill_reserve_ms = 1000;
  policy.post_stop_ms = 4000;
  EXPECT_EQ(make_budget(policy, false, kStart).kill_at, kStart + 7000);
  const Budget budget = make_budget(policy, true, kStart);
  EXPECT_EQ(budget.kill_at, kStart + 3000);
  EXPECT_EQ(budget.sweep_kill_at, kStart + 3500);
  EXPECT_EQ(budget.post_term_at, kStart + 6750);
  EXPECT_EQ(budget.post_kill_at, kStart + 7750);
}

TEST(Budget, LeavesTheTermPhaseAQuarterOfASmallGrace) {
  Policy policy;
  policy.grace_ms = 2000;
  policy.kill_reserve_ms = 3000;
  policy.post_stop_ms = 3000;
  const Budget budget = make_budget(policy, true, kStart);
  EXPECT_EQ(budget.kill_at, kStart + 500);
  EXPECT_EQ(budget.sweep_kill_at, kStart + 875);
  EXPECT_LE(budget.post_kill_at, kStart + 2000);
}

TEST(Budget, WithoutAnyGraceKillsAtOnce) {
  Policy policy;
  policy.grace_ms = 0;
  const Budget budget = make_budget(policy, true, kStart);
  EXPECT_EQ(budget.kill_at, kStart);
  EXPECT_EQ(budget.sweep_kill_at, kStart);
  EXPECT_EQ(budget.reap_ms, kReapMs);
}

TEST(Budget, SurvivesAbsurdPolicies) {
  Policy policy;
  policy.grace_ms = std::numeric_limits<TimeMs>::max();
  policy.kill_reserve_ms = std::numeric_limits<TimeMs>::max();
  policy.post_stop_ms = -1;
  const Budget budget = make_budget(policy, true, kStart);
  EXPECT_GE(budget.kill_at, kStart);
  EXPECT_GE(budget.post_kill_at, budget.kill_at);
}

TEST(Budget, WithoutAStopPostStopTasksHaveAllTheirTime) {
  Policy policy;
  policy.grace_ms = 8000;
  policy.post_stop_ms = 60'000;
  Budget budget = make_budget(policy, true, kStart);
  allow_post_stop(policy, kStart + 5, &budget);
  EXPECT_EQ(budget.post_term_at, kStart + 5 + 45'000);
  EXPECT_EQ(budget.post_kill_at, kStart + 5 + 60'000);
}

TEST(RestartDelay, DoublesUpToItsMaximum) {
  Policy policy;
  policy.restart_backoff_ms = 1000;
  policy.restart_backoff_max_ms = 5000;
  EXPECT_EQ(restart_delay(policy, 0), 1000);
  EXPECT_EQ(restart_delay(policy, 1), 2000);
  EXPECT_EQ(restart_delay(policy, 2), 4000);
  EXPECT_EQ(restart_delay(policy, 3), 5000);
  EXPECT_EQ(restart_delay(policy, 4'000'000'000U), 5000);
}

TEST(RestartDelay, OfNothingStaysNothing) {
  Policy policy;
  policy.restart_backoff_ms = 0;
  EXPECT_EQ(restart_delay(policy, 4'000'000'000U), 0);
}

}  // namespace
}  // namespace lifecycle
