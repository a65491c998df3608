#include "init/engine/timers.h"

#include <sys/timerfd.h>

#include <algorithm>

namespace engine {

Timers::Timers() : fd_(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {}

void Timers::set(const lifecycle::action::SetTimer& timer) {
  entries_[static_cast<std::size_t>(timer.timer)] = {true, timer.generation, timer.at};
  arm();
}

void Timers::cancel(lifecycle::Timer timer) {
  entries_[static_cast<std::size_t>(timer)].set = false;
  arm();
}

std::vector<lifecycle::event::TimerFired> Timers::take_due(lifecycle::TimeMs now) {
  std::uint64_t expirations = 0;
  (void)!::read(fd_.get(), &expirations, sizeof expirations);
  std::vector<lifecycle::event::TimerFired> due;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (!entries_[i].set || entries_[i].at > now) continue;
    entries_[i].set = false;
    due.push_back({static_cast<lifecycle::Timer>(i), entries_[i].generation});
  }
  arm();
  return due;
}

void Timers::arm() {
  bool any = false;
  lifecycle::TimeMs next = 0;
  for (const Entry& entry : entries_) {
    if (!entry.set) continue;
    next = any ? std::min(next, entry.at) : entry.at;
    any = true;
  }
  itimerspec spec = {};
  if (any) {
    next = std::max<lifecycle::TimeMs>(next, 1);  // all zero would disarm it
    spec.it_value.tv_sec = next / 1000;
    spec.it_value.tv_nsec = next % 1000 * 1'000'000;
  }
  ::timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
}

}  // namespace engine
