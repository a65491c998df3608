#pragma once
// The runs of a job's nodes as what a report says of them, before it has a form. Pure.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "init/report/chart.h"
#include "init/report/run.h"
#include "init/report/time_shares.h"

namespace report {

// A first failure, as one or more nodes have told it.
struct Failure {
  std::int64_t at_ms = 0;
  std::string nodes;  // who has told it: "node 0 (pod-0), node 1 (pod-1)"
  std::string message;
  std::string cause;               // the line that says why, what to do; "" = not known
  std::vector<std::string> lines;  // that led to it, a traceback; or that were printed last
};

struct Finding {
  std::int64_t at_ms = 0;  // 0: at no time of its own
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
  std::string outcome;  // "failed", "ended well", "was stopped", "ran out of time", "has not ended"
  std::vector<std::pair<std::string, std::string>> facts;  // "world size", "16"
  std::vector<NodeSummary> nodes;                          // by node rank
  std::vector<Failure> failures;                           // by time: the first is the job's
  std::vector<Finding> findings;                           // of watches and checks, warnings
  TimeShares shares{};                                     // of all nodes together
  std::int64_t begin_ms = 0;
  std::int64_t end_ms = 0;
};

// `runs` outlives it.
Summary summary_of(const std::vector<NodeRun>& runs);

std::string utc_text(std::int64_t ms);       // "2026-01-31 12:00:00.250 UTC"
std::string duration_text(std::int64_t ms);  // "1.2 s", "4m 10s"
// "12.5 %" of each, which add up to 100.
std::array<std::string, kTimeShares> percent_texts(const TimeShares& shares);
std::int64_t whole_of(const TimeShares& shares);

}  // namespace report
