#include "init/report/progress.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/stable_sort.h"
#include "base/text.h"

namespace report {
namespace {

// Sums of steps must not overflow, whatever the file has.
constexpr std::int64_t kMaxStep = 1'000'000'000'000'000;

struct Entry {
  std::string name;
  std::int64_t step = -1;
  std::int64_t age_ms = 0;
  std::int64_t first = -1;  // -1: not the first record of a start
  std::int64_t saved = -1;
};

// Reads "rank-0 40 120 first 16 saved 30".
std::optional<Entry> entry_of(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  const std::vector<std::string_view> words = base::split(text, ' ');
  if (words.size() < 3 || words.size() % 2 == 0) return std::nullopt;
  Entry entry{.name = std::string(words[0])};
  const auto number = [&words](std::size_t i, std::int64_t& value) {
    const auto parsed = base::parse_number<std::int64_t>(words[i]);
    if (parsed) value = *parsed;
    return parsed.has_value();
  };
  if (!number(1, entry.step) || !number(2, entry.age_ms)) return std::nullopt;
  if (entry.step > kMaxStep) return std::nullopt;
  for (std::size_t i = 3; i + 1 < words.size(); i += 2) {
    std::int64_t& value = words[i] == "first" ? entry.first : entry.saved;
    if (!number(i + 1, value) || value > kMaxStep) return std::nullopt;
  }
  return entry;
}

class ProgressReader {
 public:
  // `run`: the index of the node's run. Ranks of the same name in two runs are two ranks.
  void read(const engine::TimelineEvent& event, std::size_t run) {
    for (const std::string_view part : base::split(event.text, ',')) {
      if (const auto entry = entry_of(part)) add(*entry, event.at_ms, run);
    }
  }
  Progress take() {
    Progress progress;
    const auto is_named = [](const auto& one, const std::string& name) {
      return one.first.first == name;
    };
    for (auto it = ranks_.begin(); it != ranks_.end(); ++it) {
      const auto& [name, run] = it->first;
      const bool again = (it != ranks_.begin() && is_named(*std::prev(it), name)) ||
                         (std::next(it) != ranks_.end() && is_named(*std::next(it), name));
      it->second.name = again ? name + " (run " + std::to_string(run + 1) + ")" : name;
    }
    for (auto& [key, rank] : ranks_) progress.ranks.push_back(std::move(rank));
    progress.saves = std::move(saves_);
    base::stable_sort(progress.saves, std::less(), &StepPoint::at_ms);
    return progress;
  }

 private:
  void add(const Entry& entry, std::int64_t at_ms, std::size_t run) {
    if (entry.saved >= 0) saves_.push_back({at_ms, entry.saved});
    if (entry.step < 0) return;
    RankSteps& rank = ranks_[{entry.name, run}];
    if (entry.first >= 0) rank.starts.push_back({.first = entry.first, .points = {}});
    if (rank.starts.empty()) rank.starts.push_back({.first = entry.step, .points = {}});
    std::vector<StepPoint>& points = rank.starts.back().points;
    const std::int64_t since_ms = points.empty() ? 0 : points.back().at_ms;
    const std::int64_t reported_ms = at_ms - std::clamp<std::int64_t>(entry.age_ms, 0, at_ms);
    points.push_back({std::max(reported_ms, since_ms), entry.step});
  }

  std::map<std::pair<std::string, std::size_t>, RankSteps> ranks_;  // by name and run
  std::vector<StepPoint> saves_;
};

// The steps of one start that still count: those after `low`, up to `high`.
struct Kept {
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::int64_t reached = 0;
};

// Returns when the start had reached this step; between two points by interpolation.
std::int64_t time_of(const StepStart& start, std::int64_t step) {
  const StepPoint* before = nullptr;
  for (const StepPoint& point : start.points) {
    if (point.step >= step) {
      if (before == nullptr || point.step == before->step) return point.at_ms;
      const double share =
          static_cast<double>(step - before->step) / static_cast<double>(point.step - before->step);
      return before->at_ms +
             static_cast<std::int64_t>(static_cast<double>(point.at_ms - before->at_ms) * share);
    }
    before = &point;
  }
  return start.points.back().at_ms;
}

// Returns the number of steps that were done before the first reported one. Some jobs print a
// progress bar at step 0, before any step.
std::int64_t begin_of(std::int64_t first) { return std::max<std::int64_t>(first - 1, 0); }

// Returns the step from which a start has continued that reports `first` as its first step at
// `at_ms`. A progress bar shows the saved step itself at first.
std::int64_t resumed_at(const std::vector<StepPoint>& saves, std::int64_t first,
                        std::int64_t at_ms) {
  std::int64_t step = -1;
  for (const StepPoint& save : saves) {
    if (save.at_ms <= at_ms && save.step <= first) step = std::max(step, save.step);
  }
  return step >= 0 ? step : begin_of(first);
}

// Returns false for a number that goes back within one start, as a count of the steps of an epoch
// does. It does not tell how many steps the job has done.
bool counts_whole_job(const RankSteps& rank) {
  return std::ranges::all_of(rank.starts, [](const StepStart& start) {
    return std::ranges::is_sorted(start.points, {}, &StepPoint::step);
  });
}

void judge(Progress& progress, const RankSteps& rank, bool failed) {
  std::vector<Kept> kept;
  const auto cut = [&kept](std::int64_t step) {
    for (Kept& one : kept) one.high = std::clamp(step, one.low, one.high);
  };
  for (const StepStart& start : rank.starts) {
    std::int64_t low = begin_of(start.first);
    if (!kept.empty()) {
      low = resumed_at(progress.saves, start.first, start.points.front().at_ms);
      cut(low);
    }
    std::int64_t reached = start.first;
    for (const StepPoint& point : start.points) reached = std::max(reached, point.step);
    kept.push_back({low, reached, reached});
  }
  // A job that went back may have saved a smaller step than before.
  if (failed && !progress.saves.empty()) cut(progress.saves.back().step);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const Kept& one = kept[i];
    progress.done += one.reached - one.low;
    progress.kept += one.high - one.low;
    if (one.high == one.reached) continue;
    const StepStart& start = rank.starts[i];
    progress.lost.push_back({time_of(start, one.high), time_of(start, one.reached)});
  }
}

// Returns when the job next stopped after `at_ms`; `at_ms` if it did not. The step in between was
// not done.
std::int64_t stop_after(const std::vector<NodeRun>& runs, std::int64_t at_ms) {
  std::int64_t stop_ms = INT64_MAX;
  for (const NodeRun& run : runs) {
    for (const engine::TimelineEvent& event : run.events) {
      const bool stops = event.event == "phase" && event.text == "stopping";
      if (stops && event.at_ms >= at_ms) stop_ms = std::min(stop_ms, event.at_ms);
    }
  }
  return stop_ms == INT64_MAX ? at_ms : stop_ms;
}

}  // namespace

Progress progress_of(const std::vector<NodeRun>& runs, bool failed) {
  ProgressReader reader;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const engine::TimelineEvent& event : runs[i].events) {
      if (event.event == "steps") reader.read(event, i);
    }
  }
  Progress progress = reader.take();
  const auto lead = std::ranges::max_element(
      progress.ranks, {}, [](const RankSteps& rank) { return rank.starts.size(); });
  if (lead != progress.ranks.end() && counts_whole_job(*lead)) judge(progress, *lead, failed);
  for (Interval& lost : progress.lost) lost.to_ms = stop_after(runs, lost.to_ms);
  return progress;
}

}  // namespace report
