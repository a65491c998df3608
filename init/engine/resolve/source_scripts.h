#pragma once
// The changes that shell scripts (conda's activate.d, CANN's set_env.sh) make to the environment. A
// call blocks until the shell has ended, so it is for the resolver's child, never for PID 1.

#include <cstdint>
#include <vector>

#include "base/environ.h"
#include "base/result.h"
#include "envgen/plan/plan.h"

namespace engine {

// Sources plan.leave_scripts in one plan.shell that has `environment`. Then sources plan.scripts in
// a second shell, whose environment is the result of the first with plan.env applied. Appends the
// changes to plan.env, as kSet and kUnset edits in the order of the names. The shell's own
// variables (PWD, OLDPWD, SHLVL, _, BASH...) are left out. Values may hold any byte. The shell's
// LD_LIBRARY_PATH lacks the plan's additions, which are appended after the scripts' own
// (envgen::with_planned_libraries).
//
// The shell is confined by plan.sandbox, as the job is, and has the job's HOME, USER and LOGNAME.
// Its stdin is /dev/null. Its stdout, which is the job's, goes to stderr. If a script fails, a
// warning in the log names it and the start goes on, as `conda activate` does. Returns an Error
// that names the script if it ends the shell (exit, a signal), or at `timeout_ms`. Without scripts
// or without a shell there are no edits.
//
// The shell does not read BASH_ENV, but each bash of the job does. This matters if bash runs a
// process of the job, and the plan sets PATH, LD_LIBRARY_PATH or variables of that process. A bash
// is then started with the job's environment and its BASH_ENV. If that file ends the shell, hangs,
// or undoes the plan, a warning in the log names it.
base::Status source_scripts(envgen::Plan& plan, const base::Environ& environment,
                            std::int64_t timeout_ms);

}  // namespace engine
