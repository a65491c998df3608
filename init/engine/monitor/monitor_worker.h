#pragma once
// The monitor's own work, in its own process. It looks every second or so where there is something
// to look at, and sleeps where only health is checked. Hooks run in workers of their own beside
// the looks; they end with it.

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

// A main process that lives.
struct Watched {
  std::uint32_t process = 0;  // its place in the plan
  pid_t pid = 0;
  std::string name;
  int rank = -1;
  bool tee = false;          // its output is seen there
  std::string log;           // or here; "" = it is not
  bool tells_steps = false;  // as it did in an earlier start: they will come
};

struct MonitorOrder {
  envgen::Observation observe;
  std::vector<Watched> watched;
  std::shared_ptr<LineBoard> board;          // nullptr: no lines are read
  const logtee::Shared* seen = nullptr;      // of the tee
  std::function<std::string()> checks = {};  // what they find wrong; runs in a worker. May be empty
  StackOrder stacks;  // as the monitor was started: who has ended since is seen when it is used
  envgen::HookGroup stall_hooks;
  envgen::HookGroup health_hooks;
  envgen::Environ stall_env;
  envgen::Environ health_env;
  std::vector<std::string> forced_names;
  std::optional<envgen::Identity> job;  // its user, where it is another
  std::string run_dir;
  proc::SavedSignals saved;
};

// Until nobody reads `messages` any more.
int run_monitor(const MonitorOrder& order, int messages);

}  // namespace engine
