#pragma once
// Numbers that ranks print: the times of their iterations (envgen/formats/perf_line.h), the current
// step and the last saved step (progress_line.h). The process that reads a rank's output (the tee
// or the monitor) finds the numbers, and writes them to a board in shared memory. PID 1 and the
// monitor read the board. No process waits for another.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "envgen/formats/line_pattern.h"
#include "envgen/formats/progress_line.h"
#include "envgen/plan/observation.h"

namespace engine {

// The numbers of one process. Only one LineReader at a time writes them.
struct LineSlot {
  std::atomic<std::uint64_t> perf_lines;
  std::atomic<std::int64_t> hardware;  // hardware time in the last line, in millionths
  std::atomic<std::int64_t> e2e;
  std::atomic<std::int64_t> ratio_ppm;
  // Number of lines in succession with a ratio above the threshold.
  std::atomic<std::uint32_t> above;
  std::atomic<std::uint32_t> crossings;  // how often `above` has reached Observation::perf_count

  std::atomic<std::uint64_t> steps;      // how often the printed step changed; 0: no step yet
  std::atomic<std::int64_t> step;        // the last step, which may be smaller than an earlier one
  std::atomic<std::int64_t> first_step;  // the first step of this start
  std::atomic<std::int64_t> step_ms;     // time of the last step, sys::monotonic_ms()
  std::atomic<std::int64_t> saved;       // the last step reported as saved
  std::atomic<std::int64_t> saved_ms;    // time of that report, sys::monotonic_ms(); 0: none

  std::atomic<bool> blind;  // the tee only copies now, so these numbers are not updated
};

class LineBoard {
 public:
  // Creates a board in memory that is shared with children that are forked later.
  static base::Result<std::shared_ptr<LineBoard>> make(std::size_t processes);
  ~LineBoard();
  LineBoard(const LineBoard&) = delete;
  LineBoard& operator=(const LineBoard&) = delete;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] LineSlot& slot(std::size_t process) const { return slots_[process]; }

 private:
  LineBoard(LineSlot* slots, std::size_t size) : slots_(slots), size_(size) {}

  LineSlot* slots_;
  std::size_t size_;
};

// The reader of output, which finds numbers in lines and writes them to the board. The patterns of
// `observe` must be valid.
class LineReader {
 public:
  LineReader(std::shared_ptr<LineBoard> board, const envgen::Observation& observe);

  // Handles a piece of output. `process`: its index in the plan. `stream`: 0 or 1.
  void add(std::size_t process, std::size_t stream, std::string_view bytes);
  // Drops a partial line. Call it if the next piece does not continue the previous one.
  void forget(std::size_t process, std::size_t stream);

 private:
  struct Told;
  void take_times(Told& told, const envgen::LineNumbers& numbers) const;
  static void tell(LineSlot& slot, const Told& told);

  std::shared_ptr<LineBoard> board_;
  std::int64_t threshold_ppm_;
  std::uint32_t count_;
  std::size_t perf_patterns_ = 0;  // 0 or 1; the perf pattern comes before the others
  std::vector<envgen::ProgressPattern> progress_;  // same order as in Observation::progress
  std::vector<envgen::LineScanner> scanners_;      // two per process
};

}  // namespace engine
