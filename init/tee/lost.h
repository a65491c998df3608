#pragma once
// Counts of output lines that were lost before they reached their readers, and whether stderr is
// within a line. They are in memory that PID 1 maps once. All tees write to it: each new one, and
// also an old one that is still ending.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

namespace logtee {

// A count of lost lines; each newline counts as one.
class LostCount {
 public:
  void add(std::string_view gone);
  [[nodiscard]] std::uint64_t lines() const { return lines_; }

 private:
  std::atomic<std::uint64_t> lines_{0};
};

struct Lost {
  LostCount out;  // lines lost on trainit's stdout
  LostCount err;
  LostCount files;  // lines that could not be written to log files
  // True if the last byte that a tee wrote to trainit's stderr is not a line end. sys::log then
  // writes one first.
  std::atomic<bool> inside_line{false};

  [[nodiscard]] std::uint64_t lines() const { return out.lines() + err.lines() + files.lines(); }

  // Allocates memory that children forked later share; nullptr if that fails.
  static std::shared_ptr<Lost> make();
};

}  // namespace logtee
