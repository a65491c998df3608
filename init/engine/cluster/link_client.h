#pragma once
// The link's worker on every node but the first: it keeps a connection to node 0, and passes
// between that and its own PID 1. Where there is none it concludes by itself that node 0 is lost
// (lifecycle::LinkWatch), and tries on for ever.

#include "base/environ.h"
#include "init/engine/cluster/link_settings.h"

namespace engine {

int run_link_client(const LinkSettings& settings, const envgen::Environ& env, int down, int up);

}  // namespace engine
