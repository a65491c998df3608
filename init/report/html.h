#pragma once
// A report as one HTML file. It opens without a network: it has no scripts, and no fonts or
// pictures from other places.

#include <string>

#include "init/report/summary.h"

namespace report {

std::string html_of(const Summary& summary);

}  // namespace report
