#pragma once
// The machine's timers on one timerfd.

#include <array>
#include <vector>

#include "init/sys/fd.h"
#include "lifecycle/machine.h"

namespace engine {

class Timers {
 public:
  Timers();
  [[nodiscard]] const sys::Fd& fd() const { return fd_; }
  void set(const lifecycle::action::SetTimer& timer);
  void cancel(lifecycle::Timer timer);
  // The timers that are due, which are then no longer set.
  std::vector<lifecycle::event::TimerFired> take_due(lifecycle::TimeMs now);

 private:
  struct Entry {
    bool set = false;
    std::uint32_t generation = 0;
    lifecycle::TimeMs at = 0;
  };
  void arm();

  sys::Fd fd_;
  std::array<Entry, lifecycle::kTimerCount> entries_;
};

}  // namespace engine
