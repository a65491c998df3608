#pragma once
// What came of the checkpoint that a job was asked for, by its own word: a line that fits a pattern
// with {saved} (--progress).

#include "init/engine/report/timeline.h"
#include "init/engine/tasks/job.h"
#include "init/tee/shared.h"
#include "lifecycle/machine.h"

namespace engine {

// At the end of a job that was asked to save and to end, where such lines are looked for: says at
// which step it has saved since then, or that it has not told: in the log, the timeline and, where
// the job ended for that checkpoint, behind what the termination message says already. Waits a
// moment for the tee to have seen the end of the output. `seen`: nullptr without a tee;
// `termination_log`: nullptr without one.
void report_saved(const Job& job, const lifecycle::Machine& machine, const logtee::Shared* seen,
                  Timeline& timeline, const char* termination_log);

}  // namespace engine
