#include "init/sys/memory.h"

#include <elf.h>
#include <malloc.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <span>

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
  const std::uintptr_t table = ::getauxval(AT_PHDR);
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  const std::span segments(reinterpret_cast<const Elf64_Phdr*>(table), ::getauxval(AT_PHNUM));
  std::uintptr_t base = 0;  // of a program that may lie anywhere
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_PHDR) base = table - segment.p_vaddr;
  }
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t start = segment.p_vaddr + base;
    const std::uintptr_t first = start / page * page;
    release(first, start + segment.p_memsz - first);
  }
  release_stack(page);
}

}  // namespace sys
