#include "init/copy/stall.h"

#include "init/copy/copy_progress.h"

namespace copy {

Stall StallWatch::look(std::int64_t now_ms, std::uint64_t progress, CopySide waits_for) {
  if (looked_ && now_ms - looked_ms_ > kOwnPauseMs) moved_ms_ += now_ms - looked_ms_;
  const bool moved = !looked_ || progress != progress_ || waits_for == CopySide::kNone;
  if (moved) moved_ms_ = now_ms;
  looked_ = true;
  looked_ms_ = now_ms;
  progress_ = progress;
  if (now_ms - moved_ms_ < kStallMs) return {};
  return {.side = waits_for, .for_ms = now_ms - moved_ms_};
}

std::string stall_text(const Stall& stall, const CopyPlaces& places) {
  const std::string from = "nothing from " + places.source;
  std::string text;
  if (stall.side == CopySide::kSource) text = from;
  if (stall.side == CopySide::kCopy) text = "nothing written to " + places.copy;
  if (stall.side == CopySide::kBoth) text = from + ", nothing written to " + places.copy + ",";
  return text.empty() ? "" : text + " for " + time_text(stall.for_ms);
}

std::string StallLines::next(const Stall& now, const CopyPlaces& places) {
  const Stall last = last_;
  last_ = now;
  const bool stalls = now.side != CopySide::kNone;
  const bool stalled = last.side != CopySide::kNone;
  // If only the side of a stall changes, it is still the same stall.
  if (stalls == stalled) return "";
  if (stalls) {
    return stall_text(now, places) +
           ": the copy waits, and goes on when there is an answer; check the storage and the "
           "network to it";
  }
  const std::string who = last.side == CopySide::kSource ? places.source
                          : last.side == CopySide::kCopy
                              ? places.copy
                              : "one of " + places.source + " and " + places.copy;
  return who + " answers again after " + time_text(last.for_ms);
}

}  // namespace copy
