#include "envgen/resolve/output.h"

#include <algorithm>
#include <string>

namespace envgen {
namespace {

std::string prefix_of(const Process& process) {
  if (process.rank < 0) return "[" + process.name + "] ";
  return "[rank " + std::to_string(process.rank) + "] ";
}

}  // namespace

void plan_output(const Request& request, Plan& plan) {
  const bool all = request.output == Output::kTee;
  const bool prefixed = request.log_prefix.value_or(all && plan.processes.size() > 1);
  bool any_file = false;
  for (Process& process : plan.processes) {
    const bool shown = all || process.log.empty();
    const bool file = !process.log.empty();
    any_file = any_file || file;
    // Only output that is shown on trainit's stdout is watched.
    const bool watched = shown && (reads_lines(plan.observe) || plan.observe.stall_ms > 0);
    process.tee = all || (shown && prefixed) || watched || (file && plan.observe.log_max_bytes > 0);
    process.echo = process.tee && shown;
    if (process.echo && prefixed) process.prefix = prefix_of(process);
  }
  if (plan.observe.log_max_bytes > 0 && !any_file) {
    plan.warnings.push_back(
        "--log-max-size is not used: no process writes to a file (--output files or tee)");
  }
}

}  // namespace envgen
