#pragma once
// The collector: looks at the paths that a resolution wants, until it wants no more. Only the
// resolver's child calls it, never PID 1, as it may hang on a dead mount.

#include "envgen/plan/snapshot.h"
#include "envgen/resolve/resolve.h"

namespace engine {

// Adds to snapshot.paths what resolve() wants; an existing entry is not looked at again.
envgen::Answer collect_and_resolve(envgen::Snapshot& snapshot, const envgen::Request& request);

}  // namespace engine
