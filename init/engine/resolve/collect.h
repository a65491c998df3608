#pragma once
// Calls envgen::resolve() and reads the files that the answer wants, until no more are wanted. This
// can block on a dead mount, so PID 1 leaves it to its children. PID 1 itself calls it only for a
// pass-through with hooks, whose files are on the image's own disk. The commands `trainit plan` and
// `trainit doctor` call it too.

#include "envgen/plan/snapshot.h"
#include "envgen/resolve/resolve.h"

namespace engine {

// Calls envgen::resolve() until it has an answer. Adds to snapshot.paths the state of each path
// that it wants in between. A path with an entry is not examined again.
envgen::Answer collect_and_resolve(envgen::Snapshot& snapshot, const envgen::Request& request);

}  // namespace engine
