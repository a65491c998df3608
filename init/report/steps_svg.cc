#include "init/report/steps_svg.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "init/report/curves_svg.h"

namespace report {
namespace {

constexpr std::size_t kMaxRanks = 64;
constexpr std::size_t kMaxSaves = 500;

std::string step_text(std::int64_t step) { return std::to_string(step); }

// Sets the edges of the picture to the steps of all ranks.
void set_edges(CurvePicture& picture, const std::vector<RankSteps>& ranks) {
  std::int64_t low = INT64_MAX;
  for (const RankSteps& rank : ranks) {
    for (const StepStart& start : rank.starts) {
      for (const StepPoint& point : start.points) {
        low = std::min(low, point.step);
        picture.high = std::max(picture.high, point.step);
      }
    }
  }
  // A run that begins late, at step 1000000, would be a flat line at the top.
  picture.low = low > picture.high / 2 ? low : 0;
  picture.grid = grid_of(picture.high - picture.low);
}

Curve curve_of(const RankSteps& rank, const StepStart& start, std::size_t number) {
  Curve curve{.style = curve_style(number), .title = {}, .points = {}};
  for (const StepPoint& point : start.points) curve.points.push_back({point.at_ms, point.step});
  const StepPoint& last = start.points.back();
  curve.title = rank.name + ": step " + std::to_string(last.step) + " at " + utc_text(last.at_ms);
  return curve;
}

}  // namespace

std::string steps_svg_of(const Summary& summary) {
  const std::vector<RankSteps>& ranks = summary.progress.ranks;
  if (ranks.empty()) return "";
  CurvePicture picture{.label = "steps over time", .value_text = step_text};
  picture.lost = summary.progress.lost;
  set_edges(picture, ranks);
  for (std::size_t i = 0; i < std::min(ranks.size(), kMaxRanks); ++i) {
    for (const StepStart& start : ranks[i].starts) {
      picture.curves.push_back(curve_of(ranks[i], start, i));
    }
  }
  const std::vector<StepPoint>& saves = summary.progress.saves;
  for (std::size_t i = saves.size() - std::min(saves.size(), kMaxSaves); i < saves.size(); ++i) {
    picture.marks.push_back(
        {{saves[i].at_ms, saves[i].step}, "saved step " + std::to_string(saves[i].step)});
  }
  return curves_svg_of(summary, picture);
}

}  // namespace report
