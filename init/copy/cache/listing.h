#pragma once
// Lists the datasets in a node's cache, and deletes those that are due.

#include <string>
#include <vector>

#include "base/result.h"
#include "init/copy/cache/cache_policy.h"

namespace copy {

// Returns all datasets below `root`, sorted by name within each user's cache, for `trainit cache
// ls`.
base::Result<std::vector<CachedDataset>> list_cache(const std::string& root);

struct Collected {
  std::vector<CachedDataset> removed;
  std::vector<CachedDataset> failed;  // due, but could not be deleted
  base::Error error;                  // why the last of `failed` could not be deleted
};

// Returns those of list_cache() that this user has copied. Sizes and times of other users' copies
// are only what these users claim.
base::Result<std::vector<CachedDataset>> list_own(const std::string& root);

// Deletes `entry`. Returns false if it is in use, if it was used after it was listed, or if this
// process cannot take the rights of its owner.
base::Result<bool> evict(const CachedDataset& entry);

// Deletes the datasets that are due (cache_policy.h) and not in use. The time to live and the
// maximum size apply to the cache of each user separately. With `dry_run`, only returns what would
// be deleted. Fails if some datasets are due and none of them could be deleted.
base::Result<Collected> collect_garbage(const std::string& root, const CacheLimits& limits,
                                        bool dry_run);

}  // namespace copy
