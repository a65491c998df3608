#pragma once
// The steps of the ranks over time, as "steps" events of the timeline. `trainit report` draws them
// and finds the steps that were done twice.

#include "init/engine/report/timeline.h"
#include "init/engine/tasks/job.h"

namespace engine {

// Records the ranks whose steps have changed since the last record. The record has a size limit, so
// the records of a long job become rarer. `last` records in any case: the ranks of this start
// report no more steps.
void record_steps(Job& job, Timeline& timeline, bool last);

}  // namespace engine
