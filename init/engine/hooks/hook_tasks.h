#pragma once
// The starter of the machine's hook tasks: each has its own worker (hooks.h), which runs the plan's
// hooks of one event.

#include <sys/types.h>

#include <cstdint>
#include <map>

#include "base/result.h"
#include "init/engine/hooks/hooks.h"
#include "init/engine/tasks/worker_context.h"
#include "init/engine/workers/worker_list.h"

namespace engine {

class HookTasks {
 public:
  HookTasks(const WorkerContext& context, WorkerList& workers)
      : context_(context), workers_(workers) {}

  // Starts the hooks of the task with this index in Job::records. Returns the pid of their worker.
  // The worker's messages change the job: TaskRecord::hook_message, and JobStart::exports if they
  // are from pre-start hooks.
  base::Result<pid_t> start(std::uint32_t index);

 private:
  const WorkerContext& context_;
  WorkerList& workers_;
  std::map<std::uint32_t, HookRun*> runs_;
};

}  // namespace engine
