#pragma once
// The machine's timers: which are set, and when the next one is due. They use no descriptor: the
// loop waits no longer than until next().

#include <array>
#include <optional>
#include <vector>

#include "lifecycle/machine.h"

namespace engine {

class Timers {
 public:
  void set(const lifecycle::action::SetTimer& timer);
  void cancel(lifecycle::Timer timer);
  // Returns when the next timer is due; nullopt: none is set.
  [[nodiscard]] std::optional<lifecycle::TimeMs> next() const;
  // Returns the timers that are due and unsets them.
  std::vector<lifecycle::event::TimerFired> take_due(lifecycle::TimeMs now);

 private:
  struct Entry {
    bool set = false;
    std::uint32_t generation = 0;
    lifecycle::TimeMs at = 0;
  };

  std::array<Entry, lifecycle::kTimerCount> entries_;
};

}  // namespace engine
