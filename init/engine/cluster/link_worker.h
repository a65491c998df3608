#pragma once
// The link of a job's nodes: one connection from each node to node 0, from its first start to its
// end, over which each says what happens on it (lifecycle/coordinator.h). This is the process that
// holds it, beside PID 1. It fails open: where no connection can be made the job runs on, and a
// warning says what is missing.
//
// Nothing of what it says is a secret, and nobody trusts whoever connects or listens: link_wire.h,
// link_session.h.

#include "base/environ.h"
#include "init/engine/cluster/link_settings.h"

namespace engine {

// Runs until PID 1 closes `down` or a farewell has been delivered; its result is an exit code. Both
// descriptors are its own from here on.
int run_link(const LinkSettings& settings, const envgen::Environ& env, int down, int up);

}  // namespace engine
