#pragma once
// The phase log: lines that are said once, when the machine goes from one phase to another for a
// reason that is not in the log yet.

#include <cstdint>
#include <string>
#include <vector>

#include "init/engine/tasks/job.h"
#include "lifecycle/machine.h"

namespace engine {

// How far the machine was.
struct PhaseState {
  lifecycle::Phase phase = lifecycle::Phase::kPreparing;
  bool expired = false;
};

// Says where the job is now, also in the termination log where it ends (nullptr: there is none).
// What follows from a failure (a restart, the debug window) is given back instead, to be said
// behind that. `why`: the event that has brought the machine here. `now_ms`: the time by which it
// counts.
std::string report_transition(PhaseState before, const lifecycle::Event& why, const Job& job,
                              const lifecycle::Machine& machine, std::int64_t now_ms,
                              const char* termination_log);

// Names the main processes that get SIGKILL: what killed them is then not to be guessed, it might
// as well be the OOM killer's. `why`: the event that brought the actions about.
void report_kills(const Job& job, const lifecycle::Event& why,
                  const std::vector<lifecycle::Action>& actions);

}  // namespace engine
