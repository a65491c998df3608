#pragma once
// The progress of a copy as text: a bar for a terminal, a line for a log. Pure: the numbers come
// from init/copy/progress.h, the times from the caller.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace copy {

struct CopyProgress {
  std::string_view phase;     // name of the phase: "copying"
  bool waiting = false;       // the numbers are those of another job's copy
  std::uint64_t entries = 0;  // finished files, directories and links
  std::uint64_t bytes = 0;
  std::uint64_t total_entries = 0;  // 0 = not known yet
  std::uint64_t total_bytes = 0;
  std::string stalled = "";  // text of stall_text(); "" = no stall
};

struct Rate {
  std::uint64_t bytes = 0;  // bytes per second
  std::uint64_t entries = 0;
};

// The rate of a copy over the last ten seconds, so that one slow file has little effect. During a
// stall there is no rate. After a stall, the time before it does not count, because it says nothing
// about the time left.
class RateWindow {
 public:
  void add(std::int64_t now_ms, std::uint64_t bytes, std::uint64_t entries);
  [[nodiscard]] Rate rate() const;

 private:
  struct Sample {
    std::int64_t at_ms = 0;
    std::uint64_t bytes = 0;
    std::uint64_t entries = 0;
  };
  static constexpr std::size_t kSamples = 40;
  std::array<Sample, kSamples> ring_;
  std::size_t next_ = 0;
  std::size_t count_ = 0;
  std::int64_t moved_ms_ = 0;  // time of the last sample with more bytes or entries than the one
                               // before
};

// Returns the remaining time at this rate, by bytes or by entries, whichever is longer; -1:
// unknown.
std::int64_t time_left_ms(const CopyProgress& progress, const Rate& rate);
// Returns 0 to 100, by bytes. If there are no bytes, or all bytes are only checked, counts entries
// instead. 100 means that everything is finished.
int percent_done(const CopyProgress& progress);

// Returns one line of less than `columns` characters, without a line end:
// copying  45% [====>     ] 22500 of 50000 entries, 180.0 MiB of 400.0 MiB, 31.2 MiB/s, 8s left".
// During a stall, the text about the stall replaces the time left. If the line is too narrow, parts
// are left out in this order: the entries, the bytes, the bar, the rate. While the total is
// unknown, the text is "scanning: 22500 entries so far, 180.0 MiB".
std::string progress_bar(const CopyProgress& progress, const Rate& rate, int columns);
// Returns the same as a line for a log: "copying: 45%, 22500 of 50000 entries, 180.0 MiB of 400.0
// MiB, 31.2 MiB/s, 8s left".
std::string progress_line(const CopyProgress& progress, const Rate& rate);

std::string time_text(
    std::int64_t milliseconds);  // "450ms", "1.4s", "12s", "3m05s", "2h10m", "3d04h"

}  // namespace copy
