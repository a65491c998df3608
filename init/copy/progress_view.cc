#include "init/copy/progress_view.h"

#include <unistd.h>

#include <utility>

#include "init/sys/clock.h"
#include "init/sys/screen.h"

namespace copy {
CopyProgress progress_of(const Counters& counters, bool waiting) {
  constexpr auto kOrder = std::memory_order_relaxed;
  return {.phase = phase_name(counters.phase.load(kOrder)),
          .waiting = waiting,
          .entries = counters.entries.load(kOrder),
          .bytes = counters.bytes.load(kOrder),
          .total_entries = counters.total_entries.load(kOrder),
          .total_bytes = counters.total_bytes.load(kOrder)};
}

Stall stall_of(const Counters& counters) {
  constexpr auto kOrder = std::memory_order_relaxed;
  const Stall stall{.side = counters.stalled_side.load(kOrder),
                    .for_ms = counters.stalled_ms.load(kOrder)};
  // The counters of another user's copy can have any values, so impossible ones are ignored.
  return stall.side > CopySide::kBoth || stall.for_ms < 0 ? Stall() : stall;
}

ProgressView::ProgressView(std::string name, CopyPlaces places)
    : name_(std::move(name)),
      places_(std::move(places)),
      writer_(STDERR_FILENO),
      bar_(sys::is_screen()),
      next_ms_(sys::monotonic_ms() + (bar_ ? 0 : kLineEveryMs)) {}

ProgressView::ProgressView(std::string name, CopyPlaces places,
                           std::function<void(std::string_view)> say)
    : name_(std::move(name)),
      places_(std::move(places)),
      say_(std::move(say)),
      writer_(STDERR_FILENO),
      next_ms_(sys::monotonic_ms() + kLineEveryMs) {}

void ProgressView::show(const Counters& counters, bool waiting) {
  CopyProgress progress = progress_of(counters, waiting);
  const Stall stall = stall_of(counters);
  progress.stalled = stall_text(stall, places_);
  const std::string head = name_.empty() ? "" : name_ + ": ";
  if (const std::string line = stalls_.next(stall, places_); !line.empty()) {
    clear();
    say_line(head + line);
  }
  const std::int64_t now = sys::monotonic_ms();
  window_.add(now, progress.bytes, progress.entries);
  const bool begins = bar_ && progress.phase != std::exchange(phase_, progress.phase);
  if (now < next_ms_ && !begins) return;
  next_ms_ = now + (bar_ ? kBarEveryMs : kLineEveryMs);
  if (!bar_) {
    say_line(head + progress_line(progress, window_.rate()));
    return;
  }
  const int columns = sys::screen_columns() - static_cast<int>(head.size());
  writer_.write(std::string(sys::kEraseLine) + head +
                progress_bar(progress, window_.rate(), columns));
  drawn_ = true;
}

void ProgressView::clear() {
  if (drawn_) writer_.write(sys::kEraseLine);
  drawn_ = false;
}

void ProgressView::say_line(std::string_view text) {
  if (say_) {
    say_(text);
  } else {
    writer_.write("trainit: " + std::string(text) + "\n");
  }
}

}  // namespace copy
