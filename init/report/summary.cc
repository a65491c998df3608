#include "init/report/summary.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "base/constants/words.h"
#include "base/stable_sort.h"
#include "base/text.h"
#include "init/engine/state/status_text.h"

namespace report {
namespace {

using engine::JobReport;
using engine::TimelineEvent;

// Maximum difference between the times at which two nodes report the same failure. Their clocks
// differ, and messages take time.
constexpr std::int64_t kSameFailureMs = 60'000;
constexpr std::size_t kMaxFailures = 200;   // limit for each node: the first one and the last ones
constexpr std::size_t kMaxFindings = 1000;  // limit for each node

std::string number_text(std::int64_t value, std::size_t width) {
  std::string text = std::to_string(value);
  if (text.size() < width) text.insert(0, width - text.size(), '0');
  return text;
}

std::string_view outcome_of(std::string_view state) {
  if (state == "success") return "ended well";
  if (state == "error") return "failed";
  if (state == "stopped") return "was stopped";
  if (state == "expired") return "ran out of time";
  return "has not ended";
}

std::string ending_of(const NodeRun& run) {
  if (!run.state) return "not known: there is no state";
  const JobReport& state = *run.state;
  if (state.exit_code < 0) return "not known, it was killed or runs: " + state.phase;
  std::string text = "exit code " + std::to_string(state.exit_code);
  if (state.given_code >= 0 && state.given_code != state.exit_code) {
    text += ", given as " + std::to_string(state.given_code);
  }
  return text + ", " + std::string(outcome_of(state.state));
}

// Returns the worst outcome of all nodes.
std::string outcome_of(const std::vector<NodeRun>& runs) {
  static constexpr auto kWorstFirst =
      base::words("error", "expired", "stopped", "running", "success");
  for (const std::string_view one : kWorstFirst) {
    const bool any = std::ranges::any_of(
        runs, [one](const NodeRun& run) { return run.state && run.state->state == one; });
    if (any) return std::string(outcome_of(one));
  }
  return std::string(outcome_of(""));
}

std::string tenths_of_percent(std::int64_t part, std::int64_t whole) {
  const std::int64_t tenths = std::llround(1000.0 * static_cast<double>(part) /
                                           static_cast<double>(std::max<std::int64_t>(whole, 1)));
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " %";
}

// Adds the steps that count, and the share of the time in which the ranks ran, lost steps excluded.
void add_goodput(Summary& summary) {
  const Progress& progress = summary.progress;
  if (progress.done <= 0) return;
  const std::int64_t lost = progress.done - progress.kept;
  summary.facts.emplace_back(
      "steps done", std::to_string(progress.done) +
                        (lost == 0 ? ", none lost"
                                   : ", of which " + std::to_string(lost) + " were lost (" +
                                         tenths_of_percent(lost, progress.done) + ")"));
  const std::int64_t running_ms = summary.shares[static_cast<std::size_t>(TimeShare::kRunning)];
  summary.facts.emplace_back("goodput",
                             tenths_of_percent(running_ms, whole_of(summary.shares)) +
                                 " of the time, in which the ranks ran and lost no steps");
}

// Adds the rank with the highest memory, and the container that was nearest to its limit.
void add_peak_memory(Summary& summary) {
  const auto on_node = [&summary](const NodeSummary& node) {
    return summary.nodes.size() > 1 ? " (node " + std::to_string(node.chart.node) + ")" : "";
  };
  std::int64_t highest = -1;
  std::string rank_name;
  std::pair<double, std::int64_t> nearest{-1, -1};  // share of the limit, bytes
  std::string container;
  for (const NodeSummary& node : summary.nodes) {
    const Resources& resources = node.chart.resources;
    for (const RankUse& rank : resources.ranks) {
      const std::int64_t peak = peak_of(rank.memory_bytes);
      if (peak <= highest) continue;
      highest = peak;
      rank_name = rank.name + on_node(node) + " ";
    }
    const std::int64_t peak = peak_of(resources.container_bytes);
    const std::int64_t limit = resources.limit_bytes;
    const double share = limit > 0 ? static_cast<double>(peak) / static_cast<double>(limit) : 0;
    if (peak < 0 || std::pair(share, peak) <= nearest) continue;
    nearest = {share, peak};
    container = "container" + on_node(node) + " " + memory_text(peak) +
                (limit > 0 ? " of " + memory_text(limit) : "");
  }
  std::string text = highest < 0 ? "" : rank_name + memory_text(highest);
  if (!container.empty()) text += (text.empty() ? "" : ", ") + container;
  if (!text.empty()) summary.facts.emplace_back("peak memory", std::move(text));
}

void add_facts(Summary& summary, const std::vector<NodeRun>& runs) {
  auto fact = [&summary](std::string name, std::string value) {
    summary.facts.emplace_back(std::move(name), std::move(value));
  };
  int restarts = 0;
  const JobReport* state = nullptr;
  std::vector<engine::TaskReport> tasks;  // tasks of all nodes
  for (const NodeRun& run : runs) {
    if (!run.state) continue;
    if (state == nullptr) state = &*run.state;
    tasks.insert(tasks.end(), run.state->tasks.begin(), run.state->tasks.end());
    restarts = std::max(restarts, run.state->restarts);
  }
  if (state != nullptr) {
    if (!state->command.empty()) fact("command", state->command);
    if (!state->job.empty()) fact("job", state->job);
    if (!state->trainit.empty()) fact("trainit", state->trainit);
    fact("platform and framework", state->platform + "/" + state->framework);
    fact("nodes", std::to_string(state->node_count) +
                      (runs.size() == static_cast<std::size_t>(state->node_count)
                           ? ""
                           : ", of which " + std::to_string(runs.size()) + " are shown"));
    fact("world size", std::to_string(state->world_size));
    fact("restarts", std::to_string(restarts));
  }
  const std::string steps = engine::steps_text(tasks);
  if (!steps.empty()) fact("progress", steps);
  add_goodput(summary);
  add_peak_memory(summary);
  fact("began", utc_text(summary.begin_ms));
  fact("lasted", duration_text(summary.end_ms - summary.begin_ms));
}

void add_failure(Summary& summary, Failure failure) {
  for (Failure& known : summary.failures) {
    if (known.message != failure.message ||
        std::abs(known.at_ms - failure.at_ms) > kSameFailureMs || known.nodes == failure.nodes) {
      continue;
    }
    known.at_ms = std::min(known.at_ms, failure.at_ms);
    known.nodes += ", " + failure.nodes;
    if (known.last_lines.empty()) known.last_lines = std::move(failure.last_lines);
    if (known.lines.empty()) known.lines = std::move(failure.lines);
    if (known.cause.empty()) known.cause = std::move(failure.cause);
    return;
  }
  summary.failures.push_back(std::move(failure));
}

// Adds the last lines to the last failure, if its traceback has taken their place.
void add_last_lines(const NodeSummary& node, std::vector<Failure>& found) {
  if (found.empty() || !node.run->state) return;
  const engine::FailureDetail& detail = node.run->state->failure;
  const bool traced = detail.cause && !detail.cause->traceback.empty();
  if (traced && detail.task == found.back().task) {
    found.back().last_lines = engine::lines_beside_traceback(detail);
  }
}

void add_failures(Summary& summary, const NodeSummary& node) {
  std::vector<Failure> found;
  bool corrects = false;  // true: the next first failure replaces that of this start
  for (const TimelineEvent& event : node.run->events) {
    const bool restarts = event.event == "phase" && event.text == "preparing";
    if (restarts || (event.event == "start" && event.kind == "main")) corrects = false;
    if (event.event == "first_failure") {
      if (std::exchange(corrects, true)) found.pop_back();
      found.push_back({.at_ms = event.at_ms,
                       .nodes = node_text(node.chart),
                       .message = event.text,
                       .cause = {},
                       .lines = {},
                       .task = event.task});
    } else if (event.event == "failure_cause" && !found.empty()) {
      found.back().cause = event.text;
    } else if (event.event == "failure_output" && !found.empty()) {
      found.back().lines.clear();
      for (const std::string_view line : base::split(event.text, '\n')) {
        found.back().lines.emplace_back(line);
      }
    }
  }
  add_last_lines(node, found);
  const std::size_t from = found.size() - std::min(found.size(), kMaxFailures - 1);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (i == 0 || i >= from) add_failure(summary, std::move(found[i]));
  }
  if (from > 1) {
    summary.findings.push_back(
        {0, node_text(node.chart), std::to_string(from - 1) + " more failures are not shown"});
  }
}

void add_findings(Summary& summary, const NodeSummary& node) {
  static constexpr auto kKinds = base::words("preflight", "health", "stall", "performance", "data",
                                             "node", "saved", "hang", "membership_changed", "warm");
  const std::string name = node_text(node.chart);
  std::size_t count = 0;
  for (const Moment& moment : node.chart.moments) {
    if (std::ranges::find(kKinds, moment.name) == kKinds.end()) continue;
    if (++count > kMaxFindings) continue;
    summary.findings.push_back({moment.at_ms, name, moment.name + ": " + moment.text});
  }
  if (count > kMaxFindings) {
    summary.findings.push_back(
        {0, name, std::to_string(count - kMaxFindings) + " more findings are not shown"});
  }
  for (const std::string& problem : node.run->problems) {
    summary.findings.push_back({0, name, problem});
  }
  if (!node.run->state) return;
  for (const std::string& warning : node.run->state->warnings) {
    summary.findings.push_back({0, name, "warning: " + warning});
  }
}

}  // namespace

