#pragma once
// The report which step a requested checkpoint has saved. The job prints that in lines that fit a
// pattern with {saved} (--progress).

#include "init/engine/report/timeline.h"
#include "init/engine/tasks/job.h"
#include "init/tee/shared.h"
#include "lifecycle/machine.h"

namespace engine {

// Reports the step that the job has saved since the last request for a checkpoint, or that no rank
// has reported one. Call it at the end of a job. Does nothing without such a request, or without a
// pattern with {saved}. The report goes to the log and the timeline. If the job ended for that
// checkpoint, it is also added to the termination message. Waits a moment until the tee has seen
// the end of the output. `seen`: nullptr without a tee. `termination_log`: nullptr without one.
void report_saved(const Job& job, const lifecycle::Machine& machine, const logtee::Shared* seen,
                  Timeline& timeline, const char* termination_log);

}  // namespace engine
