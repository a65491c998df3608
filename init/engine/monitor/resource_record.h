#pragma once
// The memory and CPU time of the ranks over time, as "resources" events of the timeline. `trainit
// report` draws them. The text of an event is "61440 65536 20, rank-0 5120 312". The first part has
// the memory of the container, its limit, and the age of the values in milliseconds. Each other
// part has the memory of a rank and the CPUs that it used. Memory is the highest value since the
// last event, in KiB. CPUs are an average since then, in hundredths. "-": not known.

#include "init/engine/monitor/monitor_messages.h"
#include "init/engine/report/timeline.h"
#include "init/engine/tasks/job.h"

namespace engine {

// Takes a sample, and records the values if the pace of the timeline allows it.
void take_resources(Job& job, Timeline& timeline, const ResourceSample& sample);
// Records the values since the last event: the ranks of this start have ended.
void end_resources(Job& job, Timeline& timeline);

}  // namespace engine
