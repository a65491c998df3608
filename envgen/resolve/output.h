#pragma once
// The output of a node's processes: which of them write through its tee, and how it is shown.

#include "envgen/plan/plan.h"
#include "envgen/plan/request.h"

namespace envgen {

// Decides Process::tee, echo and prefix of plan.processes, whose files the launcher has named:
//   --output tee        each has its file and is copied to our stdout and stderr
//   --log-max-size      what has a file goes through the tee, which begins it anew at that size
//   --log-prefix 1      what goes to our stdout goes through the tee, each line behind "[rank 3] ";
//                       by default with --output tee where more than one process shares it
//   --perf-threshold    what goes to our stdout goes through the tee, which reads it too
// Services, hooks and post-stop processes never do.
void plan_output(const Request& request, Plan& plan);

}  // namespace envgen
