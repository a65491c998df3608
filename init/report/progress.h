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
  std::string name;
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
  // done. The others of `kept` were lost: done again, or not saved before the job failed.
  std::int64_t done = 0;
  std::int64_t kept = 0;
  std::vector<Interval> lost;  // times in which lost steps were done, until the stop after them
};

// Returns the steps of the job. If `failed`, the job ended by a failure: steps after the last saved
// one are lost, if the job has reported saved steps.
Progress progress_of(const std::vector<NodeRun>& runs, bool failed);

}  // namespace report