Summary summary_of(const std::vector<NodeRun>& runs) {
  Summary summary;
  summary.outcome = outcome_of(runs);
  summary.progress = progress_of(runs, summary.outcome == outcome_of("error"));
  for (const NodeRun& run : runs) {
    NodeSummary node{.chart = chart_of(run), .ended = ending_of(run), .run = &run};
    node.shares = time_shares_of(node.chart, summary.progress.lost);
    for (std::size_t i = 0; i < kTimeShares; ++i) summary.shares[i] += node.shares[i];
    summary.nodes.push_back(std::move(node));
  }
  base::stable_sort(summary.nodes, std::less(),
                    [](const NodeSummary& node) { return node.chart.node; });
  for (const NodeSummary& node : summary.nodes) {
    const bool first = summary.begin_ms == 0;
    summary.begin_ms =
        first ? node.chart.begin_ms : std::min(summary.begin_ms, node.chart.begin_ms);
    summary.end_ms = std::max(summary.end_ms, node.chart.end_ms);
    add_failures(summary, node);
    add_findings(summary, node);
  }
  base::stable_sort(summary.failures, std::less(), &Failure::at_ms);
  base::stable_sort(summary.findings, std::less(), &ReportNote::at_ms);
  add_facts(summary, runs);
  return summary;
}

