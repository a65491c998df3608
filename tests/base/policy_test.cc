#include "base/policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <random>

namespace base {
namespace {

constexpr std::int64_t kStart = 100'000;
constexpr StopHooks kNone;
constexpr StopHooks kPreStop{.pre_stop = true};
constexpr StopHooks kWithPostStop{.post_stop = true};

TEST(Budget, KeepsTheReserveForKillAndWhatFollowsIt) {
  Policy policy;
  policy.grace_ms = 8000;
  policy.kill_reserve_ms = 1000;
  const Budget budget = make_budget(policy, kNone, kStart);
  EXPECT_EQ(budget.kill_at, kStart + 7000);
  EXPECT_EQ(budget.sweep_kill_at, kStart + 7500);
  EXPECT_EQ(budget.post_kill_at, kStart + 7750);
  EXPECT_EQ(budget.reap_ms, 250);
}

TEST(Budget, WithAnEarlierKillKeepsTheEndOfTheGrace) {
  Policy policy;
  policy.grace_ms = 8000;
  const Budget whole = make_budget(policy, kNone, kStart);
  const Budget sooner = kill_sooner(whole, kStart + 3000);
  EXPECT_EQ(sooner.kill_at, kStart + 3000);
  EXPECT_EQ(sooner.sweep_kill_at - sooner.kill_at, whole.sweep_kill_at - whole.kill_at);
  EXPECT_EQ(sooner.exit_at, whole.exit_at);
  EXPECT_EQ(kill_sooner(whole, kStart + 7001), whole);
}

TEST(Budget, KeepsTimeForPostStopTasksWhereThereAreAny) {
  Policy policy;
  policy.grace_ms = 8000;
  policy.kill_reserve_ms = 1000;
  policy.post_stop_ms = 4000;
  EXPECT_EQ(make_budget(policy, kNone, kStart).kill_at, kStart + 7000);
  const Budget budget = make_budget(policy, kWithPostStop, kStart);
  EXPECT_EQ(budget.kill_at, kStart + 3000);
  EXPECT_EQ(budget.sweep_kill_at, kStart + 3500);
  EXPECT_EQ(budget.post_term_at, kStart + 6750);
  EXPECT_EQ(budget.post_kill_at, kStart + 7750);
}

TEST(Budget, KeepsTimeForPreStopTasksWhereThereAreAnyAndForTheDrain) {
  Policy policy;
  policy.grace_ms = 8000;
  policy.kill_reserve_ms = 1000;
  policy.pre_stop_ms = 2000;
  policy.drain_ms = 500;
  Budget budget = make_budget(policy, kPreStop, kStart);
  EXPECT_EQ(budget.drained_at, kStart + 500);
  EXPECT_EQ(budget.notify_at, kStart + 2000) << "the drain runs beside the tasks";
  EXPECT_EQ(budget.kill_at, kStart + 7000);
  budget = make_budget(policy, kNone, kStart);
  EXPECT_EQ(budget.drained_at, kStart + 500);
  EXPECT_EQ(budget.notify_at, kStart + 500);
  policy.drain_ms = 3000;
  budget = make_budget(policy, kPreStop, kStart);
  EXPECT_EQ(budget.drained_at, kStart + 3000);
  EXPECT_EQ(budget.notify_at, kStart + 3000);
}

TEST(Budget, WithoutDrainOrTasksTellsAtOnce) {
  Policy policy;
  policy.pre_stop_ms = 2000;
  const Budget budget = make_budget(policy, kNone, kStart);
  EXPECT_EQ(budget.drained_at, kStart);
  EXPECT_EQ(budget.notify_at, kStart);
}

TEST(Budget, ScalesAllSharesAlikeForASmallGrace) {
  Policy policy;
  policy.grace_ms = 4000;
  policy.kill_reserve_ms = 1000;
  policy.pre_stop_ms = 2000;
  policy.post_stop_ms = 3000;
  policy.drain_ms = 1800;
  const Budget budget = make_budget(policy, {.pre_stop = true, .post_stop = true}, kStart);
  EXPECT_EQ(budget.notify_at, kStart + 1000);
  EXPECT_EQ(budget.drained_at, kStart + 1000) << "never after the tasks' time";
  EXPECT_EQ(budget.kill_at, kStart + 2000) << "a quarter of the grace for TERM";
  EXPECT_EQ(budget.post_kill_at, kStart + 4000 - 125);
}

TEST(Budget, IsInTheOrderOfTimeForAnyPolicy) {
  std::mt19937_64 random(5);
  const auto any = [&random](std::initializer_list<std::int64_t> values) {
    const std::int64_t value =
        *(values.begin() + static_cast<std::ptrdiff_t>(random() % values.size()));
    return value + static_cast<std::int64_t>(random() % 3);
  };
  for (int i = 0; i < 100'000; ++i) {
    Policy policy;
    policy.grace_ms = any({0, 10, 999, 8000, 25'000, 1'000'000'000'000});
    policy.kill_reserve_ms = any({0, 7, 1000, 9000, 1'000'000'000'000});
    policy.drain_ms = any({-5, 0, 40, 3000, 60'000});
    policy.pre_stop_ms = any({-5, 0, 40, 3000, 60'000});
    policy.post_stop_ms = any({-5, 0, 40, 3000, 60'000});
    const StopHooks hooks{.pre_stop = random() % 2 == 0, .post_stop = random() % 2 == 0};
    const Budget budget = make_budget(policy, hooks, kStart);
    const std::int64_t grace = std::min<std::int64_t>(policy.grace_ms, 1'000'000'000);
    const std::array course = {kStart,
                               budget.drained_at,
                               budget.notify_at,
                               budget.kill_at,
                               budget.sweep_kill_at,
                               budget.post_term_at,
                               budget.post_kill_at,
                               budget.exit_at,
                               kStart + grace};
    ASSERT_TRUE(std::is_sorted(course.begin(), course.end()))
        << "case " << i << ": " << ::testing::PrintToString(course);
    ASSERT_EQ(budget.term_phase_ms, budget.kill_at - budget.notify_at) << "case " << i;
    ASSERT_GE(budget.term_phase_ms, grace / 4) << "case " << i;
    ASSERT_GE(budget.post_stop_run_ms, 0) << "case " << i;
    ASSERT_LE(budget.sweep_kill_at + budget.reap_ms + budget.post_stop_run_ms,
              std::max(budget.post_term_at, budget.sweep_kill_at + budget.reap_ms))
        << "case " << i;
  }
}

TEST(Budget, LeavesTheTermPhaseAQuarterOfASmallGrace) {
  Policy policy;
  policy.grace_ms = 2000;
  policy.kill_reserve_ms = 3000;
  policy.post_stop_ms = 3000;
  const Budget budget = make_budget(policy, kWithPostStop, kStart);
  EXPECT_EQ(budget.kill_at, kStart + 500);
  EXPECT_EQ(budget.sweep_kill_at, kStart + 875);
  EXPECT_LE(budget.post_kill_at, kStart + 2000);
}

TEST(Budget, WithoutAnyGraceKillsAtOnce) {
  Policy policy;
  policy.grace_ms = 0;
  const Budget budget = make_budget(policy, kWithPostStop, kStart);
  EXPECT_EQ(budget.kill_at, kStart);
  EXPECT_EQ(budget.sweep_kill_at, kStart);
  EXPECT_EQ(budget.reap_ms, kReapMs);
}

TEST(Budget, SurvivesAbsurdPolicies) {
  Policy policy;
  policy.grace_ms = std::numeric_limits<std::int64_t>::max();
  policy.kill_reserve_ms = std::numeric_limits<std::int64_t>::max();
  policy.post_stop_ms = -1;
  const Budget budget = make_budget(policy, kWithPostStop, kStart);
  EXPECT_GE(budget.kill_at, kStart);
  EXPECT_GE(budget.post_kill_at, budget.kill_at);
}

TEST(Budget, RunsPostStopTasksForTheTimeThatTheirShareWasMadeFor) {
  for (const std::int64_t run_ms : {0, 1, 2, 3, 2000, 2667, 9000}) {
    Policy policy;
    policy.grace_ms = 60'000;
    policy.post_stop_ms = post_stop_share_ms(run_ms);
    const Budget budget = make_budget(policy, kWithPostStop, kStart);
    EXPECT_GE(budget.post_stop_run_ms, run_ms);
    EXPECT_LE(budget.post_stop_run_ms, run_ms + 1);
  }
}

TEST(Budget, WithoutAStopPostStopTasksHaveAllTheirTime) {
  Policy policy;
  policy.grace_ms = 8000;
  policy.post_stop_ms = 60'000;
  Budget budget = make_budget(policy, kWithPostStop, kStart);
  allow_post_stop(policy, kStart + 5, &budget);
  EXPECT_EQ(budget.post_term_at, kStart + 5 + 45'000);
  EXPECT_EQ(budget.post_kill_at, kStart + 5 + 60'000);
}

TEST(AllowPostStop, GivesTasksTheTimeThatTheyHaveAlone) {
  Policy policy;
  policy.post_stop_ms = 2000;
  policy.post_stop_alone_ms = 600'000;
  Budget budget = make_budget(policy, {.post_stop = true}, 0);
  allow_post_stop(policy, 100, &budget);
  EXPECT_EQ(budget.post_kill_at, 600'100);
  EXPECT_EQ(make_budget(policy, {.post_stop = true}, 0).post_kill_at, 7750) << "of a stop";
}

}  // namespace
}  // namespace base
