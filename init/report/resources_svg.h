#pragma once
// The memory and the CPUs of the ranks over time as SVGs: a line for each rank and start, with the
// failures. The memory has a line for each container, and its limit.

#include <string>

#include "init/report/summary.h"

namespace report {

// Both return "" if no value is known. Of many ranks they show those with the highest values.
std::string memory_svg_of(const Summary& summary);
std::string cpu_svg_of(const Summary& summary);

}  // namespace report
