#pragma once
// The memory that a tree of processes uses, from /proc/<pid>/statm. A sum of resident sizes would
// count a page once for each process that maps it: Python's data loaders share most pages with the
// process that forked them. The exact number (Pss) is not used, because the kernel walks all pages
// for it and holds the lock of the process's memory meanwhile.
//
// The number is the resident size for a single process, as `top` shows it. Of several processes, it
// counts:
//
// - anonymous memory of each program. After a fork, only the growth of the child counts: what it
//   had when it was first seen, or what its oldest relative has now if that is less, is shared.
// - mapped files and shared memory of the process that has most of them.
//
// A page of the fork that a child writes to later is a page more, and is not counted.

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "init/proc/load.h"

namespace proc {

struct MemoryUse {
  pid_t pid = 0;
  std::uint64_t start = 0;  // Load::start
  std::uint64_t stack = 0;  // Load::stack: processes with the same one are forks of each other
  std::int64_t own_bytes = 0;
  std::int64_t mapped_bytes = 0;  // files and shared memory
};

struct PageCounts {
  std::int64_t resident = 0;
  std::int64_t mapped = 0;  // the part of `resident` that is a file's, or shared memory
};
// Parses the text of /proc/<pid>/statm. Returns nullopt for any other text.
std::optional<PageCounts> parse_statm(std::string_view text);

// Returns the memory of each process of a tree. Leaves out processes that have exited, or that this
// process may not see.
std::vector<MemoryUse> memory_of(const std::vector<Load>& tree);

// The memory of one tree, seen again and again.
class TreeMemory {
 public:
  // Returns the memory of the tree in bytes, -1 without a process.
  std::int64_t look(const std::vector<MemoryUse>& tree);

 private:
  struct Known {
    std::uint64_t start = 0;
    std::uint64_t stack = 0;
    std::int64_t shared_bytes = 0;  // anonymous memory from its fork
  };
  std::map<pid_t, Known> known_;
};

}  // namespace proc
