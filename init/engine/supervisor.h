#pragma once
// The supervisor of a job. One loop turns signals, deaths, timers, the resolver's messages and
// control records into events for the lifecycle machine, and the machine's actions into system
// calls.

#include "init/engine/setup.h"

namespace engine {

// Runs a job until its end and returns the container's exit code. The supervisor owns `setup` until
// then. With Setup::ends_process it exits instead of returning.
int supervise(Setup& setup);

}  // namespace engine
