#pragma once
// The charts of all nodes as one SVG over a common time axis. Its classes are those of the style
// sheet (html.cc). For a job with very many ranks it draws the failed ranks and as many others as a
// reader can look at. It also shows how many are left out.

#include <string>

#include "init/report/summary.h"

namespace report {

std::string svg_of(const Summary& summary);

}  // namespace report
