#pragma once
// The check for free space, before a copy begins.

#include <string>
#include <vector>

#include "base/result.h"
#include "init/copy/publish/destination.h"
#include "init/copy/space.h"
#include "init/copy/tree/options.h"

namespace copy {

// Returns the space that a copy of this size needs on a file system with `space`, less the space of
// the unfinished copies `begun`. These are only measured if the result depends on them.
Need need_of(const TreeSize& size, const Space& space, const std::vector<std::string>& begun,
             const Options& options);

// Makes the error of a copy that has no room at the destination.
base::Error room_error(const Destination& destination, const Space& space, const Need& need);

// Fails if a copy has no room. A copy that shares its blocks with the source needs none.
base::Status check_room_for(const TreeSize& size, const Source& source,
                            const Destination& destination, const Options& options);

}  // namespace copy
