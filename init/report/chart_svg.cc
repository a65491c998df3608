#include "init/report/chart_svg.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/printed_text.h"
#include "init/report/markup.h"

namespace report {
namespace {

// Sizes in user units. The picture scales with the window.
constexpr std::int64_t kLabels = 170;
constexpr std::int64_t kWidth = 1000;
constexpr std::int64_t kPlot = kWidth - kLabels - 10;
constexpr std::int64_t kRow = 16;
constexpr std::int64_t kBar = 12;
constexpr std::int64_t kAxis = 24;
constexpr std::int64_t kNodeGap = 10;
constexpr std::int64_t kTenth = 10;  // positions have one decimal

constexpr std::size_t kMaxLanes = 400;  // limit for all nodes
constexpr std::size_t kFewestLanesOfNode = 6;
constexpr std::size_t kMaxMoments = 500;  // limit for each node
constexpr std::size_t kMaxBars = 10'000;  // limit for each node
constexpr std::size_t kLongestLabel = 24;

// The tasks that failed first, and the times of the failures.
using Failures = std::set<std::pair<std::string, std::int64_t>>;

Failures failures_of(const Chart& chart) {
  Failures failures;
  for (const Moment& moment : chart.moments) {
    if (moment.name == "first failure") failures.emplace(moment.task, moment.at_ms);
  }
  return failures;
}

bool is_failed(const Failures& failures, const Span& span) {
  constexpr std::int64_t kSlackMs = 2000;  // the failure is reported after the end of the task
  if (span.exit_code == 0) return false;
  const auto next = failures.lower_bound({span.lane, span.end_ms - kSlackMs});
  return next != failures.end() && next->first == span.lane &&
         next->second <= span.end_ms + kSlackMs;
}

class Picture {
 public:
  explicit Picture(const Summary& summary)
      : summary_(summary),
        begin_ms_(summary.begin_ms),
        length_ms_(std::max<std::int64_t>(summary.end_ms - summary.begin_ms, 1)) {}

  std::string draw();

 private:
  void draw_axis();
  void draw_node(const Chart& chart);
  void draw_span(const Failures& failures, const Span& span, std::int64_t top);
  void draw_moment(const Moment& moment, std::int64_t top);
  void label(std::string_view text, std::int64_t top, const char* kind);
  [[nodiscard]] std::string x_of(std::int64_t ms) const;
  [[nodiscard]] std::string width_of(std::int64_t from_ms, std::int64_t to_ms) const;
  [[nodiscard]] std::vector<std::string> shown_lanes(const Chart& chart,
                                                     const Failures& failures) const;

