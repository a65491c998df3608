#pragma once
// How many lines of the job's output were lost on its way to its readers, and whether stderr stands
// within a line, in memory that PID 1 maps once: all tees write to it, one after the other and
// those that end beside a new one.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

namespace logtee {

// Ends of lines.
class LostCount {
 public:
  void add(std::string_view gone);
  [[nodiscard]] std::uint64_t lines() const { return lines_; }

 private:
  std::atomic<std::uint64_t> lines_{0};
};

struct Lost {
  LostCount out;  // on our stdout
  LostCount err;
  LostCount files;  // that could not be written
  // The last byte that a tee wrote to our stderr does not end a line: sys::log ends it.
  std::atomic<bool> inside_line{false};

  [[nodiscard]] std::uint64_t lines() const { return out.lines() + err.lines() + files.lines(); }

  // Shared with the children that are forked later; nullptr where there is no memory for it.
  static std::shared_ptr<Lost> make();
};

}  // namespace logtee
