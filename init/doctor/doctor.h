#pragma once
// Checks of the machine on which a job will run: devices, limits, disks, network, kernel. Each
// check runs in its own forked child, all at the same time. So a mount, driver or name server that
// hangs costs one result, and at most the time limit. Blocks until all checks have answered: only
// for commands and workers, never for PID 1.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/environ.h"
#include "base/result.h"
#include "envgen/plan/plan.h"
#include "init/doctor/check_result.h"
#include "init/doctor/context.h"

namespace doctor {

// Makes the input of the checks from a plan, which can be the plan that PID 1 has decoded. `start`
// is the environment in which trainit was started. The plan's edits turn it into that of the job.
Context context_of(const envgen::Plan& plan, const base::Environ& start);

struct Check {
  std::string_view name;
  std::string_view help;
  std::vector<CheckResult> (*run)(const Context& context);
};
std::span<const Check> all_checks();

// Reads names of checks, separated by commas. Returns an error for an unknown name, and an empty
// list for "".
base::Result<std::vector<std::string>> parse_check_names(std::string_view list);

// Runs the checks in `only`, or all if it is empty. Returns at least one result for each, in the
// order of the table.
std::vector<CheckResult> run_checks(const std::vector<std::string>& only, const Context& context);

}  // namespace doctor
