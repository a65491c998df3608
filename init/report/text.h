#pragma once
// The text of a report for a terminal.

#include <string>

#include "init/report/summary.h"

namespace report {

std::string text_of(const Summary& summary);

}  // namespace report
