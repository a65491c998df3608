#pragma once
// The work of the monitor's process. It checks the ranks about once a second, unless only health is
// checked. Hooks run in their own workers, so the checks go on; these workers end with the monitor.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/environ.h"
#include "envgen/plan/observation.h"
#include "envgen/plan/plan.h"
#include "init/engine/monitor/line_watch.h"
#include "init/engine/monitor/monitor_messages.h"
#include "init/engine/monitor/stack_taker.h"
#include "init/proc/signals.h"
#include "init/tee/shared.h"

namespace engine {

// A main process that is alive.
struct Watched {
  std::uint32_t process = 0;  // index in the plan
  pid_t pid = 0;
  std::string name;
  int rank = -1;
  bool tee = false;          // the process's output goes through the tee
  std::string log;           // the file with its output; "": none
  bool tells_steps = false;  // the process printed steps in an earlier start, so steps are expected
};

struct MonitorOrder {
  envgen::Observation observe;
  std::vector<Watched> watched;
  std::shared_ptr<LineBoard> board;  // board for the numbers in lines; nullptr: no lines are read
  const logtee::Shared* seen = nullptr;  // data shared by the tee; nullptr: no tee
  // Health check, called in a worker: returns the faults found; may be empty.
  std::function<std::string()> checks = {};
  StackOrder stacks;  // as of the monitor's start; stacks_now() updates it
  envgen::HookGroup stall_hooks;
  envgen::HookGroup health_hooks;
  base::Environ stall_env;
  base::Environ health_env;
  std::vector<std::string> forced_names;
  std::optional<envgen::Identity> job;  // the job's user; nullopt if it is trainit's own
  std::string run_dir;
  proc::SavedSignals saved;
};

// Runs until no process reads `messages` any more.
int run_monitor(const MonitorOrder& order, int messages);

}  // namespace engine
