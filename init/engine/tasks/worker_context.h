#pragma once
// The interface of the engine to its workers: what they read and change, and how they report.

#include <functional>

#include "envgen/plan/request.h"
#include "init/engine/tasks/job.h"
#include "init/engine/tasks/start.h"
#include "init/proc/signals.h"
#include "lifecycle/machine.h"

namespace engine {

class Timeline;

struct WorkerContext {
  const envgen::Request& request;
  const proc::SavedSignals& saved;
  Job& job;
  const lifecycle::Machine& machine;
  Timeline& timeline;
  std::function<StartContext()> start_context;
  std::function<void(lifecycle::Event)> post;  // the machine handles it later, in its turn
  std::function<void()> note_change;           // marks the written state as out of date
};

}  // namespace engine
