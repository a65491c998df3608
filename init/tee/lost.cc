#include "init/tee/lost.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace logtee {

void LostCount::add(std::string_view gone) {
  lines_ += static_cast<std::uint64_t>(std::ranges::count(gone, '\n'));
}

std::shared_ptr<Lost> Lost::make() {
  void* memory =
      ::mmap(nullptr, sizeof(Lost), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  return {new (memory) Lost, [](Lost* lost) { ::munmap(lost, sizeof(Lost)); }};
}

}  // namespace logtee
