#include "init/engine/monitor/line_watch.h"

#include <sys/mman.h>

#include <cerrno>
#include <new>
#include <optional>
#include <utility>

#include "envgen/formats/perf_line.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"

namespace engine {

base::Result<std::shared_ptr<LineBoard>> LineBoard::make(std::size_t processes) {
  void* memory = ::mmap(nullptr, processes * sizeof(LineSlot), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return base::fail("preparing to watch the ranks' lines", "mmap", sys::errno_text(errno),
                      "raise the memory limit");
  }
  auto* slots = static_cast<LineSlot*>(memory);
  for (std::size_t i = 0; i < processes; ++i) new (slots + i) LineSlot{};
  return std::shared_ptr<LineBoard>(new LineBoard(slots, processes));
}

LineBoard::~LineBoard() { ::munmap(slots_, size_ * sizeof(LineSlot)); }

LineReader::LineReader(std::shared_ptr<LineBoard> board, const envgen::Observation& observe)
    : board_(std::move(board)),
      threshold_ppm_(observe.perf_threshold_ppm),
      count_(static_cast<std::uint32_t>(observe.perf_count)) {
  std::vector<envgen::LinePattern> patterns;
  if (threshold_ppm_ > 0) {
    if (auto pattern = envgen::parse_perf_pattern(observe.perf_pattern)) {
      patterns.push_back(std::move(*pattern));
      perf_patterns_ = 1;
    }
  }
  for (const std::string& text : observe.progress) {
    auto pattern = envgen::parse_progress_pattern(text);
    if (!pattern) continue;
    patterns.push_back(pattern->line);
    progress_.push_back(std::move(*pattern));
  }
  scanners_.assign(2 * board_->size(), envgen::LineScanner(std::move(patterns)));
}

// A copy of a slot's numbers, which the lines of one piece of output change. It is written back to
// the board once per piece, because a store that other processes see costs as much as the search
// for the numbers.
struct LineReader::Told {
  explicit Told(const LineSlot& slot)
      : perf_lines(slot.perf_lines),
        above(slot.above),
        crossings(slot.crossings),
        steps(slot.steps),
        step(slot.step),
        first_step(slot.first_step) {}

  std::uint64_t perf_lines;
  envgen::PerfTimes times;
  std::int64_t ratio_ppm = 0;
  std::uint32_t above;
  std::uint32_t crossings;
  std::uint64_t steps;
  std::int64_t step;
  std::int64_t first_step;
  std::optional<std::int64_t> saved;
};

void LineReader::add(std::size_t process, std::size_t stream, std::string_view bytes) {
  if (process >= board_->size() || stream > 1) return;
  LineSlot& slot = board_->slot(process);
  Told told(slot);
  auto take = [&](std::size_t pattern, const envgen::LineNumbers& numbers) {
    if (pattern < perf_patterns_) return take_times(told, numbers);
    const envgen::ProgressPattern& progress = progress_[pattern - perf_patterns_];
    const std::int64_t step = step_of(progress, numbers);
    if (progress.saved) {
      told.saved = step;
    } else if (told.steps == 0 || told.step != step) {
      if (told.steps == 0) told.first_step = step;
      told.step = step;
      ++told.steps;
    }
  };
  scanners_[2 * process + stream].add(bytes, take);
  tell(slot, told);
}

void LineReader::take_times(Told& told, const envgen::LineNumbers& numbers) const {
  const auto times = envgen::perf_times(numbers);
  if (!times) return;
  told.times = *times;
  told.ratio_ppm = times->ratio_ppm();
  told.above = told.ratio_ppm > threshold_ppm_ ? told.above + 1 : 0;
  if (told.above == count_) ++told.crossings;
  ++told.perf_lines;
}

void LineReader::tell(LineSlot& slot, const Told& told) {
  if (told.perf_lines != slot.perf_lines) {
    slot.hardware = told.times.hardware;
    slot.e2e = told.times.e2e;
    slot.ratio_ppm = told.ratio_ppm;
    slot.above = told.above;
    slot.crossings = told.crossings;
    slot.perf_lines = told.perf_lines;
  }
  if (told.steps != slot.steps) {
    slot.step = told.step;
    slot.first_step = told.first_step;
    slot.step_ms = sys::monotonic_ms();
    slot.steps = told.steps;
  }
  if (told.saved) {
    slot.saved = *told.saved;
    slot.saved_ms = sys::monotonic_ms();
  }
}

void LineReader::forget(std::size_t process, std::size_t stream) {
  if (process < board_->size() && stream <= 1) scanners_[2 * process + stream].forget();
}

}  // namespace engine
