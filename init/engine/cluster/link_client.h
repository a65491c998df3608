#pragma once
// The link's worker on every node but the first. It keeps a connection to node 0, and passes
// messages between node 0 and its own PID 1. If there is no connection, it decides on its own
// whether node 0 is lost (lifecycle::LinkWatch), and tries to connect for ever.

#include "base/environ.h"
#include "init/engine/cluster/link_settings.h"

namespace engine {

int run_link_client(const LinkSettings& settings, const base::Environ& env, int down, int up);

}  // namespace engine
