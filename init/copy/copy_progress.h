#pragma once
// Progress of a copy as text: a bar for a terminal, a line for a log. Pure: the numbers come from
// init/copy/progress.h, the times from whoever shows them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace copy {

struct CopyProgress {
  std::string_view phase;     // "copying"
  bool waiting = false;       // the numbers are those of another job's copy
  std::uint64_t entries = 0;  // finished files, directories and links
  std::uint64_t bytes = 0;
  std::uint64_t total_entries = 0;  // 0 = not known yet
  std::uint64_t total_bytes = 0;
  std::string stalled = "";  // stall_text()
};

struct Rate {
  std::uint64_t bytes = 0;  // a second
  std::uint64_t entries = 0;
};

// The rate of the last ten seconds, so that one slow file does not count. There is none in a stall,
// and after one only what came since counts: what was before says nothing of the time left.
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
  std::int64_t moved_ms_ = 0;  // the last sample that had more than the one before
};

// Returns the remaining time at this rate, by bytes or by entries, whichever is longer; -1:
// unknown.
std::int64_t time_left_ms(const CopyProgress& progress, const Rate& rate);
// Returns 0 to 100, by bytes; by entries if there are no bytes, or if all bytes are only checked.
// 100 means that all is finished.
int percent_done(const CopyProgress& progress);

// Returns one line of less than `columns` characters, without an end of line:
// "copying  45% [====>     ] 22500 of 50000 entries, 180.0 MiB of 400.0 MiB, 31.2 MiB/s, 8s left".
// During a stall, its text replaces the time left. A narrow line omits parts, in this order:
// the entries, the bytes, the bar, the rate. While the total is unknown: "scanning: 22500 entries
// so far, 180.0 MiB".
std::string progress_bar(const CopyProgress& progress, const Rate& rate, int columns);
// Returns "copying: 45%, 22500 of 50000 entries, 180.0 MiB of 400.0 MiB, 31.2 MiB/s, 8s left"
std::string progress_line(const CopyProgress& progress, const Rate& rate);

std::string size_text(std::uint64_t bytes);  // "999 B", "1.5 KiB", "4.0 GiB"
std::string time_text(
    std::int64_t milliseconds);  // "450ms", "1.4s", "12s", "3m05s", "2h10m", "3d04h"

}  // namespace copy
