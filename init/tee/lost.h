#pragma once
// The count of output lines that were lost before they reached their readers, and whether stderr is
// within a line. Both are in memory that PID 1 maps once. All tees write to it: one after the
// other, and also a tee that still ends beside a new one.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

namespace logtee {

// A count of lost lines, by their newlines.
class LostCount {
 public:
  void add(std::string_view gone);
  [[nodiscard]] std::uint64_t lines() const { return lines_; }

 private:
  std::atomic<std::uint64_t> lines_{0};
};

struct Lost {
  LostCount out;  // lost on trainit's stdout
  LostCount err;
  LostCount files;  // could not be written to log files
  // true: the last byte that a tee wrote to trainit's stderr does not end a line, so sys::log ends
  // it.
  std::atomic<bool> inside_line{false};

  [[nodiscard]] std::uint64_t lines() const { return out.lines() + err.lines() + files.lines(); }

  // Allocates memory that children forked later share; nullptr if that fails.
  static std::shared_ptr<Lost> make();
};

}  // namespace logtee
