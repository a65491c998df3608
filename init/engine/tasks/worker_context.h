#pragma once
// The parts of the supervisor that its workers use: what they read and change, and how they report.

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
  std::function<void(lifecycle::Event)> post;  // appends to the queue of the machine's events
  std::function<void()> note_change;           // marks the written state as out of date
};

}  // namespace engine
