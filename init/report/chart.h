#pragma once
// The events of a node as a chart. Spans have a start and an end and are drawn in lanes; moments
// have one time. A span without an end in the events lasts until the last event. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "init/report/resources.h"
#include "init/report/run.h"

namespace report {

struct Span {
  enum class Kind : unsigned char { kPhase, kWait, kStage, kTask };
  Kind kind = Kind::kTask;
  std::string lane;
  std::string name;
  std::string task_kind = {};  // kind of a task or of a stage's task, as in TaskReport
  std::int64_t start_ms = 0;   // wall clock, UTC
  std::int64_t end_ms = 0;
  std::uint32_t incarnation = 0;  // 0: not a task
  int rank = -1;
  int exit_code = -1;  // -1: unknown
  std::string signal = {};
  std::string text = {};
  bool ended = true;  // false: still running when the events ended
};

struct Moment {
  std::string lane;  // kPhases if it belongs to the job
  std::string task;  // name of the task; "" = no task
  std::string name;
  std::int64_t at_ms = 0;
  int rank = -1;
  std::string text = {};
};

inline constexpr const char* kPhases = "phases";
inline constexpr const char* kWaits = "waits";

struct Chart {
  int node = 0;
  std::string host;
  std::int64_t begin_ms = 0;
  std::int64_t end_ms = 0;
  // kPhases, kWaits (if there was a wait), then the tasks.
  std::vector<std::string> lanes;
  std::vector<Span> spans;      // ordered by end
  std::vector<Moment> moments;  // ordered by time
  Resources resources;
};

Chart chart_of(const NodeRun& run);

// Returns "node 1 (pod-1)".
std::string node_text(const Chart& chart);

}  // namespace report
