#pragma once
// Takes the stacks of a job's processes. Python stacks come by kStackSignal. A process gets the
// signal only if it catches it and holds open the file that its hook registered
// (envgen/failure/python_hook.h). The state of all threads comes from /proc. No ptrace or other
// program is used. A call may take seconds, so it is for a forked worker with a single thread.

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
  pid_t pid = 0;              // 0: it has ended
  std::string name;
  int rank = -1;
  std::string ended;  // how it has ended; "": it lives
};

struct StackOrder {
  std::vector<StackTarget> targets;
  std::string directory;                // Observation::stacks; "": no process has the hook
  std::optional<envgen::Identity> job;  // the job's user; nullopt if it is trainit's own
  bool whole = false;                   // no ranks run on other nodes
  std::int64_t most_ms = 8000;
  // Members for hang_diagnostics.h.
  int world_size = 0;    // 0: not known
  std::string nccl_ras;  // value of Observation
  std::vector<std::string> trace_pipes;
  DumpOrder dumps;
  std::string recorder;  // recorder_file of hang_dumps.h, for node 0; "": no file
};

struct TakenStacks {
  envgen::SeenJob seen;
  std::vector<std::uint32_t> processes;  // index in the plan of each rank in `seen`
};
TakenStacks take_stacks(const StackOrder& order);

}  // namespace engine
