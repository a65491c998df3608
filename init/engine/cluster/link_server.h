#pragma once
// The link's worker on node 0. It listens, owns the Coordinator, and passes messages between the
// Coordinator, the other nodes and its own PID 1.

#include "base/environ.h"
#include "init/engine/cluster/link_settings.h"

namespace engine {

// Runs until PID 1 closes its ends or the leave messages are sent, and returns an exit code. `env`:
// environment of the process that looks up the master's name.
int run_link_server(const LinkSettings& settings, const base::Environ& env, int down, int up);

}  // namespace engine
