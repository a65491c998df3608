#pragma once
// The memory of a process and of its container: releases memory that only the start needed, and
// reports how much is free.

#include <cstdint>
#include <optional>
#include <string>

namespace sys {

// Releases memory that was used at the start and is not needed while waiting: free heap, and stack
// below the caller. Keeps the mapped pages of the program file: they belong to the page cache, and
// the end of the job would wait until they are read again. Costs two system calls; for a process
// that lives for weeks.
void release_start_memory();

struct MemoryRoom {
  std::uint64_t all_bytes = 0;   // smallest limit of the cgroups, or the machine's memory
  std::uint64_t free_bytes = 0;  // free memory, including caches of files that are not in use
};
// Returns the memory limit and the free memory; nullopt if the kernel reports neither. `root` is
// put before each path, for tests.
std::optional<MemoryRoom> memory_room(const std::string& root = "");

struct ContainerMemory {
  std::uint64_t used_bytes = 0;  // as kubelet's working set: inactive file caches are not counted
  std::optional<std::uint64_t> limit_bytes;  // nullopt: no limit below the machine's memory
};
// Returns the memory of this process's cgroup. If it or an ancestor has a limit, returns the memory
// of the cgroup with the smallest one. Returns nullopt if no cgroup reports its memory, as on a
// machine without a container.
std::optional<ContainerMemory> container_memory(const std::string& root = "");

}  // namespace sys
