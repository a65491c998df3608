#include "init/engine/timers.h"

#include <gtest/gtest.h>
#include <poll.h>

#include "init/sys/clock.h"

namespace {

using engine::Timers;
using lifecycle::Timer;

bool wakes_within(const Timers& timers, int timeout_ms) {
  pollfd ready{timers.fd().get(), POLLIN, 0};
  return ::poll(&ready, 1, timeout_ms) == 1;
}

TEST(Timers, WakeNobodyWhileNoneIsSet) {
  Timers timers;
  EXPECT_FALSE(wakes_within(timers, 0));
  EXPECT_TRUE(timers.take_due(sys::monotonic_ms()).empty());
}

TEST(Timers, FireWhenTheyAreDueAndThenNoMore) {
  Timers timers;
  const auto now = sys::monotonic_ms();
  timers.set({Timer::kKill, 7, now + 5});
  ASSERT_TRUE(wakes_within(timers, 10'000));
  ASSERT_GE(sys::monotonic_ms(), now + 5);
  auto due = timers.take_due(sys::monotonic_ms());
  ASSERT_EQ(due.size(), 1U);
  EXPECT_EQ(due[0].timer, Timer::kKill);
  EXPECT_EQ(due[0].generation, 7U);
  EXPECT_FALSE(wakes_within(timers, 0));
  EXPECT_TRUE(timers.take_due(sys::monotonic_ms() + 1'000'000).empty());
}

TEST(Timers, FireAtOnceWhenTheyAreSetInThePast) {
  Timers timers;
  for (std::int64_t at : {std::int64_t{-5}, std::int64_t{0}, std::int64_t{1}}) {
    timers.set({Timer::kHold, 1, at});
    EXPECT_TRUE(wakes_within(timers, 10'000)) << at;
    EXPECT_EQ(timers.take_due(sys::monotonic_ms()).size(), 1U) << at;
  }
}

TEST(Timers, DoNotFireOnceCancelled) {
  Timers timers;
  timers.set({Timer::kSweep, 1, 1});
  timers.cancel(Timer::kSweep);
  EXPECT_FALSE(wakes_within(timers, 0));
  EXPECT_TRUE(timers.take_due(sys::monotonic_ms()).empty());
}

TEST(Timers, AreReplacedByOneOfTheSameName) {
  Timers timers;
  timers.set({Timer::kKill, 1, 1});
  timers.set({Timer::kKill, 2, sys::monotonic_ms() + 3'600'000});
  EXPECT_FALSE(wakes_within(timers, 0));
  EXPECT_TRUE(timers.take_due(sys::monotonic_ms()).empty());
}

TEST(Timers, FireEachByItself) {
  Timers timers;
  const auto later = sys::monotonic_ms() + 3'600'000;
  timers.set({Timer::kRestart, 1, later});
  timers.set({Timer::kKill, 2, 1});
  timers.set({Timer::kResolve, 3, 2});
  EXPECT_TRUE(wakes_within(timers, 10'000));
  EXPECT_EQ(timers.take_due(sys::monotonic_ms()).size(), 2U);
  EXPECT_FALSE(wakes_within(timers, 0));
  EXPECT_EQ(timers.take_due(later).size(), 1U);
}

TEST(Timers, TakenBeforeTheyAreDueStaySet) {
  Timers timers;
  const auto at = sys::monotonic_ms() + 20;
  timers.set({Timer::kGiveUp, 1, at});
  EXPECT_TRUE(timers.take_due(at - 1).empty());
  EXPECT_TRUE(wakes_within(timers, 10'000));
  EXPECT_EQ(timers.take_due(sys::monotonic_ms()).size(), 1U);
}

}  // namespace
