#include "init/sys/memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "init/sys/cgroup.h"
#include "init/sys/path_state.h"

namespace sys {
namespace {

// Releases the pages of an address range. The kernel and the linker give addresses as numbers.
void release(std::uintptr_t first, std::uintptr_t size) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  ::madvise(reinterpret_cast<void*>(first), size, MADV_DONTNEED);
}

// Releases stack that deeper calls have used before. No other mapping can be there, because the
// kernel keeps a megabyte below the stack free. Pages that are not mapped are ignored.
[[gnu::noinline]] void release_stack(std::uintptr_t page) {
  constexpr std::uintptr_t kDeepest = 1U << 18U;
  constexpr std::uintptr_t kOwn = 1024;  // bytes for the frames of this function and the calls in
                                         // it
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const std::uintptr_t end = (here - kOwn) / page * page;
  release(end - kDeepest, kDeepest);
}

// Returns the number after `name` in lines of "name number" or "name: number kB".
std::optional<std::uint64_t> number_of(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = base::take_line(text);
    if (base::take_word(line) == name) {
      return base::parse_number<std::uint64_t>(base::take_word(line));
    }
  }
  return std::nullopt;
}

struct GroupFiles {
  std::string_view limit;
  std::string_view used;
  std::string_view inactive;  // key of inactive file caches in memory.stat
};
constexpr GroupFiles kV1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr GroupFiles kV2{"memory.max", "memory.current", "inactive_file"};

// Returns the memory of one cgroup, or nullopt if it does not report its memory. Version 1
// expresses "no limit" by a limit above all memory.
std::optional<ContainerMemory> memory_in(const std::string& directory, const GroupFiles& files) {
  const auto number_in = [&directory](std::string_view file) {
    const std::string text = kernel_text(directory + "/" + std::string(file));
    std::string_view rest = text;
    return base::parse_number<std::uint64_t>(base::take_word(rest));
  };
  const auto used = number_in(files.used);
  if (!used) return std::nullopt;
  const std::string stat = kernel_text(directory + "/memory.stat");
  const std::uint64_t cached = number_of(stat, files.inactive).value_or(0);
  return ContainerMemory{*used - std::min(cached, *used), number_in(files.limit)};
}

// Returns the limit and the free memory of one cgroup, or nullopt without a limit.
std::optional<MemoryRoom> room_in(const std::string& directory, const GroupFiles& files) {
  const auto own = memory_in(directory, files);
  if (!own || !own->limit_bytes) return std::nullopt;
  return MemoryRoom{*own->limit_bytes,
                    *own->limit_bytes - std::min(own->used_bytes, *own->limit_bytes)};
}

// Returns the directories of this process's cgroup and its ancestors up to the mount, because each
// of them may have a limit.
std::vector<std::string> directories_of(std::string_view groups, const GroupFiles& files, bool v1) {
  std::vector<std::string> directories;
  constexpr std::size_t kMountParts = 3;  // "/sys/fs/cgroup"
  for (const std::string& file :
       cgroup_files(groups, "memory", v1 ? files.limit : "", v1 ? "" : files.limit)) {
    std::string directory = file.substr(0, file.rfind('/'));
    while (std::ranges::count(directory, '/') >= static_cast<int>(kMountParts)) {
      directories.push_back(directory);
      directory.erase(directory.rfind('/'));
    }
  }
  return directories;
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
  for (const bool v1 : {true, false}) {
    const GroupFiles& files = v1 ? kV1 : kV2;
    for (const std::string& directory : directories_of(groups, files, v1)) {
      const auto own = room_in(root + directory, files);
      // cgroup v1 shows "no limit" as a limit that is larger than all memory.
      if (!own ||
          (room && own->all_bytes >= room->all_bytes && own->free_bytes >= room->free_bytes)) {
        continue;
      }
      room = room ? MemoryRoom{std::min(room->all_bytes, own->all_bytes),
                               std::min(room->free_bytes, own->free_bytes)}
                  : *own;
    }
  }
  return room;
}

std::optional<ContainerMemory> container_memory(const std::string& root) {
  constexpr std::uint64_t kKilo = 1024;
  const std::string meminfo = kernel_text(root + "/proc/meminfo");
  const std::uint64_t machine_bytes =
      number_of(meminfo, "MemTotal:").value_or(UINT64_MAX / kKilo) * kKilo;
  const std::string groups = kernel_text(root + "/proc/self/cgroup");
  std::optional<ContainerMemory> nearest;
  for (const bool v1 : {true, false}) {
    const GroupFiles& files = v1 ? kV1 : kV2;
    for (const std::string& directory : directories_of(groups, files, v1)) {
      auto own = memory_in(root + directory, files);
      if (!own) continue;
      if (own->limit_bytes && *own->limit_bytes >= machine_bytes) own->limit_bytes.reset();
      const bool tighter = nearest && own->limit_bytes &&
                           *own->limit_bytes < nearest->limit_bytes.value_or(UINT64_MAX);
      if (!nearest || tighter) nearest = own;
    }
  }
  return nearest;
}

void release_start_memory() {
  ::malloc_trim(0);
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  release_stack(page);
}

}  // namespace sys
