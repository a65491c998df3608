#pragma once
// The supervisor of a job: the one loop that turns what happens (signals, deaths, timers, the
// resolver's news, control records) into events for the lifecycle machine, and its actions into
// system calls.

#include "init/engine/setup.h"

namespace engine {

// Returns the container's exit code. `setup` is the supervisor's until then.
int supervise(Setup& setup);

}  // namespace engine
