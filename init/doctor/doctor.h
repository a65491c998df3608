#pragma once
// Checks of the machine that a job is to run on: devices, limits, disks, network, kernel. Each one
// runs in a forked child with a deadline of its own, all at the same time, so that a hanging mount,
// driver or name server costs one finding and no more than the deadline. Blocks until all have
// answered: for commands and workers, never for PID 1.

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

// Of a plan, PID 1's decoded one included. `start` is the environment that trainit was started
// with, to which the plan's edits are applied for the job's.
Context context_of(const envgen::Plan& plan, const envgen::Environ& start);

struct Check {
  std::string_view name;
  std::string_view help;
  std::vector<envgen::CheckResult> (*run)(const Context& context);
};
std::span<const Check> all_checks();

// Names of checks, separated by commas; refuses one that is none. "" = none.
envgen::Result<std::vector<std::string>> parse_check_names(std::string_view list);

// The checks in `only`, or all where it is empty, in the table's order; at least one result each.
std::vector<envgen::CheckResult> run_checks(const std::vector<std::string>& only,
                                            const Context& context);

}  // namespace doctor
