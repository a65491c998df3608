#pragma once
// The setup of a supervisor: request, environment, saved signals, and the command that already
// runs.

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "envgen/plan/request.h"
#include "envgen/plan/snapshot.h"
#include "init/engine/resolve/resolver.h"
#include "init/proc/signals.h"
#include "lifecycle/machine.h"

namespace engine {

struct Setup {
  envgen::Snapshot base;  // argv and environment as trainit found them; facts are gathered
  envgen::Request request;
  proc::SavedSignals saved;
  // Descriptors beyond 0, 1 and 2 that the caller passed in
  std::vector<int> callers_fds;
  std::vector<std::string> own_variables;  // TRAINIT_<OPTION>, which the job does not get
  // true: there may be hooks (envgen::kHooksDirectory), so the command is no pass-through. If it is
  // already `started`, only the hooks after a failure remain to run.
  bool has_hooks = false;
  // Pid of the single command, if init/early started it before anything was examined. Only a
  // pass-through command is started in this way. 0: not started.
  pid_t started = 0;
  bool ended_well = false;                 // the command exited with code 0 and was reaped
  std::optional<proc::Received> received;  // signal read before those that the kernel queues
  std::string version;                     // of trainit, for the state
  // Hint for the case that the job's command is not a program: "did you mean `trainit status`?"
  std::string command_hint;
  const char* termination_log = "/dev/termination-log";
  // true: the process exits with the job, so the kernel frees its resources, which is faster.
  bool ends_process = false;
  // Called before each step of the machine. Tests use it to make the engine fail.
  std::function<void(const lifecycle::Event&)> before_step;
  // Replaces collect_and_resolve in tests that bring their own plan, which is never a pass-through.
  // Also called in the resolver's child.
  Planner planner;
};

}  // namespace engine
