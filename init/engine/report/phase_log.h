#pragma once
// The phase log: one line each time the machine enters another phase, unless the log has the reason
// already.

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

// Logs the machine's new phase. If the job ends with it, the text also goes to the termination log
// (nullptr: none). If the phase is a consequence of a failure (a restart, the debug window),
// returns the text instead, so that the caller logs it after the failure. `why`: the event that led
// to the phase. `now_ms`: the machine's clock.
std::string report_transition(PhaseState before, const lifecycle::Event& why, const Job& job,
                              const lifecycle::Machine& machine, std::int64_t now_ms,
                              const char* termination_log);

// Logs which main processes get SIGKILL. Otherwise their end could be mistaken for the OOM killer's
// work. `why`: the event that led to the actions. `after_failure`: Machine::cuts_grace() before
// that event.
void report_kills(const Job& job, const lifecycle::Event& why, bool after_failure,
                  const std::vector<lifecycle::Action>& actions);

}  // namespace engine
