#pragma once
// The worker process beside PID 1 that has a node's link. The link is one connection from each node
// to node 0, from the node's first start to its end. Over it each node reports its state, and node
// 0 sends its verdicts (lifecycle/coordinator.h). If no connection can be made, the job runs
// without the link, and a warning says what that means.
//
// No message of the link is secret, and no end trusts the peer that connects or listens
// (link_wire.h, link_session.h).

#include "base/environ.h"
#include "init/engine/cluster/link_settings.h"

namespace engine {

// Runs the worker until PID 1 closes `down` or a leave message was delivered, and returns its exit
// code. Takes ownership of both descriptors.
int run_link(const LinkSettings& settings, const base::Environ& env, int down, int up);

}  // namespace engine
