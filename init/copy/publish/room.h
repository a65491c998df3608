#pragma once
// The check for room, before anything of a copy is written.

#include <vector>

#include "base/result.h"
#include "init/copy/publish/destination.h"
#include "init/copy/space.h"
#include "init/copy/tree/options.h"

namespace copy {

// What a copy of this size takes on a file system that has `space`. What an unfinished run left in
// `begun` counts; it is looked at only where it matters, as it may be large.
Need need_of(const TreeSize& size, const Space& space, const std::vector<std::string>& begun,
             const Options& options);

// For a copy by itself. One that shares its blocks with the source takes none.
envgen::Status check_room_for(const TreeSize& size, const Source& source,
                              const Destination& destination, const Options& options);

}  // namespace copy
