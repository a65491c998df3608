#pragma once
// The worker that holds a node's link beside PID 1. The link is one connection from each node to
// node 0, from the node's first start to its end. Over it each node reports what happens on it
// (lifecycle/coordinator.h). The link fails open: if no connection can be made, the job runs on,
// and a warning names what is missing.
//
// No message of the link is secret, and no end trusts the peer that connects or listens
// (link_wire.h, link_session.h).

#include "base/environ.h"
#include "init/engine/cluster/link_settings.h"

namespace engine {

// Runs until PID 1 closes `down` or a leave message has been delivered, and returns an exit code.
// Takes ownership of both descriptors.
int run_link(const LinkSettings& settings, const base::Environ& env, int down, int up);

}  // namespace engine
