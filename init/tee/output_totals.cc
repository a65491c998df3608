#include "init/tee/output_totals.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace logtee {

void LostCount::add(std::string_view gone) {
  lines_ += static_cast<std::uint64_t>(std::ranges::count(gone, '\n'));
}

std::shared_ptr<OutputTotals> OutputTotals::make() {
  void* memory = ::mmap(nullptr, sizeof(OutputTotals), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  return {new (memory) OutputTotals,
          [](OutputTotals* totals) { ::munmap(totals, sizeof(OutputTotals)); }};
}

}  // namespace logtee
