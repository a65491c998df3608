#pragma once
// What the ranks' own lines tell: the times of their iterations (envgen/formats/perf_line.h), the
// step they are at and the one they have saved (progress_line.h). Whoever reads a rank's output
// writes it on a board in shared memory; PID 1 and the monitor look at the board, and nobody waits
// for anybody.

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

// Of one process, written by one reader at a time.
struct LineSlot {
  std::atomic<std::uint64_t> perf_lines;
  std::atomic<std::int64_t> hardware;  // of the last line, in millionths
  std::atomic<std::int64_t> e2e;
  std::atomic<std::int64_t> ratio_ppm;
  std::atomic<std::uint32_t> above;      // so many lines in succession are above the threshold
  std::atomic<std::uint32_t> crossings;  // so often these became Observation::perf_count

  std::atomic<std::uint64_t> steps;    // so often it told another step than before; 0: none yet
  std::atomic<std::int64_t> step;      // the last one, which may be smaller than one before
  std::atomic<std::int64_t> saved;     // the last one that it told to be saved
  std::atomic<std::int64_t> saved_ms;  // when, sys::monotonic_ms(); 0: it never did

  std::atomic<bool> blind;  // the tee that would write here only copies
};

class LineBoard {
 public:
  // Shared with the children that are forked later.
  static envgen::Result<std::shared_ptr<LineBoard>> make(std::size_t processes);
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

// Writes what it finds on the board. The patterns of `observe` are sound.
class LineReader {
 public:
  LineReader(std::shared_ptr<LineBoard> board, const envgen::Observation& observe);

  // A piece of one of the streams, 0 or 1, of the plan's process with this index.
  void add(std::size_t process, std::size_t stream, std::string_view bytes);
  // What comes next of it does not continue what came.
  void forget(std::size_t process, std::size_t stream);

 private:
  struct Told;
  void take_times(Told& told, const envgen::LineNumbers& numbers) const;
  static void tell(LineSlot& slot, const Told& told);

  std::shared_ptr<LineBoard> board_;
  std::int64_t threshold_ppm_;
  std::uint32_t count_;
  std::size_t perf_patterns_ = 0;                  // in front of the others, 0 or 1
  std::vector<envgen::ProgressPattern> progress_;  // in their order
  std::vector<envgen::LineScanner> scanners_;      // two a process
};

}  // namespace engine
