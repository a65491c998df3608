#pragma once
// The start of each task of a plan: which environment, terminal and descriptors it has. The
// decisions only; proc::spawn carries them out.

#include <string>
#include <vector>

#include "envgen/plan/snapshot.h"
#include "init/engine/tasks/job.h"
#include "init/proc/spawn.h"

namespace engine {

// What all tasks of an instance have in common.
struct StartContext {
  const envgen::Snapshot& base;
  const std::vector<std::string>& own_variables;  // not for the job
  bool pid1 = false;
  bool pass_through = false;
  bool callers_group = false;  // proc::JobControl::in_callers_group: for a single main process
  const envgen::Environ* common = nullptr;  // common_env() for the job, where it is known
  int exit_code = 0;                        // the job's, for post-stop processes
  std::uint32_t restarts = 0;               // so far
};

// The environment of all that an instance starts: the base's with the plan's edits, where the data
// is, then what hooks have exported, and TRAINIT_RESTART_COUNT. Where the job is another user's the
// plan's edits (conda's, and what scripts have set) are `for_job` only.
envgen::Environ common_env(const Job& job, const StartContext& context, bool for_job);

// Whether the job's user is another than ours.
bool is_foreign(const envgen::Plan& plan);

// A hook's: the same with the plan's facts, what has become of the job, and TRAINIT_PID.
envgen::Environ hook_env(const Job& job, const TaskRecord& record, const StartContext& context);

// That of a hook which no task of the machine runs.
envgen::Environ watch_env(const Job& job, envgen::HookEvent event, const StartContext& context);

// The names that are the plan's alone, whatever a hook exports: what it sets for each process.
std::vector<std::string> forced_names(const envgen::Plan& plan);

// The environment is the common one and then the process's own. A single main
// process gets what exec would have passed on, and the terminal; any other task has its own
// session, and services and post-stop processes no input. A service of the job's (of_job) is
// confined as the main processes are. Post-stop processes also get TRAINIT_EXIT_CODE and, after a
// failure, TRAINIT_FIRST_FAILURE.
proc::SpawnSpec spec_of(const Job& job, const TaskRecord& record, const StartContext& context);

// Removes LISTEN_FDS, LISTEN_PID and LISTEN_FDNAMES, for a process that does not inherit these
// descriptors.
void unset_listen_fds(envgen::Environ& env);
// How many descriptors from 3 on a socket activation passed in (LISTEN_FDS); the main task has
// them.
int listen_fds(const envgen::Environ& env);

}  // namespace engine
