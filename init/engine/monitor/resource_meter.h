#pragma once
// Measures the memory and the CPU time of the ranks, and the memory of the container. The monitor's
// worker calls it: a look reads a few files of /proc for each process of the job, which PID 1 must
// not wait for. Ranks have no cgroup of their own, so their memory is that of their processes
// (proc/memory_use.h).

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "envgen/plan/sandbox.h"
#include "init/engine/monitor/monitor_messages.h"
#include "init/proc/memory_use.h"

namespace engine {

class ResourceMeter {
 public:
  struct Rank {
    std::uint32_t process = 0;  // index in the plan
    pid_t pid = 0;
    std::uint64_t start = 0;  // start time: tells a later process with this pid apart
  };
  // `job`: the job's user; nullopt if it is trainit's own. Only this user may see which processes
  // are forks of each other.
  ResourceMeter(std::vector<Rank> ranks, std::optional<envgen::Identity> job);

  // Takes the ids of the job's user meanwhile, so the process must have a single thread. Ranks that
  // have exited are left out. Measures at most kMaxMeasuredRanks ranks.
  ResourceSample measure();

 private:
  std::vector<Rank> ranks_;
  std::vector<proc::TreeMemory> trees_;  // same order as ranks_
  std::optional<envgen::Identity> job_;
};

}  // namespace engine
