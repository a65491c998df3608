#pragma once
// The engine as its workers see it: what they read and change, and how they are heard.

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
  std::function<void(lifecycle::Event)> post;  // answered later, in its turn
  std::function<void()> note_change;           // the state that was written is out of date
};

}  // namespace engine
