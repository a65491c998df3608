#pragma once
// The CPU time that the processes of this pid namespace have used, as /proc counts it, and the
// trees that they belong to.

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
  std::uint64_t start = 0;   // start time, in clock ticks since boot
  std::int64_t used_ms = 0;  // CPU time of the process and of the children that it has waited for
  // Address of its stack. A fork keeps the address, an exec changes it. 0: the kernel hides it from
  // this process.
  std::uint64_t stack = 0;
};

// Parses the text of /proc/<pid>/stat. Returns nullopt for any other text.
std::optional<Load> parse_load(std::string_view stat);

// Returns all processes, sorted by pid; empty if /proc of this pid namespace is not mounted.
std::vector<Load> all_loads();

// Returns the CPU time of a tree: the process `root`, all processes below it, and all others of its
// session. `loads` must be sorted by pid. The value can decrease: when a process ends that no
// process of the tree waits for, its time is lost.
std::int64_t tree_used_ms(const std::vector<Load>& loads, pid_t root);

// Returns true if a process of that tree runs or waits for a CPU (state R).
bool tree_runnable(const std::vector<Load>& loads, pid_t root);
// Returns the pids of that tree, `root` first.
std::vector<pid_t> tree_of(const std::vector<Load>& loads, pid_t root);
// Returns the members of each tree, in the order of `roots`, in one pass over `loads`. The members
// are those of tree_of(); a root that has exited has none but the rest of its session. A process
// below two roots belongs to the nearer one.
std::vector<std::vector<Load>> trees_of(const std::vector<Load>& loads,
                                        const std::vector<pid_t>& roots);

}  // namespace proc
