#pragma once
// The tees' knowledge of the output of all starts together: the lines that were lost before they
// reached their readers, the time of the last byte, and whether stderr is within a line. It is in
// memory that PID 1 maps once. All tees write to it: one after the other, and also a tee that still
// ends beside a new one.

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

struct OutputTotals {
  LostCount out;  // lines lost on trainit's stdout
  LostCount err;
  LostCount files;  // lines that could not be written to log files
  // True if the last byte that a tee wrote to trainit's stderr is not a line end. sys::log then
  // writes one first.
  std::atomic<bool> inside_line{false};
  // Time of the last byte that a process printed, sys::monotonic_ms(); 0: none has come.
  std::atomic<std::int64_t> last_ms{0};

  [[nodiscard]] std::uint64_t lost_lines() const {
    return out.lines() + err.lines() + files.lines();
  }

  // Allocates memory that children forked later share; nullptr if that fails.
  static std::shared_ptr<OutputTotals> make();
};

}  // namespace logtee
