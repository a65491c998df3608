#pragma once
// The edits that conda and CANN make to a job's environment without a shell. These are scripts to
// source later, and library paths behind those of the driver.

#include <string>
#include <string_view>
#include <vector>

#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"

namespace envgen {

// Returns the environment with which `plan` starts: the snapshot's environment with the edits of
// plan.env.
base::Environ planned_environ(const Inputs& inputs, const Plan& plan);

// Adds to plan.leave_scripts and plan.scripts, and chooses the shell: bash, for which the scripts
// are written, otherwise sh. If there is no shell, the plan warns with the scripts' names. Does
// nothing until both paths have been read.
void add_scripts(Inputs& inputs, const std::vector<std::string>& leave_scripts,
                 const std::vector<std::string>& scripts, Plan& plan);

// Returns true if a shell can use this variable name. A shell may drop other variables
// ("BATCH_JOB.0_HOSTS").
bool is_shell_name(std::string_view name);

// Adds `directories` to a ':'-separated list of library directories. The place is directly behind
// the last driver directory (/usr/local/nvidia/lib, .../Ascend/driver/lib64 and similar), because
// conda's libraries must not hide the driver's. In a list without driver directories the place is
// the front. The result has no duplicates, and no empty element, which the loader would read as the
// current directory.
std::string with_library_dirs(std::string_view list, const std::vector<std::string>& directories);

// Returns `after` with the directories that the plan added to `before`. `after` is LD_LIBRARY_PATH
// as left by scripts that ran with `before`: a shell must not run with conda's libraries, for
// example its libtinfo.
std::string with_planned_libraries(std::string_view before, std::string_view planned,
                                   std::string_view after);

}  // namespace envgen
