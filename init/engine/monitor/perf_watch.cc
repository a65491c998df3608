#include "init/engine/monitor/perf_watch.h"

#include <sys/mman.h>

#include <cerrno>
#include <new>

#include "init/sys/files.h"

namespace engine {

envgen::Result<std::shared_ptr<PerfBoard>> PerfBoard::make(std::size_t processes) {
  void* memory = ::mmap(nullptr, processes * sizeof(PerfSlot), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return envgen::fail("preparing the performance watch", "mmap", sys::errno_text(errno),
                        "raise the memory limit");
  }
  auto* slots = static_cast<PerfSlot*>(memory);
  for (std::size_t i = 0; i < processes; ++i) new (slots + i) PerfSlot{};
  return std::shared_ptr<PerfBoard>(new PerfBoard(slots, processes));
}

PerfBoard::~PerfBoard() { ::munmap(slots_, size_ * sizeof(PerfSlot)); }

PerfReader::PerfReader(std::shared_ptr<PerfBoard> board, const envgen::Observation& observe)
    : board_(std::move(board)),
      threshold_ppm_(observe.perf_threshold_ppm),
      count_(static_cast<std::uint32_t>(observe.perf_count)) {
  if (auto pattern = envgen::parse_perf_pattern(observe.perf_pattern)) {
    scanners_.assign(board_->size(), envgen::PerfScanner(*pattern));
  }
}

void PerfReader::add(std::size_t process, std::string_view bytes) {
  if (process >= scanners_.size()) return;
  PerfSlot& slot = board_->slot(process);
  scanners_[process].add(bytes, [&](const envgen::PerfTimes& times) {
    const std::int64_t ratio_ppm = times.ratio_ppm();
    slot.hardware = times.hardware;
    slot.e2e = times.e2e;
    slot.ratio_ppm = ratio_ppm;
    slot.above = ratio_ppm > threshold_ppm_ ? slot.above + 1 : 0;
    if (slot.above == count_) ++slot.crossings;
    ++slot.lines;
  });
}

void PerfReader::forget(std::size_t process) {
  if (process < scanners_.size()) scanners_[process].forget();
}

}  // namespace engine
