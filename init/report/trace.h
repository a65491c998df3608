#pragma once
// Charts in Chrome's trace event format
// (https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU), which Perfetto
// and chrome://tracing open. A node is a process, and a lane is one of its threads. Memory and
// CPUs are counters of the process. Times are microseconds of the wall clock.

#include <string>
#include <vector>

#include "init/report/chart.h"

namespace report {

std::string trace_of(const std::vector<Chart>& charts);

}  // namespace report
