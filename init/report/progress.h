#pragma once
// The steps of a job over time: those that count, and those that a failure has made worthless. Made
// of the "steps" events of all nodes (init/engine/monitor/step_record.h). Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "init/report/run.h"

namespace report {

struct StepPoint {
  std::int64_t at_ms = 0;  // wall clock, UTC
  std::int64_t step = 0;
};

// The steps of a rank in one start.
struct StepStart {
  std::int64_t first = 0;         // the first step that it has reported
  std::vector<StepPoint> points;  // ordered by time
};

struct RankSteps {
  std::string name;  // with " (run 2)" if several runs have a rank of this name
  std::vector<StepStart> starts;
};

struct Interval {
  std::int64_t from_ms = 0;
  std::int64_t to_ms = 0;
};

struct Progress {
  std::vector<RankSteps> ranks;  // ordered by name
  std::vector<StepPoint> saves;  // reports of a saved step, ordered by time
  // Steps of the job, by the rank with the most starts. `done` counts a step as often as it was
  // done. Those that are not in `kept` were lost: done again, or not saved before the job failed.
  // Both are 0 if the number of that rank goes back within a start, as a count of an epoch does.
  std::int64_t done = 0;
  std::int64_t kept = 0;
  std::vector<Interval> lost;  // times in which lost steps were done, until the stop after them
};

// Returns the steps of the job. If `failed`, the job ended by a failure: steps after the last saved
// one are lost, if the job has reported saved steps.
Progress progress_of(const std::vector<NodeRun>& runs, bool failed);

}  // namespace report
