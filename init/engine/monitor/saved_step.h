#pragma once
// What came of the checkpoint that a job was asked for, by its own word: a line that fits a pattern
// with {saved} (--progress).

#include "init/engine/report/timeline.h"
#include "init/engine/tasks/job.h"
#include "init/tee/shared.h"

namespace engine {

// At the end of a job that was asked to save and to end, where such lines are looked for: says at
// which step it has saved since then, in the log, the timeline and the termination message; or that
// it has not told. Waits a moment for the tee to have seen the end of the output. `seen`: nullptr
// without a tee; `termination_log`: nullptr without one.
void report_saved(const Job& job, const logtee::Shared* seen, Timeline& timeline,
                  const char* termination_log);

}  // namespace engine
