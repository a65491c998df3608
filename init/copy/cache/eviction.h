#pragma once
// Eviction: it makes room in a node's cache for a copy.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "envgen/plan/dataset.h"
#include "init/copy/cache/cache_entry.h"
#include "init/copy/cache/cache_policy.h"
#include "init/copy/space.h"

namespace copy {

// Removes of our own copies what is due (time to live, the cache's size with the copy in it), then,
// where it is needed, the least recently used. `own`: the entry that room is made for, which counts
// as nothing. Nothing is removed in vain: where all that may go would not do, it is an error at
// once.
base::Status make_room(const std::string& root, const CacheEntry& own, const Need& need,
                       const envgen::DataRequest& request);

}  // namespace copy
