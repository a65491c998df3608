#pragma once
// The clock by which a node measures node 0's silence. While this process is stopped itself
// (SIGSTOP, a paused container, a machine without a free CPU), it receives nothing, which is no
// silence of node 0. So a wait advances the clock by its planned time and one second at most. The
// Coordinator does the same for node 0.

#include <algorithm>
#include <cstdint>

#include "init/sys/clock.h"

namespace engine {

class LinkClock {
 public:
  [[nodiscard]] std::int64_t now_ms() const { return now_ms_; }
  // Advances the clock. Call it after each wait; `planned_ms` is how long the wait was to be. The
  // work since the last call counts as waiting too.
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
