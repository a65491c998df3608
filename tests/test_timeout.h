#pragma once
// The time-out of a test that waits for an event. It counts looks, each as one second at most, not
// the clock: if the whole machine stands still for minutes, waits that are under way do not fail.

#include <algorithm>
#include <cstdint>

#include "init/sys/clock.h"

// A limit that tells what has to end at once from what waits: no delay of a loaded machine is as
// long. The wait that it must not be lasts longer, 100 s at least.
constexpr std::int64_t kAtOnceMs = 60'000;

class TestTimeout {
 public:
  static constexpr int kLookMs = 1000;  // the longest time that a caller waits between two looks

  explicit TestTimeout(std::int64_t limit_ms = 180'000) : left_ms_(limit_ms) {}

  // Returns whether time is left. Callers ask before each look.
  [[nodiscard]] bool is_left() {
    const std::int64_t now_ms = sys::monotonic_ms();
    left_ms_ -= std::min<std::int64_t>(now_ms - looked_ms_, kLookMs);
    looked_ms_ = now_ms;
    return left_ms_ > 0;
  }

 private:
  std::int64_t left_ms_;
  std::int64_t looked_ms_ = sys::monotonic_ms();
};
