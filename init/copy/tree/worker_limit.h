#pragma once
// Limits how many processes of a pool work. The limit is in shared memory. Processes whose number
// is below the limit work, the others wait until it is raised. Unlike with a lock, a killed process
// blocks no other one.

#include <atomic>
#include <cstdint>

namespace copy {

class WorkerLimit {
 public:
  static constexpr std::uint32_t kOpen = UINT32_MAX;

  // Initializes the limit.
  void reset(std::uint32_t limit = kOpen) { limit_ = limit; }
  [[nodiscard]] std::uint32_t limit() const { return limit_.load(std::memory_order_relaxed); }
  // Blocks until the process `number` may work.
  void wait_turn(std::uint32_t number);
  // Replaces the limit `before`. Does nothing after open().
  void set(std::uint32_t before, std::uint32_t limit);
  // Lets all processes continue, for good, because no work is left.
  void open();

 private:
  void wake();

  std::atomic<std::uint32_t> limit_;
};

}  // namespace copy
