#pragma once
// The setup of a supervisor: request, environment, saved signals, and what came before it.

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
  std::vector<int> callers_fds;            // what the caller passed in beyond 0, 1 and 2
  std::vector<std::string> own_variables;  // TRAINIT_<OPTION>: not for the job
  // There may be some (envgen::kHooksDirectory): no pass-through, unless `started`. Then only those
  // after a failure are left to run.
  bool has_hooks = false;
  // The single command, where it was started before anything else was looked at (init/early): what
  // is pass-through only. 0: it is still to be started.
  pid_t started = 0;
  bool ended_well = false;                 // and was reaped
  std::optional<proc::Received> received;  // read before what the kernel has still queued
  // What to do where the job's command is no program at all: "did you mean `trainit status`?"
  std::string command_hint;
  const char* termination_log = "/dev/termination-log";
  // The process is over with the job: the kernel takes down what it holds, and faster.
  bool ends_process = false;
  // Called before each step of the machine: for tests that make the engine fail.
  std::function<void(const lifecycle::Event&)> before_step;
  // Instead of envgen::resolve, with a look at what it wants: for tests that bring their own plan,
  // which never is a pass-through. Called in the resolver's child too.
  Planner planner;
};

}  // namespace engine
