#pragma once
// The memory that only the start of a process needed, and how much the container has left.

#include <cstdint>
#include <optional>
#include <string>

namespace sys {

// Gives back what the start has touched and waiting does not need: free heap, and stack below the
// caller. Not the mapped pages of our own program file: they are the page cache's, and the end of
// the job would wait for them. For a process that lives for weeks; it costs two calls.
void release_start_memory();

struct MemoryRoom {
  std::uint64_t all_bytes = 0;   // the smallest limit of our cgroups, else the machine's memory
  std::uint64_t free_bytes = 0;  // of it, the kernel's caches of files that nobody reads among it
};
// nullopt where nothing tells. `root` is put before each path: for tests that bring their own tree.
std::optional<MemoryRoom> memory_room(const std::string& root = "");

}  // namespace sys
