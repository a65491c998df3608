#include "init/report/time_shares.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/stable_sort.h"

namespace report {
namespace {

using Covers = std::array<int, kTimeShares>;

struct Edge {
  std::int64_t at_ms = 0;
  TimeShare share = TimeShare::kStarting;
  int step = 0;  // 1: begin, -1: end
};

bool runs(const Span& span) {
  return span.kind == Span::Kind::kPhase &&
         (span.name == "running" || span.name == "checkpointing");
}

std::optional<TimeShare> share_of(const Span& span) {
  switch (span.kind) {
    case Span::Kind::kWait:
      return TimeShare::kWaiting;
    case Span::Kind::kStage:
      return std::nullopt;  // the time of its task counts instead
    case Span::Kind::kPhase:
      if (runs(span)) return TimeShare::kRunning;
      return span.name == "preparing" || span.name == "starting" || span.name == "auto-restart"
                 ? TimeShare::kStarting
                 : TimeShare::kStopping;
    case Span::Kind::kTask:
      break;
  }
  if (span.task_kind == "data") return TimeShare::kData;
  const bool is_job = span.task_kind == "main" || span.task_kind == "service";
  if (is_job || span.task_kind == "resolve" || span.task_kind.empty()) return std::nullopt;
  return TimeShare::kHooks;
}

void add(std::vector<Edge>& edges, TimeShare share, std::int64_t from_ms, std::int64_t to_ms) {
  if (to_ms <= from_ms) return;
  edges.push_back({from_ms, share, 1});
  edges.push_back({to_ms, share, -1});
}

void add_losses(std::vector<Edge>& edges, const Chart& chart) {
  std::map<std::int64_t, std::int64_t> stops;  // ends of the stops, by their starts
  std::set<std::int64_t> begins;               // starts of running phases
  for (const Span& span : chart.spans) {
    if (runs(span)) begins.insert(span.start_ms);
    if (span.kind != Span::Kind::kPhase || span.name != "stopping") continue;
    std::int64_t& end_ms = stops[span.start_ms];
    end_ms = std::max(end_ms, span.end_ms);
  }
  for (const Moment& moment : chart.moments) {
    if (moment.name != "first failure") continue;
    // A failure on another node stops this one before the first failure is known.
    const auto after = stops.upper_bound(moment.at_ms);
    const auto stop = after == stops.begin() ? after : std::prev(after);
    const bool inside = after != stops.begin() && stop->second >= moment.at_ms;
    const auto next = begins.upper_bound(moment.at_ms);
    add(edges, TimeShare::kLost, inside ? stop->first : moment.at_ms,
        next == begins.end() ? chart.end_ms : std::min(*next, chart.end_ms));
  }
}

TimeShare first_of(const Covers& covers) {
  for (std::size_t i = 0; i < kTimeShares; ++i) {
    if (covers[i] > 0) return static_cast<TimeShare>(i);
  }
  return TimeShare::kStarting;
}

}  // namespace

std::string_view share_name(TimeShare share) {
  constexpr std::array<std::string_view, kTimeShares> kNames{
      "lost to failures", "running", "hooks", "waiting", "data", "starting", "stopping"};
  return kNames[static_cast<std::size_t>(share)];
}

TimeShares time_shares_of(const Chart& chart, const std::vector<Interval>& lost) {
  std::vector<Edge> edges;
  for (const Span& span : chart.spans) {
    // A span may begin before the events if the clock was set. Count it from the first event.
    const std::int64_t from_ms = std::max(span.start_ms, chart.begin_ms);
    if (const auto share = share_of(span)) add(edges, *share, from_ms, span.end_ms);
  }
  add_losses(edges, chart);
  for (const Interval& one : lost) {
    add(edges, TimeShare::kLost, std::max(one.from_ms, chart.begin_ms),
        std::min(one.to_ms, chart.end_ms));
  }
  base::stable_sort(edges, std::less(), &Edge::at_ms);
  TimeShares shares{};
  Covers covers{};
  std::int64_t at_ms = chart.begin_ms;
  for (const Edge& edge : edges) {
    const std::int64_t until_ms = std::clamp(edge.at_ms, at_ms, chart.end_ms);
    shares[static_cast<std::size_t>(first_of(covers))] += until_ms - at_ms;
    at_ms = until_ms;
    covers[static_cast<std::size_t>(edge.share)] += edge.step;
  }
  shares[static_cast<std::size_t>(first_of(covers))] += chart.end_ms - at_ms;
  return shares;
}

}  // namespace report
