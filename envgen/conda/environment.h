#pragma once
// The edits that conda and CANN make to a job's environment without a shell: scripts for later, the
// libraries of the driver before all others.

#include <string>
#include <string_view>
#include <vector>

#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"

namespace envgen {

// The environment that `plan` starts from: the snapshot's with plan.env on it.
Environ planned_environ(const Inputs& inputs, const Plan& plan);

// Adds to plan.leave_scripts and plan.scripts, with the shell for them: bash, for which they are
// written, else sh. Without any the plan warns, by name. Does nothing while that is not known yet.
void add_scripts(Inputs& inputs, const std::vector<std::string>& leave_scripts,
                 const std::vector<std::string>& scripts, Plan& plan);

// Whether a shell can name this variable. One that it cannot ("BATCH_JOB.0_HOSTS") it may drop.
bool is_shell_name(std::string_view name);

// A ':' list of library directories with `directories` in it, right behind the last driver
// directory (/usr/local/nvidia/lib, .../Ascend/driver/lib64 and their like), first when it has
// none: a library of conda's must not hide the driver's. Every directory stands once, and no empty
// element is left, which the loader would take for the current directory.
std::string with_library_dirs(std::string_view list, const std::vector<std::string>& directories);

// LD_LIBRARY_PATH after scripts that were run with `before` made `after` of it: with what the plan
// had added to `before`. A shell must not run with conda's libraries, its libtinfo among them.
std::string with_planned_libraries(std::string_view before, std::string_view planned,
                                   std::string_view after);

}  // namespace envgen
