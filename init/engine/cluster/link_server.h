#pragma once
// The link's worker on node 0: it listens, has the Coordinator, and passes between that, the other
// nodes and its own PID 1.

#include "init/engine/cluster/link_settings.h"

namespace engine {

int run_link_server(const LinkSettings& settings, int down, int up);

}  // namespace engine
