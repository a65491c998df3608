#pragma once
// Takes the stacks of a job's processes: Python's by kStackSignal, which a process gets only where
// it catches it and holds the file open that its hook has registered for it (envgen/failure/
// python_hook.h); of all threads what /proc shows. No ptrace, no program. May take seconds: for a
// forked worker with a single thread.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "envgen/failure/stack_groups.h"
#include "envgen/plan/sandbox.h"
#include "init/engine/report/flight_recorder.h"

namespace engine {

// A main process of the job.
struct StackTarget {
  std::uint32_t process = 0;  // its place in the plan
  pid_t pid = 0;              // 0: it has ended
  std::string name;
  int rank = -1;
  std::string ended;  // how; "" = it lives
};

struct StackOrder {
  std::vector<StackTarget> targets;
  std::string directory;                // Observation::stacks; "" = no process has the hook
  std::optional<envgen::Identity> job;  // its user, where it is another
  bool whole = false;                   // there are no ranks on other nodes
  std::int64_t most_ms = 8000;
  // For what others say of the ranks (hang_diagnostics.h).
  int world_size = 0;    // 0: not known
  std::string nccl_ras;  // as Observation has these
  std::vector<std::string> trace_pipes;
  DumpOrder dumps;
  std::string recorder;  // hang_dumps.h: recorder_file, for node 0; "" = there is none
};

struct TakenStacks {
  envgen::SeenJob seen;
  std::vector<std::uint32_t> processes;  // of each rank in `seen`, its place in the plan
};
TakenStacks take_stacks(const StackOrder& order);

}  // namespace engine
