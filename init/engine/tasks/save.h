#pragma once
// The request to a job to save a checkpoint, and the trigger file that a signal becomes.

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "envgen/plan/sandbox.h"
#include "init/engine/tasks/job.h"
#include "init/proc/signals.h"

namespace engine {

// Signals those that wait for the signal: each of `mains`, which are children of ours, that catches
// or blocks it, and where one does not (torchrun, DeepSpeed's runner, a shell), the nearest of its
// descendants that do. What does not know the signal would die of it and save nothing; what is
// below one that does (data loaders) is not its to tell. Without /proc the main processes alone
// are, without a look.
struct Asked {
  std::size_t count = 0;
  std::optional<pid_t> refused;  // the first that we may not signal
};
Asked ask_to_save(const std::vector<pid_t>& mains, int signal);

// Asks the main processes so by the plan's signal, and says whom. False: nobody will save.
bool ask_to_save(const Job& job);

// Makes the file, or sets the time of the one that is there, in a child: the file may lie on a
// mount that hangs. A link is not followed: with --user the job may have made it. Returns the
// child's pid, which is to be reaped; 0 when there is none.
pid_t touch_trigger(const std::string& path, const std::optional<envgen::Identity>& job_user,
                    const proc::SavedSignals& saved);

}  // namespace engine
