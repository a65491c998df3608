#pragma once
// The charts of all nodes as one SVG over a common axis of time. Its classes are the style sheet's
// (html.cc). Of a job with very many ranks those that failed are drawn, and as many others as a
// reader can look at; how many are left out is said.

#include <string>

#include "init/report/summary.h"

namespace report {

std::string svg_of(const Summary& summary);

}  // namespace report
