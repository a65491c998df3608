#include "init/sys/memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace sys {
namespace {

// Addresses that the linker and the kernel give as numbers.
void release(std::uintptr_t first, std::uintptr_t size) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  ::madvise(reinterpret_cast<void*>(first), size, MADV_DONTNEED);
}

// What deeper calls once used. The kernel keeps a gap of a megabyte below the stack free, so that
// nothing else can lie there; what is not mapped is passed over.
[[gnu::noinline]] void release_stack(std::uintptr_t page) {
  constexpr std::uintptr_t kDeepest = 1U << 18U;
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const std::uintptr_t end = here / page * page - page;  // one more for this call and its own
  release(end - kDeepest, kDeepest);
}

}  // namespace

void release_start_memory() {
  ::malloc_trim(0);
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  release_stack(page);
}

}  // namespace sys
