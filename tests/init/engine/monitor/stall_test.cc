#include "init/engine/monitor/stall.h"

#include <gtest/gtest.h>

namespace {

using engine::ActivitySample;
using engine::StallJudge;
using StallState = engine::StallJudge::StallState;

constexpr std::int64_t kTimeout = 10'000;
constexpr std::int64_t kLook = 1000;

// A look a second from 0 on.
class Stall : public testing::Test {
 protected:
  StallState look(const ActivitySample& sample) {
    now_ms_ += kLook;
    return judge_.look(sample, now_ms_);
  }
  // The seconds until it is a stall; 0: not in a minute.
  int looks_to_stall(const ActivitySample& sample) {
    for (int i = 1; i <= 60; ++i) {
      if (look(sample) == StallState::kStalled) return i;
    }
    return 0;
  }

  StallJudge judge_{{.timeout_ms = kTimeout}};
  std::int64_t now_ms_ = 0;
};

TEST_F(Stall, IsNoOutputAndNoCpuTimeForSoLong) {
  look({.output = 5, .cpu_ms = 100});
  EXPECT_EQ(looks_to_stall({.output = 5, .cpu_ms = 100}), 10);
  EXPECT_EQ(now_ms_ - judge_.silent_since_ms(), kTimeout);
}

TEST_F(Stall, IsSaidOnceAndAgainAfterProgress) {
  const ActivitySample idle{.output = 5, .cpu_ms = 100};
  look(idle);
  EXPECT_NE(looks_to_stall(idle), 0);
  EXPECT_EQ(looks_to_stall(idle), 0);
  EXPECT_EQ(look({.output = 6, .cpu_ms = 100}), StallState::kMoves);
  EXPECT_EQ(look({.output = 7, .cpu_ms = 100}), StallState::kNothing);
  EXPECT_NE(looks_to_stall({.output = 7, .cpu_ms = 100}), 0);
}

TEST_F(Stall, EitherOutputOrCpuTimeIsProgress) {
  std::uint64_t output = 0;
  std::int64_t cpu_ms = 0;
  for (int i = 0; i < 50; ++i) EXPECT_EQ(look({.output = ++output}), StallState::kNothing);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(look({.output = output, .cpu_ms = cpu_ms += 500}), StallState::kNothing);
  }
}

TEST_F(Stall, TheIdleThreadsOfAWatchdogAreNoProgress) {
  std::int64_t cpu_ms = 0;
  int stalls = 0;
  for (int i = 0; i < 15; ++i) {
    stalls += look({.output = 1, .cpu_ms = cpu_ms += 10}) == StallState::kStalled ? 1 : 0;
  }
  EXPECT_EQ(stalls, 1) << "10 ms of a second are a hundredth of a CPU";
}

// Looks come more often than the kernel counts: a tick between two of them is no hundredth of a
// CPU.
TEST_F(Stall, OneTickOfCpuTimeIsNoProgress) {
  StallJudge judge({.timeout_ms = 1000});
  int looks = 0;
  for (std::int64_t now_ms = 100; looks == 0 || now_ms < 10'000; now_ms += 100) {
    const std::int64_t ticks = now_ms / 3000;
    const auto verdict = judge.look({.output = 1, .cpu_ms = ticks * 10}, now_ms);
    if (verdict == StallState::kStalled) looks = static_cast<int>(now_ms / 100);
    ASSERT_NE(verdict, StallState::kMoves);
  }
  EXPECT_EQ(looks, 11);
}

TEST_F(Stall, ProcessThatWaitsForACpuHasNotStalled) {
  look({.output = 1});
  EXPECT_EQ(looks_to_stall({.output = 1, .runnable = true}), 0);
  EXPECT_EQ(looks_to_stall({.output = 1}), 10);
  StallJudge by_output({.timeout_ms = kTimeout, .by_output = true});
  by_output.look({.output = 1, .runnable = true}, 0);
  EXPECT_EQ(by_output.look({.output = 1, .runnable = true}, kTimeout), StallState::kStalled);
}

TEST_F(Stall, BurstOfCpuTimeAfterASilenceIsProgress) {
  for (int i = 0; i < 9; ++i) look({.output = 1});
  look({.output = 1, .cpu_ms = 100});
  EXPECT_EQ(looks_to_stall({.output = 1, .cpu_ms = 100}), 10);
}

TEST_F(Stall, MovesSoonAfterALongSilence) {
  look({.output = 1});
  for (int i = 0; i < 3600; ++i) look({.output = 1});
  ASSERT_TRUE(judge_.stalled());
  EXPECT_EQ(look({.output = 1, .cpu_ms = 500}), StallState::kMoves);
}

