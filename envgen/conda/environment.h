#pragma once
// Helpers for the changes that conda and CANN make to a job's environment: scripts that a shell
// sources before the start, and library paths, which must come after those of the driver.

#include <string>
#include <string_view>
#include <vector>

#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"

namespace envgen {

// Returns the environment with which `plan` starts: the snapshot's environment with the edits of
// plan.env.
base::Environ planned_environ(const Inputs& inputs, const Plan& plan);

// Adds the scripts to plan.leave_scripts and plan.scripts, and chooses the shell that sources them:
// bash, for which they are written, otherwise sh. If the image has no shell, a warning of the plan
// names the scripts. Does nothing while the snapshot lacks the path of a shell.
void add_scripts(Inputs& inputs, const std::vector<std::string>& leave_scripts,
                 const std::vector<std::string>& scripts, Plan& plan);

// Returns true if a shell can have a variable of this name. A shell may drop other variables, such
// as "BATCH_JOB.0_HOSTS".
bool is_shell_name(std::string_view name);

// Adds `directories` to a ':'-separated list of library directories. They are inserted directly
// after the last driver directory (/usr/local/nvidia/lib, .../Ascend/driver/lib64 and similar),
// because conda's libraries must not hide the driver's. If the list has no driver directory, they
// come first. The result has no duplicates, and no empty element, which the loader would read as
// the current directory.
std::string with_library_dirs(std::string_view list, const std::vector<std::string>& directories);

// Returns the LD_LIBRARY_PATH of the job after scripts have run. A shell must not run with conda's
// libraries, for example its libtinfo, so the scripts start with `before` and leave `after`. The
// directories that `planned` has in addition to `before` are then added to `after`.
std::string with_planned_libraries(std::string_view before, std::string_view planned,
                                   std::string_view after);

}  // namespace envgen
