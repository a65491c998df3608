#pragma once
// Plans the output of a node's processes: which of them write through the tee, and the prefix of
// their lines.

#include "envgen/plan/plan.h"
#include "envgen/plan/request.h"

namespace envgen {

// Sets Process::tee, echo and prefix of plan.processes. The launcher must have set their files.
//   --output tee        each has its file, and its output is copied to trainit's stdout and stderr
//   --log-max-size      output to a file goes through the tee, which begins a new file at that size
//   --log-prefix 1      output to trainit's stdout goes through the tee, each line after the prefix
//                       "[rank 3] "; the default with --output tee if several processes share it
//   --perf-threshold    output to trainit's stdout goes through the tee, which reads it too
// Services, hooks and post-stop processes never use the tee.
void plan_output(const Request& request, Plan& plan);

}  // namespace envgen
