#pragma once
// How many processes of a pool work at a time: those whose number is below the limit. The others
// wait, without work in hand, until it is raised. In memory that they share. It is no lock: whoever
// is killed holds nothing.

#include <atomic>
#include <cstdint>

namespace copy {

class Gate {
 public:
  static constexpr std::uint32_t kOpen = UINT32_MAX;

  // For all that is new.
  void reset(std::uint32_t limit = kOpen) { limit_ = limit; }
  [[nodiscard]] std::uint32_t limit() const { return limit_.load(std::memory_order_relaxed); }
  // Waits until `number` may work.
  void pass(std::uint32_t number);
  // From a limit that was set before; nothing where all is open.
  void set(std::uint32_t before, std::uint32_t limit);
  // For all and for good: nothing is left to do.
  void open();

 private:
  void wake();

  std::atomic<std::uint32_t> limit_;
};

}  // namespace copy
