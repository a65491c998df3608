#pragma once
// The setup of a supervisor: the request, the environment, the saved signals, and the command if it
// already runs.

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
  // Argv and environment as trainit found them; the supervisor adds the facts.
  envgen::Snapshot base;
  envgen::Request request;
  proc::SavedSignals saved;
  // Descriptors from 3 on that trainit's caller passed in.
  std::vector<int> callers_fds;
  // Names of TRAINIT_<OPTION> variables, which the job does not get.
  std::vector<std::string> own_variables;
  // true: the image may have hooks (envgen::kHooksDirectory). Then the command is no pass-through,
  // unless it is already `started`. In that case only the hooks after a failure can still run.
  bool has_hooks = false;
  // Pid of the single command if init/early has started it already, which it does only for a
  // pass-through. 0: not started.
  pid_t started = 0;
  bool ended_well = false;  // the `started` command has exited with code 0 and was reaped
  // A signal that was read before the supervisor existed, handled after its begin.
  std::optional<proc::Received> received;
  std::string version;  // trainit's version, for state.json
  // Hint for the error that the job's command is not a program: "did you mean `trainit status`?"
  std::string command_hint;
  const char* termination_log = "/dev/termination-log";
  // true: supervise() exits at the end of the job. The kernel then frees the memory, which is
  // faster than destructors.
  bool ends_process = false;
  // Called before each step of the machine. Tests let it throw, so that the engine fails.
  std::function<void(const lifecycle::Event&)> before_step;
  // Replaces collect_and_resolve() in tests that bring their own plan. Such a job is never a
  // pass-through. The resolver's child calls it, and PID 1 before (early_policy_of).
  Planner planner;
};

}  // namespace engine
