#pragma once
// Eviction: deletes datasets of a node's cache to make room for a copy.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "envgen/plan/dataset.h"
#include "init/copy/cache/cache_entry.h"
#include "init/copy/cache/cache_policy.h"
#include "init/copy/space.h"

namespace copy {

// Makes room for the copy `need`. Deletes only copies of this user. First it deletes those whose
// time to live is over, and those that exceed the cache's size together with the new copy. If the
// space is still too small, it deletes the least recently used ones. `own` is the entry of the new
// copy: it is not deleted, and its size does not count. If even the deletion of all unused copies
// would not suffice, returns an error before this second step.
base::Status make_room(const std::string& root, const CacheEntry& own, const Need& need,
                       const envgen::DataRequest& request);

}  // namespace copy
