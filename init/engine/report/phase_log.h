#pragma once
// The phase log: one line each time the machine enters another phase for a reason that is not in
// the log yet.

#include <cstdint>
#include <string>
#include <vector>

#include "init/engine/tasks/job.h"
#include "lifecycle/machine.h"

namespace engine {

// The state of the machine before an event.
struct PhaseState {
  lifecycle::Phase phase = lifecycle::Phase::kPreparing;
  bool expired = false;
};

// Logs the machine's new phase. If the job ends there, the text also goes to the termination log
// (nullptr: none). A consequence of a failure (a restart, the debug window) is returned instead, to
// be logged after the failure. `why`: the event that led to the phase. `now_ms`: the machine's
// clock.
std::string report_transition(PhaseState before, const lifecycle::Event& why, const Job& job,
                              const lifecycle::Machine& machine, std::int64_t now_ms,
                              const char* termination_log);

// Logs the main processes that get SIGKILL, so that their end is not mistaken for the OOM killer's
// work. `why`: the event that led to the actions. `after_failure`: Machine::cuts_grace() before it.
void report_kills(const Job& job, const lifecycle::Event& why, bool after_failure,
                  const std::vector<lifecycle::Action>& actions);

}  // namespace engine
