#include "init/report/curves_svg.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "init/report/markup.h"

namespace report {
namespace {

// Sizes in user units, as in chart_svg.cc.
constexpr std::int64_t kLeft = 170;
constexpr std::int64_t kPlotWidth = 820;
constexpr std::int64_t kTop = 10;
constexpr std::int64_t kHeight = 180;
constexpr std::size_t kMaxPoints = 20'000;
constexpr std::size_t kHues = 6;

std::string tenths(std::int64_t value) {
  return std::to_string(value / 10) + "." + std::to_string(value % 10);
}

class CurveDrawer {
 public:
  CurveDrawer(const Summary& summary, const CurvePicture& picture)
      : summary_(summary),
        picture_(picture),
        length_ms_(std::max<std::int64_t>(summary.end_ms - summary.begin_ms, 1)) {}

  std::string draw();

 private:
  [[nodiscard]] std::string x_of(std::int64_t ms) const {
    const std::int64_t since_ms = std::clamp<std::int64_t>(ms - summary_.begin_ms, 0, length_ms_);
    return tenths(kLeft * 10 + since_ms * kPlotWidth * 10 / length_ms_);
  }
  [[nodiscard]] std::string y_of(std::int64_t value) const {
    const std::int64_t low = picture_.low;
    const auto share =
        static_cast<double>(std::clamp(value, low, std::max(low, picture_.high)) - low) /
        static_cast<double>(std::max<std::int64_t>(picture_.high - low, 1));
    return tenths((kTop + kHeight) * 10 - static_cast<std::int64_t>(share * kHeight * 10));
  }
  void draw_horizontal(std::string_view style, const std::string& y, const std::string& title);
  void draw_lost();
  void draw_grid();
  void draw_curve(const Curve& curve);
  void draw_marks();
  void draw_failures();

  const Summary& summary_;
  const CurvePicture& picture_;
  std::int64_t length_ms_;
  std::size_t points_ = 0;
  std::string body_;
};

void CurveDrawer::draw_lost() {
  for (const Interval& lost : picture_.lost) {
    const std::int64_t from_ms = lost.from_ms - summary_.begin_ms;
    const std::int64_t width =
        std::max<std::int64_t>((lost.to_ms - lost.from_ms) * kPlotWidth * 10 / length_ms_, 10);
    body_ += "<rect class=\"lost\" x=\"" + x_of(lost.from_ms) + "\" y=\"" + std::to_string(kTop) +
             "\" width=\"" + tenths(width) + "\" height=\"" + std::to_string(kHeight) +
             "\"><title>lost steps, " + duration_text(std::max<std::int64_t>(from_ms, 0)) +
             " after the begin</title></rect>\n";
  }
}

void CurveDrawer::draw_horizontal(std::string_view style, const std::string& y,
                                  const std::string& title) {
  body_ += "<line class=\"" + std::string(style) + "\" x1=\"" + std::to_string(kLeft) + "\" x2=\"" +
           std::to_string(kLeft + kPlotWidth) + "\" y1=\"" + y + "\" y2=\"" + y + "\"" +
           (title.empty() ? "/>" : "><title>" + escaped(title) + "</title></line>") + "\n";
}

void CurveDrawer::draw_grid() {
  const std::int64_t distance = std::max<std::int64_t>(picture_.grid, 1);
  for (std::int64_t value = picture_.low / distance * distance; value <= picture_.high;
       value += distance) {
    if (value < picture_.low) continue;
    const std::string y = y_of(value);
    draw_horizontal("tick", y, "");
    body_ += "<text class=\"step\" x=\"" + std::to_string(kLeft - 6) + "\" y=\"" + y +
             "\" dy=\"3\">" + escaped(picture_.value_text(value)) + "</text>\n";
  }
}

void CurveDrawer::draw_curve(const Curve& curve) {
  if (curve.points.empty() || points_ + curve.points.size() > kMaxPoints) return;
  points_ += curve.points.size();
  std::string path;
  for (const UsePoint& point : curve.points) {
    path += (path.empty() ? "M" : "L") + x_of(point.at_ms) + " " + y_of(point.value);
  }
  // A single point has no length, but a round end.
  if (curve.points.size() == 1) path += "h0.1";
  body_ += "<path class=\"" + curve.style + "\" d=\"" + path + "\"><title>" + escaped(curve.title) +
           "</title></path>\n";
}

void CurveDrawer::draw_marks() {
  for (const CurveMark& mark : picture_.marks) {
    body_ += "<circle class=\"saved\" cx=\"" + x_of(mark.point.at_ms) + "\" cy=\"" +
             y_of(mark.point.value) + "\" r=\"3\"><title>" + escaped(mark.title) +
             "</title></circle>\n";
  }
}

void CurveDrawer::draw_failures() {
  for (const Failure& failure : summary_.failures) {
    body_ += "<g class=\"moment failure\"><path d=\"M" + x_of(failure.at_ms) + " " +
             std::to_string(kTop) + "v" + std::to_string(kHeight) + "\"/><title>" +
             escaped(failure.message) + "</title></g>\n";
  }
}

std::string CurveDrawer::draw() {
  draw_lost();
  draw_grid();
  draw_failures();
  for (const CurveLimit& limit : picture_.limits) {
    draw_horizontal("limit", y_of(limit.value), limit.title);
  }
  for (const Curve& curve : picture_.curves) draw_curve(curve);
  draw_marks();
  return "<svg viewBox=\"0 0 1000 " + std::to_string(kTop + kHeight + 10) +
         "\" role=\"img\" aria-label=\"" + escaped(picture_.label) + "\">\n" + body_ + "</svg>\n";
}

}  // namespace

std::string curve_style(std::size_t rank) { return "steps hue-" + std::to_string(rank % kHues); }

std::int64_t grid_of(std::int64_t range) {
  std::int64_t distance = 1;
  while (true) {
    for (const std::int64_t factor : {1, 2, 5}) {
      if (range / (distance * factor) <= 5) return distance * factor;
    }
    distance *= 10;
  }
}

std::string curves_svg_of(const Summary& summary, const CurvePicture& picture) {
  return CurveDrawer(summary, picture).draw();
}

}  // namespace report
