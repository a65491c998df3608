#pragma once
// The result of a checkpoint request, as the job's own lines report it: lines that fit a pattern
// with {saved} (--progress).

#include "init/engine/report/timeline.h"
#include "init/engine/tasks/job.h"
#include "init/tee/shared.h"
#include "lifecycle/machine.h"

namespace engine {

// Reports the step that the job has saved since it was asked for a checkpoint, or that no rank has
// reported one. Call it at the end of a job. Does nothing without such a request, or if such lines
// are not watched. The report goes to the log, the timeline and, if the job ended for that
// checkpoint, to the end of the termination message. Waits a moment for the tee to have seen the
// end of the output. `seen`: nullptr without a tee. `termination_log`: nullptr without one.
void report_saved(const Job& job, const lifecycle::Machine& machine, const logtee::Shared* seen,
                  Timeline& timeline, const char* termination_log);

}  // namespace engine
