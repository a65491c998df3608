#include "init/report/chart.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/stable_sort.h"

namespace report {
namespace {

using engine::TimelineEvent;

// Reads the events one after the other.
class ChartMaker {
 public:
  explicit ChartMaker(Chart& chart) : chart_(chart) {}

  void read(const TimelineEvent& event);
  void close();

 private:
  struct Open {
    std::string name;
    std::int64_t since_ms = 0;
  };

  void phase(std::string name, std::int64_t now_ms, bool ended = true);
  void wait(std::string reason, std::int64_t now_ms, bool ended = true);
  void task(const TimelineEvent& event);
  void moment(const TimelineEvent& event, std::string name);
  void use_lane(const std::string& name);

  Chart& chart_;
  std::optional<Open> phase_;
  std::optional<Open> wait_;
  std::map<std::string, Span> running_;  // spans without an end, by task
  std::set<std::string> used_;           // names in Chart::lanes
};

void ChartMaker::use_lane(const std::string& name) {
  if (used_.insert(name).second) chart_.lanes.push_back(name);
}

void ChartMaker::phase(std::string name, std::int64_t now_ms, bool ended) {
  if (phase_) {
    use_lane(kPhases);
    chart_.spans.push_back({.kind = Span::Kind::kPhase,
                            .lane = kPhases,
                            .name = phase_->name,
                            .start_ms = phase_->since_ms,
                            .end_ms = now_ms,
                            .ended = ended});
  }
  phase_.reset();
  if (!name.empty()) phase_ = Open{std::move(name), now_ms};
}

void ChartMaker::wait(std::string reason, std::int64_t now_ms, bool ended) {
  if (wait_) {
    use_lane(kWaits);
    chart_.spans.push_back({.kind = Span::Kind::kWait,
                            .lane = kWaits,
                            .name = "wait",
                            .start_ms = wait_->since_ms,
                            .end_ms = now_ms,
                            .text = wait_->name,
                            .ended = ended});
  }
  wait_.reset();
  if (!reason.empty()) wait_ = Open{std::move(reason), now_ms};
}

void ChartMaker::task(const TimelineEvent& event) {
  use_lane(event.task);
  Span span{.lane = event.task,
            .name = event.task,
            .task_kind = event.kind,
            .start_ms = event.at_ms,
            .end_ms = event.at_ms,
            .incarnation = event.incarnation,
            .rank = event.rank};
  if (event.event != "end") {
    running_.insert_or_assign(event.task, std::move(span));
    return;
  }
  span.start_ms = event.since_ms > 0 ? event.since_ms : event.at_ms;
  span.exit_code = event.exit_code;
  span.signal = event.signal;
  span.text = event.text;
  running_.erase(event.task);
  chart_.spans.push_back(std::move(span));
}

void ChartMaker::moment(const TimelineEvent& event, std::string name) {
  // A failure belongs to the job; its task may be on a different node.
  const bool is_task = !event.task.empty() && event.event != "first_failure";
  if (is_task) use_lane(event.task);
  chart_.moments.push_back({.lane = is_task ? event.task : kPhases,
                            .task = event.task,
                            .name = std::move(name),
                            .at_ms = event.at_ms,
                            .rank = event.rank,
                            .text = event.text});
}

void ChartMaker::read(const TimelineEvent& event) {
  const std::string_view what = event.event;
  if (event.node >= 0) chart_.node = event.node;
  if (what == "begin") {
    phase("preparing", event.at_ms);
  } else if (what == "host") {
    chart_.host = event.text;
  } else if (what == "phase") {
    phase(event.text, event.at_ms);
  } else if (what == "wait" || what == "wait_over") {
    wait(event.text, event.at_ms);
  } else if (what == "start" || what == "end") {
    task(event);
  } else if (what == "stage") {
    use_lane(event.task);
    chart_.spans.push_back({.kind = Span::Kind::kStage,
                            .lane = event.task,
                            .name = event.text,
                            .task_kind = event.kind,
                            .start_ms = event.since_ms > 0 ? event.since_ms : event.at_ms,
                            .end_ms = event.at_ms});
  } else if (what == "first_failure") {
    moment(event, "first failure");
  } else if (!event.signal.empty()) {
    moment(event, event.signal);
    if (chart_.moments.back().text.empty()) chart_.moments.back().text = event.event;
  } else if (what != "exec" && what != "exit" && what != "steps" && what != "resources" &&
             what != "plan" && what != "failure_output" && what != "failure_cause") {
    moment(event, event.event);
  }
}

void ChartMaker::close() {
  phase("", chart_.end_ms, false);
  wait("", chart_.end_ms, false);
  base::stable_sort(chart_.lanes, std::less(), [](const std::string& lane) {
    return lane == kPhases ? 0 : lane == kWaits ? 1 : 2;
  });
  for (auto& [task, span] : running_) {
    span.end_ms = chart_.end_ms;
    span.ended = false;
    chart_.spans.push_back(std::move(span));
  }
}

}  // namespace

Chart chart_of(const NodeRun& run) {
  Chart chart;
  if (run.events.empty()) return chart;
  chart.begin_ms = run.events.front().at_ms;
  chart.end_ms = run.events.front().at_ms;
  // The clock may have been set back during the run.
  for (const TimelineEvent& event : run.events) {
    chart.begin_ms = std::min(chart.begin_ms, event.at_ms);
    chart.end_ms = std::max(chart.end_ms, event.at_ms);
  }
  ChartMaker maker(chart);
  for (const TimelineEvent& event : run.events) maker.read(event);
  maker.close();
  chart.resources = resources_of(run.events);
  return chart;
}

std::string node_text(const Chart& chart) {
  return "node " + std::to_string(chart.node) + (chart.host.empty() ? "" : " (" + chart.host + ")");
}

}  // namespace report
