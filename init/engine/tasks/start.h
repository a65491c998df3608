#pragma once
// Decides how each process and hook of a plan starts: its environment, terminal and descriptors.
// proc::spawn carries it out.

#include <string>
#include <vector>

#include "envgen/plan/snapshot.h"
#include "init/engine/tasks/job.h"
#include "init/proc/spawn.h"

namespace engine {

// The values that the starts of all tasks share.
struct StartContext {
  const envgen::Snapshot& base;
  // Names of variables that the job does not get (Setup::own_variables).
  const std::vector<std::string>& own_variables;
  bool pid1 = false;
  bool pass_through = false;
  // A single main process stays in the process group of trainit's caller (proc::JobControl).
  bool callers_group = false;
  // Result of common_env() for the job; nullptr: spec_of() computes it.
  const base::Environ* common = nullptr;
  int exit_code = 0;           // exit code of the job, for post-stop processes
  std::uint32_t restarts = 0;  // number of restarts until now
};

// Returns the environment that all processes share. It is the base environment with the plan's
// edits, the paths of the data, the exports of hooks, and TRAINIT_RESTART_COUNT. If the job runs as
// another user, the plan's edits (from conda and scripts) are applied only if `for_job` is true.
// The job of a pass-through gets no TRAINIT_RESTART_COUNT.
base::Environ common_env(const Job& job, const StartContext& context, bool for_job);

// Returns true if the job's user is not trainit's user.
bool is_foreign(const envgen::Plan& plan);

// Returns the environment of a hook that a task runs: that of watch_env(). On-failure and post-stop
// hooks also get the job's result.
base::Environ hook_env(const Job& job, const TaskRecord& record, const StartContext& context);

// Returns the environment of a hook for `event`: the common one, the plan's facts and TRAINIT_PID.
base::Environ watch_env(const Job& job, envgen::HookEvent event, const StartContext& context);

// Returns the variables that the plan sets for its main processes. Exports of hooks must not change
// them.
std::vector<std::string> forced_names(const envgen::Plan& plan);

// Returns how to start a process of the plan. Its environment is the common one and then the
// process's own.
//
// A single main process gets the terminal and the descriptors that exec would have passed on. Any
// other task has its own session. Services and post-stop processes have no input. A service of the
// job (of_job) is confined as the main processes are. Post-stop processes also get
// TRAINIT_EXIT_CODE and, after a failure, TRAINIT_FIRST_FAILURE.
proc::SpawnSpec spec_of(const Job& job, const TaskRecord& record, const StartContext& context);

// Removes LISTEN_FDS, LISTEN_PID and LISTEN_FDNAMES from the environment of a process that does not
// inherit these descriptors (socket activation, sd_listen_fds(3)).
void unset_listen_fds(base::Environ& env);
// Returns the number of descriptors, from 3 on, that trainit got by socket activation (LISTEN_FDS).
// Only the main task gets them.
int listen_fds(const base::Environ& env);

}  // namespace engine
