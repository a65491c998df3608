#pragma once
// Takes the stacks of a job's processes. For Python stacks, a process gets kStackSignal and writes
// them. It gets the signal only if it catches it and holds open the file that its hook registered
// (envgen/failure/python_hook.h); otherwise the signal could kill it. The state of all threads
// comes from /proc. No ptrace and no other program is used. A call may take seconds, so it is for a
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
  std::uint32_t process = 0;  // index in the plan
  pid_t pid = 0;              // 0: the process has ended
  std::string name;
  int rank = -1;
  std::string ended;  // how the process has ended; "": it is alive
};

struct StackOrder {
  std::vector<StackTarget> targets;
  // Directory of the Python hook (Observation::stacks); "": no process has the hook.
  std::string directory;
  std::optional<envgen::Identity> job;  // the job's user; nullopt if it is trainit's own
  bool whole = false;                   // all ranks of the job run on this node
  std::int64_t most_ms = 8000;
  // The following members are for hang_diagnostics.h.
  int world_size = 0;    // 0: not known
  std::string nccl_ras;  // Observation::nccl_ras
  std::vector<std::string> trace_pipes;
  DumpOrder dumps;
  // File for the flight recorder's dumps, for node 0: recorder_file(); "": none.
  std::string recorder;
};

struct TakenStacks {
  envgen::SeenJob seen;
  // Index of each rank's process in the plan, in the order of `seen`.
  std::vector<std::uint32_t> processes;
};
TakenStacks take_stacks(const StackOrder& order);

}  // namespace engine
