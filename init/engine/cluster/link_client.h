#pragma once
// The link's worker on every node but node 0. It keeps a connection to node 0, and passes messages
// between node 0 and its own PID 1. Without a connection, it decides alone whether node 0 is lost
// (lifecycle::LinkWatch), and tries to connect again and again. Runs until PID 1 closes its ends,
// or until the leave message was delivered or given up. Returns an exit code.

#include "base/environ.h"
#include "init/engine/cluster/link_settings.h"

namespace engine {

int run_link_client(const LinkSettings& settings, const base::Environ& env, int down, int up);

}  // namespace engine