TEST_F(Stall, AChildThatDiesTakesItsTimeAwayWhichIsProgress) {
  look({.output = 1, .cpu_ms = 90'000});
  for (int i = 0; i < 9; ++i) look({.output = 1, .cpu_ms = 90'000});
  EXPECT_EQ(look({.output = 1, .cpu_ms = 100}), StallState::kNothing);
}

TEST_F(Stall, WithoutAnyLookAtTheOutputCpuTimeDecides) {
  look({.output = {}, .cpu_ms = 5});
  EXPECT_EQ(looks_to_stall({.output = {}, .cpu_ms = 5}), 10);
}

TEST_F(Stall, ByOutputAloneIsSilenceWhateverIsUsed) {
  judge_ = StallJudge({.timeout_ms = kTimeout, .by_output = true});
  std::int64_t cpu_ms = 0;
  int stalls = 0;
  for (int i = 0; i < 15; ++i) {
    stalls += look({.output = 1, .cpu_ms = cpu_ms += 1000}) == StallState::kStalled ? 1 : 0;
  }
  EXPECT_EQ(stalls, 1);
  EXPECT_EQ(look({.output = 2, .cpu_ms = cpu_ms}), StallState::kMoves);
}

TEST_F(Stall, ByOutputAloneIsNoneOfWhatNobodySees) {
  judge_ = StallJudge({.timeout_ms = kTimeout, .by_output = true});
  EXPECT_EQ(looks_to_stall({}), 0);
}

TEST_F(Stall, TimeInWhichEverythingStoodStillDoesNotCount) {
  const ActivitySample idle{.output = 5, .cpu_ms = 100};
  look(idle);
  for (int i = 0; i < 8; ++i) look(idle);
  now_ms_ += 3'600'000;
  judge_.begin_anew();
  EXPECT_EQ(look(idle), StallState::kNothing);
  EXPECT_EQ(looks_to_stall(idle), 10);
}

TEST_F(Stall, ThatWasSaidIsNotSaidAgainAfterEverythingStoodStill) {
  const ActivitySample idle{.output = 5, .cpu_ms = 100};
  look(idle);
  EXPECT_NE(looks_to_stall(idle), 0);
  judge_.begin_anew();
  EXPECT_EQ(looks_to_stall(idle), 0);
  EXPECT_EQ(look({.output = 6, .cpu_ms = 100}), StallState::kMoves);
}

TEST_F(Stall, WhatItsStackCostIsNoProgress) {
  look({.output = 5, .cpu_ms = 100});
  EXPECT_EQ(looks_to_stall({.output = 5, .cpu_ms = 100}), 10);
  judge_.excuse(200);
  EXPECT_EQ(look({.output = 5, .cpu_ms = 200}), StallState::kNothing);
  EXPECT_EQ(look({.output = 5, .cpu_ms = 300}), StallState::kMoves);
}

// Prints and computes all the time.
class StepStall : public Stall {
 protected:
  ActivitySample busy(std::uint64_t steps) {
    ++output_;
    return {.output = output_, .cpu_ms = cpu_ms_ += 1000, .steps = steps};
  }
  int looks_to_stall_at(std::uint64_t steps) {
    for (int i = 1; i <= 60; ++i) {
      if (look(busy(steps)) == StallState::kStalled) return i;
    }
    return 0;
  }

  std::uint64_t output_ = 0;
  std::int64_t cpu_ms_ = 0;
};

TEST_F(StepStall, IsNoNewStepWhateverIsPrinted) {
  look(busy(7));
  EXPECT_EQ(looks_to_stall_at(7), 10);
  EXPECT_TRUE(judge_.by_steps());
  EXPECT_EQ(now_ms_ - judge_.silent_since_ms(), kTimeout);
  EXPECT_EQ(looks_to_stall_at(7), 0) << "said once";
  EXPECT_EQ(look(busy(8)), StallState::kMoves);
  EXPECT_EQ(looks_to_stall_at(8), 10);
}

TEST_F(StepStall, IsNoneOfARankThatTellsNoSteps) {
  EXPECT_EQ(looks_to_stall_at(0), 0);
  const ActivitySample idle{.output = output_, .cpu_ms = cpu_ms_};
  EXPECT_EQ(looks_to_stall(idle), 10) << "as ever";
  EXPECT_FALSE(judge_.by_steps());
}

TEST_F(StepStall, ASilentRankWhoseStepsGoOnMoves) {
  std::uint64_t steps = 1;
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(look({.output = 1, .cpu_ms = 1, .steps = ++steps}), StallState::kNothing);
  }
}

TEST_F(StepStall, AFirstStepThatIsExpectedHasItsTime) {
  judge_ = StallJudge({.timeout_ms = kTimeout, .first_step_ms = 3 * kTimeout});
  look(busy(0));
  EXPECT_EQ(looks_to_stall_at(0), 30);
  EXPECT_TRUE(judge_.by_steps());
  EXPECT_EQ(look(busy(0)), StallState::kNothing) << "what it prints meanwhile is no progress";
  EXPECT_EQ(look(busy(1)), StallState::kMoves);
}

TEST_F(StepStall, SilenceBeforeTheFirstStepIsAStallAsEver) {
  judge_ = StallJudge({.timeout_ms = kTimeout, .first_step_ms = 3 * kTimeout});
  const ActivitySample idle{.output = 5, .cpu_ms = 100};
  look(idle);
  EXPECT_EQ(looks_to_stall(idle), 10);
  EXPECT_FALSE(judge_.by_steps());
  EXPECT_EQ(look({.output = 6, .cpu_ms = 100}), StallState::kMoves);
}

TEST_F(StepStall, TimeInWhichEverythingStoodStillDoesNotCount) {
  look(busy(7));
  for (int i = 0; i < 8; ++i) look(busy(7));
  now_ms_ += 3'600'000;
  judge_.begin_anew();
  EXPECT_EQ(look(busy(7)), StallState::kNothing);
  EXPECT_EQ(looks_to_stall_at(7), 10);
}

// Its tee copies only: the steps that stand there are old.
TEST_F(StepStall, OfABlindTeeIsNoneWhileTheRankPrints) {
  look(busy(7));
  for (int i = 0; i < 50; ++i) {
    ActivitySample sample = busy(7);
    sample.blind = true;
    EXPECT_EQ(look(sample), StallState::kNothing) << i;
  }
  EXPECT_EQ(looks_to_stall_at(7), 10) << "once somebody looks again";
}

}  // namespace
