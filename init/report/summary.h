#pragma once
// The content of a report about the runs of a job's nodes, without a format. Pure.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "init/report/chart.h"
#include "init/report/progress.h"
#include "init/report/run.h"
#include "init/report/time_shares.h"

namespace report {

// A first failure, as one or more nodes have reported it.
struct Failure {
  std::int64_t at_ms = 0;
  std::string nodes;  // nodes that reported it: "node 0 (pod-0), node 1 (pod-1)"
  std::string message;
  std::string cause;               // line with the cause, and the advice; "" = unknown
  std::vector<std::string> lines;  // traceback, or the last printed lines
  // Last lines beside a traceback in `lines`, of this task. Only known of the last failure.
  std::vector<std::string> last_lines = {};
  std::string task = {};
};

// A line of the report's chapter "Findings": the result of a watch or a check, or a warning.
struct ReportNote {
  std::int64_t at_ms = 0;  // 0: no time
  std::string node;
  std::string text;
};

struct NodeSummary {
  Chart chart;
  TimeShares shares{};
  std::string ended;  // "exit code 1, error"
  const NodeRun* run = nullptr;
};

struct Summary {
  // "failed", "ended well", "was stopped", "ran out of time", "has not ended".
  std::string outcome;
  std::vector<std::pair<std::string, std::string>> facts;  // "world size", "16"
  std::vector<NodeSummary> nodes;                          // ordered by node rank
  // ordered by time: the first is the job's
  std::vector<Failure> failures;
  // Results of watches and checks, and warnings
  std::vector<ReportNote> findings;
  Progress progress;
  TimeShares shares{};  // shares of all nodes together
  std::int64_t begin_ms = 0;
  std::int64_t end_ms = 0;
};

// Summarizes `runs`, which must outlive the result.
Summary summary_of(const std::vector<NodeRun>& runs);

std::string utc_text(std::int64_t ms);        // returns "2026-01-31 12:00:00.250 UTC"
std::string duration_text(std::int64_t ms);   // returns "1.2 s", "4m 10s"
std::string memory_text(std::int64_t bytes);  // returns "41.2 GiB"
// Returns each share as "12.5 %". The percentages add up to 100.
std::array<std::string, kTimeShares> percent_texts(const TimeShares& shares);
std::int64_t whole_of(const TimeShares& shares);
// Returns whether the last lines of this task are shown with its failure.
bool is_shown_with_failure(const NodeSummary& node, std::string_view task);

}  // namespace report
