#pragma once
// The collector: it gives a resolution the files that it asks for, until it asks for no more.
// Children of PID 1 call it, because it may hang on a dead mount. PID 1 itself calls it only for a
// pass-through with hooks, whose files are on the image's own disk.

#include "envgen/plan/snapshot.h"
#include "envgen/resolve/resolve.h"

namespace engine {

// Calls envgen::resolve() until it has an answer. Adds to snapshot.paths the state of each path
// that it wants in between. A path with an entry is not examined again.
envgen::Answer collect_and_resolve(envgen::Snapshot& snapshot, const envgen::Request& request);

}  // namespace engine
