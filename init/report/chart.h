#pragma once
// A node's events as a chart: what lasted from when to when, in lanes, and what happened in a
// moment. Pure. What has no end in the events lasts until the last of them.

#include <cstdint>
#include <string>
#include <vector>

#include "init/report/run.h"

namespace report {

struct Span {
  enum class Kind : unsigned char { kPhase, kWait, kStage, kTask };
  Kind kind = Kind::kTask;
  std::string lane;
  std::string name;
  std::string task_kind = {};  // of a task or its stage: as in TaskReport
  std::int64_t start_ms = 0;   // wall clock, UTC
  std::int64_t end_ms = 0;
  std::uint32_t incarnation = 0;  // 0: none
  int rank = -1;
  int exit_code = -1;  // -1: not known
  std::string signal = {};
  std::string text = {};
  bool ended = true;  // false: it was running when the events ended
};

struct Moment {
  std::string lane;  // kPhases where it is of the job
  std::string task;  // whose; "" = none's
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
  std::vector<std::string> lanes;  // kPhases, kWaits where something was waited for, the tasks
  std::vector<Span> spans;         // by their end
  std::vector<Moment> moments;     // by time
};

Chart chart_of(const NodeRun& run);

// "node 1 (pod-1)"
std::string node_text(const Chart& chart);

}  // namespace report
