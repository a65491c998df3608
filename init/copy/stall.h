#pragma once
// Detects that a copy stalls: for a while, nothing has come from its source, or nothing could be
// written. Pure: the observations come from init/copy/tree/pass.h, the times from the caller.

#include <cstdint>
#include <string>

namespace copy {

// The file systems that the processes of a copy wait for, as bits.
enum class CopySide : std::uint32_t { kNone = 0, kSource = 1, kCopy = 2, kBoth = 3 };

struct Stall {
  CopySide side = CopySide::kNone;  // the file systems that are waited for; kNone: no stall
  std::int64_t for_ms = 0;          // time since the last progress

  bool operator==(const Stall&) const = default;
};

// Decides from regular observations of a copy whether it stalls.
class StallWatch {
 public:
  static constexpr std::int64_t kStallMs = 10'000;
  // If two observations are further apart, the observing process itself was paused, and the copy
  // with it. That time does not count.
  static constexpr std::int64_t kOwnPauseMs = 3'000;

  // Records an observation and returns the stall, if there is one. `progress` is a number that
  // changes with each step of the copy. `waits_for` is the side that its processes wait for now.
  Stall look(std::int64_t now_ms, std::uint64_t progress, CopySide waits_for);

 private:
  bool looked_ = false;
  std::int64_t looked_ms_ = 0;
  std::int64_t moved_ms_ = 0;
  std::uint64_t progress_ = 0;
};

// The names of the two sides in messages.
struct CopyPlaces {
  std::string source;
  std::string copy;
};

// Returns "nothing from /mnt/x for 40s", or "" if there is no stall.
std::string stall_text(const Stall& stall, const CopyPlaces& places);

// Makes the log lines about stalls: one when a stall begins, one when it ends.
class StallLines {
 public:
  // Returns the line that is due now; "" = none.
  std::string next(const Stall& now, const CopyPlaces& places);

 private:
  Stall last_;
};

}  // namespace copy
