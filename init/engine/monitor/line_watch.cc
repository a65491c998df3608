#include "init/engine/monitor/line_watch.h"

#include <sys/mman.h>

#include <cerrno>
#include <new>
#include <utility>

#include "envgen/formats/perf_line.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"

namespace engine {

envgen::Result<std::shared_ptr<LineBoard>> LineBoard::make(std::size_t processes) {
  void* memory = ::mmap(nullptr, processes * sizeof(LineSlot), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return envgen::fail("preparing to watch the ranks' lines", "mmap", sys::errno_text(errno),
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

void LineReader::add(std::size_t process, std::size_t stream, std::string_view bytes) {
  if (process >= board_->size() || stream > 1) return;
  LineSlot& slot = board_->slot(process);
  auto take = [&](std::size_t pattern, const envgen::LineNumbers& numbers) {
    if (pattern < perf_patterns_) return take_times(slot, numbers);
    const envgen::ProgressPattern& progress = progress_[pattern - perf_patterns_];
    const std::int64_t step = step_of(progress, numbers);
    if (progress.saved) {
      slot.saved = step;
      slot.saved_ms = sys::monotonic_ms();
    } else if (slot.steps == 0 || slot.step != step) {
      slot.step = step;
      ++slot.steps;
    }
  };
  scanners_[2 * process + stream].add(bytes, take);
}

void LineReader::take_times(LineSlot& slot, const envgen::LineNumbers& numbers) const {
  const auto times = envgen::perf_times(numbers);
  if (!times) return;
  const std::int64_t ratio_ppm = times->ratio_ppm();
  slot.hardware = times->hardware;
  slot.e2e = times->e2e;
  slot.ratio_ppm = ratio_ppm;
  slot.above = ratio_ppm > threshold_ppm_ ? slot.above + 1 : 0;
  if (slot.above == count_) ++slot.crossings;
  ++slot.perf_lines;
}

void LineReader::forget(std::size_t process, std::size_t stream) {
  if (process < board_->size() && stream <= 1) scanners_[2 * process + stream].forget();
}

}  // namespace engine
