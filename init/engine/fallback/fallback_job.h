#pragma once
// The conversion of the supervisor's state into the job that the fallback continues with, after the
// supervisor's own logic failed.

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "envgen/plan/request.h"
#include "init/engine/fallback/fallback.h"
#include "init/engine/tasks/job.h"
#include "init/proc/terminal.h"
#include "lifecycle/machine.h"

namespace engine {

struct Evidence {
  const Job& job;
  const lifecycle::Machine& machine;
  const std::deque<lifecycle::Event>& waiting;  // events that the machine has not handled yet
  const proc::JobControl& job_control;
  const std::vector<base::SignalRule>& signals;
  int resolve_code = 0;          // exit code of a resolver that failed; 0: none
  std::optional<int> exit_code;  // the machine's exit code, if the machine has ended
};

// Returns the exit code if there is nothing to wait for: the machine has ended, or no main process
// is alive. Otherwise returns nullopt.
std::optional<int> settled_code(const Evidence& evidence);

FallbackJob fallback_job_of(const Evidence& evidence);

}  // namespace engine
