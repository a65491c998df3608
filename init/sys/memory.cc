#include "init/sys/memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "init/sys/cgroup.h"
#include "init/sys/path_state.h"

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

// The number behind `name` in lines of "name number" or "name: number kB".
std::optional<std::uint64_t> number_of(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = envgen::take_line(text);
    if (envgen::take_word(line) == name) {
      return envgen::parse_number<std::uint64_t>(envgen::take_word(line));
    }
  }
  return std::nullopt;
}

// Of the first of these files that has one.
std::optional<std::uint64_t> first_number(const std::string& root, std::string_view groups,
                                          std::string_view v1, std::string_view v2) {
  for (const std::string& file : cgroup_files(groups, "memory", v1, v2)) {
    const std::string text = kernel_text(root + file);
    std::string_view rest = text;
    if (const auto value = envgen::parse_number<std::uint64_t>(envgen::take_word(rest))) {
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<MemoryRoom> memory_room(const std::string& root) {
  constexpr std::uint64_t kKilo = 1024;
  const std::string meminfo = kernel_text(root + "/proc/meminfo");
  const auto total_kb = number_of(meminfo, "MemTotal:");
  const auto available_kb = number_of(meminfo, "MemAvailable:");
  std::optional<MemoryRoom> room;
  if (total_kb && available_kb) room = MemoryRoom{*total_kb * kKilo, *available_kb * kKilo};
  const std::string groups = kernel_text(root + "/proc/self/cgroup");
  const auto limit = first_number(root, groups, "memory.limit_in_bytes", "memory.max");
  const auto used = first_number(root, groups, "memory.usage_in_bytes", "memory.current");
  if (!limit || !used || (room && *limit >= room->all_bytes)) return room;
  std::uint64_t cached = 0;
  for (const std::string& file : cgroup_files(groups, "memory", "memory.stat", "memory.stat")) {
    const std::string text = kernel_text(root + file);
    const auto all_below = number_of(text, "total_inactive_file");
    const auto inactive = all_below ? all_below : number_of(text, "inactive_file");
    if (!inactive) continue;
    cached = *inactive;
    break;
  }
  const std::uint64_t held = *used - std::min(cached, *used);
  MemoryRoom own{*limit, *limit - std::min(held, *limit)};
  if (room) own.free_bytes = std::min(own.free_bytes, room->free_bytes);
  return own;
}

void release_start_memory() {
  ::malloc_trim(0);
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  release_stack(page);
}

}  // namespace sys
