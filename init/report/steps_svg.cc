#include "init/report/steps_svg.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "init/report/markup.h"

namespace report {
namespace {

// Sizes in user units, as in chart_svg.cc.
constexpr std::int64_t kLeft = 170;
constexpr std::int64_t kPlotWidth = 820;
constexpr std::int64_t kTop = 10;
constexpr std::int64_t kHeight = 180;
constexpr std::size_t kMaxRanks = 64;
constexpr std::size_t kMaxPoints = 20'000;
constexpr std::size_t kMaxSaves = 500;
constexpr std::size_t kHues = 6;

std::string tenths(std::int64_t value) {
  return std::to_string(value / 10) + "." + std::to_string(value % 10);
}

// Returns the distance between two lines of the grid, so that there are at most five.
std::int64_t grid_of(std::int64_t most) {
  std::int64_t step = 1;
  while (true) {
    for (const std::int64_t factor : {1, 2, 5}) {
      if (most / (step * factor) <= 5) return step * factor;
    }
    step *= 10;
  }
}

class StepsPicture {
 public:
  explicit StepsPicture(const Summary& summary)
      : summary_(summary),
        length_ms_(std::max<std::int64_t>(summary.end_ms - summary.begin_ms, 1)) {
    std::int64_t low = INT64_MAX;
    for (const RankSteps& rank : summary.progress.ranks) {
      for (const StepStart& start : rank.starts) {
        for (const StepPoint& point : start.points) {
          low = std::min(low, point.step);
          high_ = std::max(high_, point.step);
        }
      }
    }
    // A run that begins late, at step 1000000, would be a flat line at the top.
    low_ = low > high_ / 2 ? low : 0;
  }

  std::string draw();

 private:
  [[nodiscard]] std::string x_of(std::int64_t ms) const {
    const std::int64_t since_ms = std::clamp<std::int64_t>(ms - summary_.begin_ms, 0, length_ms_);
    return tenths(kLeft * 10 + since_ms * kPlotWidth * 10 / length_ms_);
  }
  [[nodiscard]] std::string y_of(std::int64_t step) const {
    const auto share = static_cast<double>(std::clamp(step, low_, high_) - low_) /
                       static_cast<double>(std::max<std::int64_t>(high_ - low_, 1));
    return tenths((kTop + kHeight) * 10 - static_cast<std::int64_t>(share * kHeight * 10));
  }
  void draw_lost();
  void draw_grid();
  void draw_rank(const RankSteps& rank, std::size_t hue);
  void draw_saves();
  void draw_failures();

  const Summary& summary_;
  std::int64_t length_ms_;
  std::int64_t low_ = 0;
  std::int64_t high_ = 0;
  std::size_t points_ = 0;
  std::string body_;
};

void StepsPicture::draw_lost() {
  for (const Interval& lost : summary_.progress.lost) {
    const std::int64_t from_ms = lost.from_ms - summary_.begin_ms;
    const std::int64_t width =
        std::max<std::int64_t>((lost.to_ms - lost.from_ms) * kPlotWidth * 10 / length_ms_, 10);
    body_ += "<rect class=\"lost\" x=\"" + x_of(lost.from_ms) + "\" y=\"" + std::to_string(kTop) +
             "\" width=\"" + tenths(width) + "\" height=\"" + std::to_string(kHeight) +
             "\"><title>lost steps, " + duration_text(std::max<std::int64_t>(from_ms, 0)) +
             " after the begin</title></rect>\n";
  }
}

void StepsPicture::draw_grid() {
  const std::int64_t distance = grid_of(high_ - low_);
  for (std::int64_t step = low_ / distance * distance; step <= high_; step += distance) {
    if (step < low_) continue;
    const std::string y = y_of(step);
    body_ += "<line class=\"tick\" x1=\"" + std::to_string(kLeft) + "\" x2=\"" +
             std::to_string(kLeft + kPlotWidth) + "\" y1=\"" + y + "\" y2=\"" + y +
             "\"/><text class=\"step\" x=\"" + std::to_string(kLeft - 6) + "\" y=\"" + y +
             "\" dy=\"3\">" + std::to_string(step) + "</text>\n";
  }
}

void StepsPicture::draw_rank(const RankSteps& rank, std::size_t hue) {
  for (const StepStart& start : rank.starts) {
    if (points_ + start.points.size() > kMaxPoints) return;
    points_ += start.points.size();
    std::string path;
    for (const StepPoint& point : start.points) {
      path += (path.empty() ? "M" : "L") + x_of(point.at_ms) + " " + y_of(point.step);
    }
    const StepPoint& last = start.points.back();
    // A single point has no length, but a round end.
    if (start.points.size() == 1) path += "h0.1";
    body_ += "<path class=\"steps hue-" + std::to_string(hue) + "\" d=\"" + path + "\"><title>" +
             escaped(rank.name) + ": step " + std::to_string(last.step) + " at " +
             utc_text(last.at_ms) + "</title></path>\n";
  }
}

void StepsPicture::draw_saves() {
  const std::vector<StepPoint>& saves = summary_.progress.saves;
  for (std::size_t i = saves.size() - std::min(saves.size(), kMaxSaves); i < saves.size(); ++i) {
    body_ += "<circle class=\"saved\" cx=\"" + x_of(saves[i].at_ms) + "\" cy=\"" +
             y_of(saves[i].step) + "\" r=\"3\"><title>saved step " + std::to_string(saves[i].step) +
             "</title></circle>\n";
  }
}

void StepsPicture::draw_failures() {
  for (const Failure& failure : summary_.failures) {
    body_ += "<g class=\"moment failure\"><path d=\"M" + x_of(failure.at_ms) + " " +
             std::to_string(kTop) + "v" + std::to_string(kHeight) + "\"/><title>" +
             escaped(failure.message) + "</title></g>\n";
  }
}

std::string StepsPicture::draw() {
  draw_lost();
  draw_grid();
  draw_failures();
  const std::vector<RankSteps>& ranks = summary_.progress.ranks;
  for (std::size_t i = 0; i < std::min(ranks.size(), kMaxRanks); ++i) {
    draw_rank(ranks[i], i % kHues);
  }
  draw_saves();
  return "<svg viewBox=\"0 0 1000 " + std::to_string(kTop + kHeight + 10) +
         "\" role=\"img\" aria-label=\"steps over time\">\n" + body_ + "</svg>\n";
}

}  // namespace

std::string steps_svg_of(const Summary& summary) {
  if (summary.progress.ranks.empty()) return "";
  return StepsPicture(summary).draw();
}

}  // namespace report
