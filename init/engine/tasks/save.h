#pragma once
// The request to a job to save a checkpoint, and the trigger file that --signal can ask for.

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "envgen/plan/sandbox.h"
#include "init/engine/tasks/job.h"
#include "init/proc/signals.h"

namespace engine {

// The processes that a request for a checkpoint reached.
struct Asked {
  std::size_t count = 0;
  std::optional<pid_t> refused;  // first process that trainit may not signal
};
// Sends the checkpoint signal to each of `mains` that catches or blocks it. For any other main
// process (torchrun, DeepSpeed's runner, a shell) it goes to the nearest descendants that do. A
// process that does not know the signal would die of it and save nothing. Processes below one that
// got the signal (data loaders) do not get it. Without /proc only `mains` get it, unchecked.
// Requires that `mains` are children of trainit.
Asked ask_to_save(const std::vector<pid_t>& mains, int signal);

// Sends the plan's checkpoint signal to the main processes and logs how many got it. Returns false
// if no process will save.
bool ask_to_save(const Job& job);

// Creates the file, or updates its time if it exists, in a child, because it may be on a mount that
// hangs. Does not follow a symlink: with --user the job may have created it. Returns the child's
// pid, which the caller must reap; 0 if there is no child.
pid_t touch_trigger(const std::string& path, const std::optional<envgen::Identity>& job_user,
                    const proc::SavedSignals& saved);

}  // namespace engine
