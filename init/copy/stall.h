#pragma once
// Stalls of a copy: nothing has come from its source, or nothing could be written, for a while.
// Pure: the observations come from init/copy/tree/pass.h, the times from the caller.

#include <cstdint>
#include <string>

namespace copy {

// The file systems that a process of a copy waits for, as bits.
enum class CopySide : std::uint32_t { kNone = 0, kSource = 1, kCopy = 2, kBoth = 3 };

struct Stall {
  CopySide side = CopySide::kNone;  // kNone: there is no stall
  std::int64_t for_ms = 0;          // since the last progress

  bool operator==(const Stall&) const = default;
};

// Decides by looks at a copy whether it stalls.
class StallWatch {
 public:
  static constexpr std::int64_t kStallMs = 10'000;
  // A longer pause between two looks is one of the process that looks, and of the copy with it.
  static constexpr std::int64_t kOwnPauseMs = 3'000;

  // `progress`: any number that is another one after each step of the copy. `waits_for`: the sides
  // that its processes wait for now.
  Stall look(std::int64_t now_ms, std::uint64_t progress, CopySide waits_for);

 private:
  bool looked_ = false;
  std::int64_t looked_ms_ = 0;
  std::int64_t moved_ms_ = 0;
  std::uint64_t progress_ = 0;
};

// How messages name the two sides.
struct CopyPlaces {
  std::string source;
  std::string copy;
};

// "nothing from /mnt/x for 40s"; "" without a stall.
std::string stall_text(const Stall& stall, const CopyPlaces& places);

// The lines that a log gets of stalls: one when a stall begins, one when it is over.
class StallLines {
 public:
  // The line that is due; "" = none.
  std::string next(const Stall& now, const CopyPlaces& places);

 private:
  Stall last_;
};

}  // namespace copy
