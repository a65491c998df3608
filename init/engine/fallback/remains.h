#pragma once
// What is left of a job when the supervisor's own logic failed, from what it knew at that moment.

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "envgen/plan/request.h"
#include "init/engine/fallback/degraded.h"
#include "init/engine/tasks/job.h"
#include "init/proc/terminal.h"
#include "lifecycle/machine.h"

namespace engine {

// A main process of the job, not what prepares or serves it.
bool is_main(const TaskRecord& record);

struct Evidence {
  const Job& job;
  const lifecycle::Machine& machine;
  const std::deque<lifecycle::Event>& waiting;  // events that have not been answered
  const proc::JobControl& job_control;
  std::int64_t grace_ms = 0;
  const std::vector<envgen::SignalRule>& signals;
  int resolve_code = 0;          // what a resolver that failed said
  std::optional<int> exit_code;  // the machine's, when it has come to its end
};

// The exit code where no main process is alive: there is nothing to wait for.
std::optional<int> settled_code(const Evidence& evidence);

Remains remains_of(const Evidence& evidence);

}  // namespace engine
