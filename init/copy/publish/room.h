#pragma once
// The check for free space, before a copy begins.

#include <string>
#include <vector>

#include "base/result.h"
#include "init/copy/publish/destination.h"
#include "init/copy/space.h"
#include "init/copy/tree/options.h"

namespace copy {

// Returns the space that a copy of this size needs. The unfinished copies `begun` already occupy a
// part of it, which is subtracted. They are measured only if the result depends on them.
Need need_of(const TreeSize& size, const Space& space, const std::vector<std::string>& begun,
             const Options& options);

// Makes the error of a copy that has no room at the destination.
base::Error room_error(const Destination& destination, const Space& space, const Need& need);

// Fails if the copy does not fit. A copy that shares its blocks with the source needs no space.
base::Status check_room_for(const TreeSize& size, const Source& source,
                            const Destination& destination, const Options& options);

}  // namespace copy