  const Summary& summary_;
  std::int64_t begin_ms_;
  std::int64_t length_ms_;
  std::int64_t bottom_ = kAxis;
  std::string body_;
};

std::string position_text(std::int64_t tenths) {
  return std::to_string(tenths / kTenth) + "." + std::to_string(tenths % kTenth);
}

std::string Picture::x_of(std::int64_t ms) const {
  const std::int64_t since_ms = std::clamp<std::int64_t>(ms - begin_ms_, 0, length_ms_);
  return position_text(kLabels * kTenth + since_ms * kPlot * kTenth / length_ms_);
}

// Returns the width of a span. Very short spans get a minimum width, so that they can be seen.
std::string Picture::width_of(std::int64_t from_ms, std::int64_t to_ms) const {
  const std::int64_t length_ms = std::clamp<std::int64_t>(to_ms - from_ms, 0, length_ms_);
  return position_text(std::max<std::int64_t>(length_ms * kPlot * kTenth / length_ms_, 8));
}

// Returns the distance between two ticks, so that there are at most about twelve.
std::int64_t tick_ms(std::int64_t length_ms) {
  static constexpr std::array<std::int64_t, 20> kSteps{
      1,         5,          10,         50,         100,        500,        1000,
      5000,      10'000,     30'000,     60'000,     300'000,    600'000,    1'800'000,
      3'600'000, 10'800'000, 21'600'000, 43'200'000, 86'400'000, 604'800'000};
  for (const std::int64_t step : kSteps) {
    if (length_ms / step <= 12) return step;
  }
  return length_ms / 10;
}

void Picture::draw_axis() {
  const std::int64_t step_ms = tick_ms(length_ms_);
  for (std::int64_t at_ms = 0; at_ms <= length_ms_; at_ms += step_ms) {
    const std::string x = x_of(begin_ms_ + at_ms);
    body_ += "<line class=\"tick\" x1=\"" + x + "\" x2=\"" + x + "\" y1=\"16\" y2=\"" +
             std::to_string(bottom_) + "\"/><text class=\"time\" x=\"" + x + "\" y=\"11\">" +
             (at_ms == 0 ? "0" : duration_text(at_ms)) + "</text>\n";
  }
}

void Picture::label(std::string_view text, std::int64_t top, const char* kind) {
  const bool is_cut = text.size() > kLongestLabel;
  body_ += "<text class=\"" + std::string(kind) + "\" x=\"" +
           (kind == std::string_view("lane") ? "12" : "0") + "\" y=\"" +
           std::to_string(top + kBar - 2) + "\">" +
           escaped(is_cut ? std::string(base::cut_text(text, kLongestLabel - 1)) + "…"
                          : std::string(text)) +
           "</text>\n";
}

std::string class_of(const Failures& failures, const Span& span) {
  switch (span.kind) {
    case Span::Kind::kPhase:
      return "phase-" + span.name;
    case Span::Kind::kWait:
      return "wait";
    case Span::Kind::kStage:
      return "stage";
    case Span::Kind::kTask:
      break;
  }
  if (is_failed(failures, span)) return "failed";
  if (span.task_kind == "main" || span.task_kind == "service") {
    return span.exit_code == 0 || !span.ended ? "good" : "ended";
  }
  if (span.task_kind == "data") return "data";
  if (span.exit_code > 0) return "failed";
  return span.task_kind == "resolve" ? "resolve" : "hook";
}

std::string span_title(const Span& span) {
  std::string title = span.name;
  if (span.incarnation > 1) title += ", start " + std::to_string(span.incarnation);
  title += ": " + duration_text(std::max<std::int64_t>(span.end_ms - span.start_ms, 0));
  if (!span.ended) title += ", not ended";
  if (!span.signal.empty()) {
    title += ", " + span.signal;
  } else if (span.exit_code >= 0) {
    title += ", exit code " + std::to_string(span.exit_code);
  }
  if (!span.text.empty()) title += "\n" + span.text;
  return title;
}

void Picture::draw_span(const Failures& failures, const Span& span, std::int64_t top) {
  const bool inside = span.kind == Span::Kind::kStage;
  body_ += "<rect class=\"" + escaped(class_of(failures, span)) + "\" x=\"" + x_of(span.start_ms) +
           "\" y=\"" + std::to_string(inside ? top + 4 : top) + "\" width=\"" +
           width_of(span.start_ms, span.end_ms) + "\" height=\"" +
           std::to_string(inside ? kBar - 8 : kBar) + "\"><title>" + escaped(span_title(span)) +
           "</title></rect>\n";
}

void Picture::draw_moment(const Moment& moment, std::int64_t top) {
  const bool failure = moment.name == "first failure";
  const std::string x = x_of(moment.at_ms);
  std::string title = moment.name + " at " + utc_text(moment.at_ms);
  if (!moment.text.empty()) title += "\n" + moment.text;
  body_ += "<g class=\"" + std::string(failure ? "moment failure" : "moment") + "\"><path d=\"M" +
           x + " " + std::to_string(top - 1) + "v" + std::to_string(kBar + 2) + "\"/><title>" +
           escaped(title) + "</title></g>\n";
}

// Returns the lanes to draw: the phases, tasks that are not ranks, failed ranks, and other ranks up
// to the limit.
std::vector<std::string> Picture::shown_lanes(const Chart& chart, const Failures& failures) const {
  const std::size_t most =
      std::max(kFewestLanesOfNode, kMaxLanes / std::max<std::size_t>(summary_.nodes.size(), 1));
  if (chart.lanes.size() <= most) return chart.lanes;
  std::set<std::string_view> matter;
  for (const Span& span : chart.spans) {
    if (span.task_kind != "main" || is_failed(failures, span)) matter.insert(span.lane);
  }
  std::vector<std::string> shown;
  for (int round = 0; round < 2; ++round) {
    for (const std::string& lane : chart.lanes) {
      if (shown.size() < most && matter.contains(lane) == (round == 0)) shown.push_back(lane);
    }
  }
  return shown;
}

void Picture::draw_node(const Chart& chart) {
  bottom_ += kNodeGap;
  label(node_text(chart), bottom_, "node");
  bottom_ += kRow;
  const Failures failures = failures_of(chart);
  const std::vector<std::string> lanes = shown_lanes(chart, failures);
  std::map<std::string_view, std::int64_t> tops;
  for (const std::string& lane : lanes) {
    label(lane, bottom_, "lane");
    tops.emplace(lane, bottom_);
    bottom_ += kRow;
  }
  // If there are too many spans, the last ones are drawn, because they show how the run ended.
  std::vector<std::pair<const Span*, std::int64_t>> bars;
  for (const Span& span : chart.spans) {
    const auto top = tops.find(span.lane);
    if (top != tops.end()) bars.emplace_back(&span, top->second);
  }
  const std::size_t left_out = bars.size() - std::min(bars.size(), kMaxBars);
  for (const auto& [span, top] : std::span(bars).subspan(left_out)) draw_span(failures, *span, top);
  std::size_t moments = 0;
  for (const Moment& moment : chart.moments) {
    const auto top = tops.find(moment.lane);
    if (top != tops.end() && ++moments <= kMaxMoments) draw_moment(moment, top->second);
  }
  if (left_out > 0) {
    label(std::to_string(left_out) + " earlier bars", bottom_, "lane");
    bottom_ += kRow;
  }
  if (lanes.size() < chart.lanes.size()) {
    label("and " + std::to_string(chart.lanes.size() - lanes.size()) + " more", bottom_, "lane");
    bottom_ += kRow;
  }
}

std::string Picture::draw() {
  for (const NodeSummary& node : summary_.nodes) draw_node(node.chart);
  const std::string rows = std::move(body_);
  body_.clear();
  draw_axis();
  return "<svg viewBox=\"0 0 " + std::to_string(kWidth) + " " + std::to_string(bottom_ + 4) +
         "\" role=\"img\" aria-label=\"time line\">\n" + body_ + rows + "</svg>\n";
}

}  // namespace

std::string svg_of(const Summary& summary) { return Picture(summary).draw(); }

}  // namespace report
