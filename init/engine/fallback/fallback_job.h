#pragma once
// The job that the fallback goes on with when the supervisor's own logic failed, from what it knew
// at that moment.

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
  const std::deque<lifecycle::Event>& waiting;  // events that have not been answered
  const proc::JobControl& job_control;
  const std::vector<envgen::SignalRule>& signals;
  int resolve_code = 0;          // what a resolver that failed said
  std::optional<int> exit_code;  // the machine's, when it has come to its end
};

// The exit code where no main process is alive: there is nothing to wait for.
std::optional<int> settled_code(const Evidence& evidence);

FallbackJob fallback_job_of(const Evidence& evidence);

}  // namespace engine
