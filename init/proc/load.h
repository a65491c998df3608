#pragma once
// The CPU time that the processes of this pid namespace have used, as /proc counts it.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace proc {

struct Load {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t session = 0;
  char state = '?';
  std::uint64_t start = 0;   // in clock ticks since boot
  std::int64_t used_ms = 0;  // by itself, and by those of its children that it has waited for
};

// The text of /proc/<pid>/stat. nullopt: not such a text.
std::optional<Load> parse_load(std::string_view stat);

// By pid; empty where there is no /proc of our pid namespace.
std::vector<Load> all_loads();

// Of the process `root`, all below it, and what else is of its session; `loads` by pid. A process
// that ends takes time away that nobody has waited for: the sum is not monotonic.
std::int64_t tree_used_ms(const std::vector<Load>& loads, pid_t root);

// Whether a process of that tree runs or waits for a CPU (state R).
bool tree_runnable(const std::vector<Load>& loads, pid_t root);
// The pids of that tree, `root` first.
std::vector<pid_t> tree_of(const std::vector<Load>& loads, pid_t root);

}  // namespace proc
