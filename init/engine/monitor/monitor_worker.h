#pragma once
// The monitor's own work, in its own process. It looks about once a second if there is something to
// look at, and sleeps if only health is checked. Hooks run beside the looks in their own workers,
// which end with the monitor.

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

// A living main process.
struct Watched {
  std::uint32_t process = 0;  // index in the plan
  pid_t pid = 0;
  std::string name;
  int rank = -1;
  bool tee = false;          // the tee sees its output
  std::string log;           // the file with its output; "": none
  bool tells_steps = false;  // steps were printed in an earlier start, so steps are expected
};

struct MonitorOrder {
  envgen::Observation observe;
  std::vector<Watched> watched;
  std::shared_ptr<LineBoard> board;          // nullptr: no lines are read
  const logtee::Shared* seen = nullptr;      // data shared by the tee; nullptr: no tee
  std::function<std::string()> checks = {};  // returns the faults found, in a worker; may be empty
  StackOrder stacks;  // state when the monitor was started; stacks_now() updates it
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
