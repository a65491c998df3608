#pragma once
// The steps of the ranks over time as one SVG: a line for each rank and start, with the saved steps
// and the failures. It has the time axis of the time line (chart_svg.h).

#include <string>

#include "init/report/summary.h"

namespace report {

// Returns "" if no rank has reported a step.
std::string steps_svg_of(const Summary& summary);

}  // namespace report
