#pragma once
// The link's worker on node 0: it listens, has the Coordinator, and passes between that, the other
// nodes and its own PID 1.

#include "base/environ.h"
#include "init/engine/cluster/link_settings.h"

namespace engine {

// `env` is that of the process that resolves the master's name.
int run_link_server(const LinkSettings& settings, const envgen::Environ& env, int down, int up);

}  // namespace engine
