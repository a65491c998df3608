#include "init/engine/tasks/timers.h"

#include <algorithm>

namespace engine {

void Timers::set(const lifecycle::action::SetTimer& timer) {
  entries_[static_cast<std::size_t>(timer.timer)] = {true, timer.generation, timer.at};
}

void Timers::cancel(lifecycle::Timer timer) {
  entries_[static_cast<std::size_t>(timer)].set = false;
}

std::optional<lifecycle::TimeMs> Timers::next() const {
  std::optional<lifecycle::TimeMs> next;
  for (const Entry& entry : entries_) {
    if (entry.set) next = std::min(next.value_or(entry.at), entry.at);
  }
  return next;
}

std::vector<lifecycle::event::TimerFired> Timers::take_due(lifecycle::TimeMs now) {
  std::vector<lifecycle::event::TimerFired> due;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (!entries_[i].set || entries_[i].at > now) continue;
    entries_[i].set = false;
    due.push_back({static_cast<lifecycle::Timer>(i), entries_[i].generation});
  }
  return due;
}

}  // namespace engine
