#pragma once
// A report as one HTML file, which opens without a network: no scripts, no fonts, no pictures from
// elsewhere.

#include <string>

#include "init/report/summary.h"

namespace report {

std::string html_of(const Summary& summary);

}  // namespace report
