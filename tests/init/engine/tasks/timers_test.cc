#include "init/engine/tasks/timers.h"

#include <gtest/gtest.h>

namespace {

using engine::Timers;
using lifecycle::Timer;

TEST(Timers, WakeNobodyWhileNoneIsSet) {
  Timers timers;
  EXPECT_EQ(timers.next(), std::nullopt);
  EXPECT_TRUE(timers.take_due(1'000'000).empty());
}

TEST(Timers, FireWhenTheyAreDueAndThenNoMore) {
  Timers timers;
  timers.set({Timer::kKill, 7, 1005});
  EXPECT_EQ(timers.next(), 1005);
  EXPECT_TRUE(timers.take_due(1004).empty());
  EXPECT_EQ(timers.next(), 1005);
  auto due = timers.take_due(1005);
  ASSERT_EQ(due.size(), 1U);
  EXPECT_EQ(due[0].timer, Timer::kKill);
  EXPECT_EQ(due[0].generation, 7U);
  EXPECT_EQ(timers.next(), std::nullopt);
  EXPECT_TRUE(timers.take_due(1'000'000).empty());
}

TEST(Timers, FireAtOnceWhenTheyAreSetInThePast) {
  Timers timers;
  for (const lifecycle::TimeMs at : {-5, 0, 1}) {
    timers.set({Timer::kHold, 1, at});
    EXPECT_EQ(timers.next(), at);
    EXPECT_EQ(timers.take_due(1000).size(), 1U) << at;
  }
}

TEST(Timers, DoNotFireOnceCancelled) {
  Timers timers;
  timers.set({Timer::kSweep, 1, 1});
  timers.cancel(Timer::kSweep);
  EXPECT_EQ(timers.next(), std::nullopt);
  EXPECT_TRUE(timers.take_due(1000).empty());
}

TEST(Timers, AreReplacedByOneOfTheSameName) {
  Timers timers;
  timers.set({Timer::kKill, 1, 1});
  timers.set({Timer::kKill, 2, 5000});
  EXPECT_EQ(timers.next(), 5000);
  EXPECT_TRUE(timers.take_due(4999).empty());
  EXPECT_EQ(timers.take_due(5000).at(0).generation, 2U);
}

TEST(Timers, FireEachByItself) {
  Timers timers;
  timers.set({Timer::kRestart, 1, 5000});
  timers.set({Timer::kKill, 2, 1});
  timers.set({Timer::kResolve, 3, 2});
  EXPECT_EQ(timers.next(), 1);
  EXPECT_EQ(timers.take_due(10).size(), 2U);
  EXPECT_EQ(timers.next(), 5000);
  EXPECT_EQ(timers.take_due(5000).size(), 1U);
}

}  // namespace
