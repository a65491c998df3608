#pragma once
// The collector: it looks at what a resolution wants, until it wants nothing more. May hang on a
// dead mount: PID 1 never calls it, its resolver child does.

#include "envgen/plan/snapshot.h"
#include "envgen/resolve/resolve.h"

namespace engine {

// Adds to snapshot.paths what resolve() wants; an existing entry is not looked at again.
envgen::Answer collect_and_resolve(envgen::Snapshot& snapshot, const envgen::Request& request);

}  // namespace engine