std::string utc_text(std::int64_t ms) {
  using std::chrono::milliseconds;
  const std::chrono::sys_time<milliseconds> at{milliseconds(ms)};
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss<milliseconds> time(at - day);
  return number_text(static_cast<int>(date.year()), 4) + "-" +
         number_text(static_cast<unsigned>(date.month()), 2) + "-" +
         number_text(static_cast<unsigned>(date.day()), 2) + " " +
         number_text(time.hours().count(), 2) + ":" + number_text(time.minutes().count(), 2) + ":" +
         number_text(time.seconds().count(), 2) + "." + number_text(time.subseconds().count(), 3) +
         " UTC";
}

std::string memory_text(std::int64_t bytes) {
  return base::size_text(static_cast<std::uint64_t>(bytes));
}

std::string duration_text(std::int64_t ms) {
  constexpr std::int64_t kShortMs = 60'000;
  if (ms >= kShortMs) return engine::span_text(ms);
  return base::seconds(ms >= 10'000 ? ms / 100 * 100 : ms >= 1000 ? ms / 10 * 10 : ms);
}

std::int64_t whole_of(const TimeShares& shares) {
  return std::accumulate(shares.begin(), shares.end(), std::int64_t{0});
}

bool is_shown_with_failure(const NodeSummary& node, std::string_view task) {
  if (!node.run->state) return false;
  const engine::FailureDetail& failure = node.run->state->failure;
  return failure.node == node.chart.node && failure.task == task && !failure.last_lines.empty();
}

std::array<std::string, kTimeShares> percent_texts(const TimeShares& shares) {
  const std::int64_t whole_ms = std::max<std::int64_t>(whole_of(shares), 1);
  std::array<std::string, kTimeShares> texts;
  std::int64_t sum_ms = 0;
  std::int64_t before = 0;  // rounded, in tenths of a percent
  for (std::size_t i = 0; i < kTimeShares; ++i) {
    sum_ms += shares[i];
    const std::int64_t until = (sum_ms * 1000 + whole_ms / 2) / whole_ms;
    texts[i] =
        std::to_string((until - before) / 10) + "." + std::to_string((until - before) % 10) + " %";
    before = until;
  }
  return texts;
}

}  // namespace report
