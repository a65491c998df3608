#pragma once
// The machine's tasks that run a plan's hooks, one worker for each task.

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

  // Starts the hooks of the task with this index. Returns their worker's pid. Their messages go
  // into the job: the record's hook_message, and the exports of pre-start hooks.
  base::Result<pid_t> start(std::uint32_t index);

 private:
  const WorkerContext& context_;
  WorkerList& workers_;
  std::map<std::uint32_t, HookRun*> runs_;
};

}  // namespace engine
