#pragma once
// The edits that a shell's scripts (conda's activate.d, CANN's set_env.sh) make to an environment.
// Blocks until the shell is done: for the resolver's child, never for PID 1.

#include <cstdint>
#include <vector>

#include "base/environ.h"
#include "base/result.h"
#include "envgen/plan/plan.h"

namespace engine {

// Sources plan.leave_scripts in one plan.shell whose environment is `environment`, then
// plan.scripts in one that has what came of it with plan.env applied. Appends to plan.env, as kSet
// and kUnset edits in the order of the names, what brings it there; the shell's own variables
// (PWD, OLDPWD, SHLVL, _, BASH...) are left out. Values may hold any byte. LD_LIBRARY_PATH is the
// shell's without what the plan adds to it, and gets that behind the scripts' own
// (envgen::with_planned_libraries).
//
// The shell is confined by plan.sandbox, as the job is, and finds the job's HOME, USER and LOGNAME.
// stdin is /dev/null; stdout, which is the job's, is stderr. A script that fails is a warning in
// the log that names it, as `conda activate` goes on too. An Error, which names the script: it ends
// the shell (exit, a signal), or the time is over. No scripts or no shell: no edits.
//
// The shell does not read BASH_ENV. Each bash of the job does: where plan.env says which programs
// or libraries are found, a bash is started with the job's environment and its file. If that file
// ends the shell, hangs, or undoes the plan of a job that is run by bash, a warning in the log
// names it.
envgen::Status source_scripts(envgen::Plan& plan, const envgen::Environ& environment,
                              std::int64_t timeout_ms);

}  // namespace engine
