#pragma once
// Curves over the time of a job as one SVG, with the failures. The time axis is that of the time
// line (chart_svg.h).

#include <cstdint>
#include <string>
#include <vector>

#include "init/report/progress.h"
#include "init/report/resources.h"
#include "init/report/summary.h"

namespace report {

struct Curve {
  std::string style;  // classes of the page's style sheet
  std::string title;  // shown when the reader points at the curve
  UsePoints points;
};

// A circle.
struct CurveMark {
  UsePoint point;
  std::string title;
};

// A horizontal line over the whole time.
struct CurveLimit {
  std::int64_t value = 0;
  std::string title;
};

struct CurvePicture {
  std::string label;  // name of the picture for screen readers
  std::vector<Curve> curves;
  std::vector<CurveMark> marks;
  std::vector<Interval> lost;  // shaded times, in which lost steps were done
  std::vector<CurveLimit> limits;
  std::int64_t low = 0;  // values at the lower and upper edge
  std::int64_t high = 0;
  std::int64_t grid = 1;  // distance between two lines of the grid
  std::string (*value_text)(std::int64_t value) = nullptr;
};

// Style of the curve of one rank: ranks beside each other have different colours.
std::string curve_style(std::size_t rank);
// Returns the distance between two lines of a grid over `range` in the row 1, 2, 5, 10, 20, so that
// there are at most five.
std::int64_t grid_of(std::int64_t range);

std::string curves_svg_of(const Summary& summary, const CurvePicture& picture);

}  // namespace report
