#pragma once
// The performance watch: what the ranks' own lines say about their iterations
// (envgen/formats/perf_line.h). Whoever reads a rank's output counts on a board in shared memory;
// PID 1 and the monitor look at the board, and nobody waits for anybody.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "envgen/formats/perf_line.h"
#include "envgen/plan/observation.h"

namespace engine {

// Of one process, written by one reader at a time.
struct PerfSlot {
  std::atomic<std::uint64_t> lines;
  std::atomic<std::int64_t> hardware;  // of the last line, in millionths
  std::atomic<std::int64_t> e2e;
  std::atomic<std::int64_t> ratio_ppm;
  std::atomic<std::uint32_t> above;      // so many lines in succession are above the threshold
  std::atomic<std::uint32_t> crossings;  // so often these became Observation::perf_count
};

class PerfBoard {
 public:
  // Shared with the children that are forked later.
  static envgen::Result<std::shared_ptr<PerfBoard>> make(std::size_t processes);
  ~PerfBoard();
  PerfBoard(const PerfBoard&) = delete;
  PerfBoard& operator=(const PerfBoard&) = delete;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] PerfSlot& slot(std::size_t process) const { return slots_[process]; }

 private:
  PerfBoard(PerfSlot* slots, std::size_t size) : slots_(slots), size_(size) {}

  PerfSlot* slots_;
  std::size_t size_;
};

// Counts what it is given on the board. `observe` has a threshold and a sound pattern.
class PerfReader {
 public:
  PerfReader(std::shared_ptr<PerfBoard> board, const envgen::Observation& observe);

  // A piece of the output of the plan's process with this index.
  void add(std::size_t process, std::string_view bytes);
  // What comes next of it does not continue what came.
  void forget(std::size_t process);

 private:
  std::shared_ptr<PerfBoard> board_;
  std::int64_t threshold_ppm_;
  std::uint32_t count_;
  std::vector<envgen::PerfScanner> scanners_;
};

}  // namespace engine
