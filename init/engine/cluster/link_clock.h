#pragma once
// The clock by which a node counts node 0's silence. While this process was stopped itself
// (SIGSTOP, a paused container, a machine without a CPU to spare) it heard nobody, and asked nobody
// for a word: of a wait no more counts than it was to last, and a second. The Coordinator does so
// by itself.

#include <algorithm>
#include <cstdint>

#include "init/sys/clock.h"

namespace engine {

class LinkClock {
 public:
  [[nodiscard]] std::int64_t now_ms() const { return now_ms_; }
  // After a wait, and what was to be heard then; the work of the turn before it counts as waiting.
  void woke(std::int64_t planned_ms) {
    constexpr std::int64_t kLateMs = 1000;
    const std::int64_t real_ms = sys::monotonic_ms();
    now_ms_ += std::clamp<std::int64_t>(real_ms - real_ms_, 0, planned_ms + kLateMs);
    real_ms_ = real_ms;
  }

 private:
  std::int64_t real_ms_ = sys::monotonic_ms();
  std::int64_t now_ms_ = real_ms_;
};

}  // namespace engine
