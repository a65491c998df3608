#pragma once
// Runs a job: the one loop that turns what happens (signals, deaths, timers, the resolver's news,
// control records) into events for the lifecycle machine, and its actions into system calls.

#include <functional>
#include <string>
#include <vector>

#include "envgen/request.h"
#include "envgen/snapshot.h"
#include "init/proc/signals.h"
#include "lifecycle/machine.h"

namespace engine {

struct Setup {
  envgen::Snapshot base;  // argv and environment as trainit found them; facts are gathered
  envgen::Request request;
  proc::SavedSignals saved;
  std::vector<int> callers_fds;            // what the caller passed in beyond 0, 1 and 2
  std::vector<std::string> own_variables;  // TRAINIT_<OPTION>: not for the job
  const char* termination_log = "/dev/termination-log";
  // Called before each step of the machine: for tests that make the engine fail.
  std::function<void(const lifecycle::Event&)> before_step;
};

// How many descriptors from 3 on a socket activation passed in (LISTEN_FDS); the main task has
// them.
int listen_fds(const envgen::Environ& env);

// Returns the container's exit code.
int supervise(Setup setup);

}  // namespace engine
