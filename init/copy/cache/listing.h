#pragma once
// The listing of a node's cache, and the removal of what may go.

#include <string>
#include <vector>

#include "base/result.h"
#include "init/copy/cache/cache_policy.h"

namespace copy {

// Returns what `trainit cache ls` shows, by name.
base::Result<std::vector<CachedDataset>> list_cache(const std::string& root);

struct Collected {
  std::vector<CachedDataset> removed;
  std::vector<CachedDataset> failed;  // due, and still there
  base::Error error;                  // why, of the last one
};

// Returns the part of list_cache() that this user has copied. Sizes and times of another user's
// copies are that user's claims.
base::Result<std::vector<CachedDataset>> list_own(const std::string& root);

// Removes `entry`; false where it is in use, or was used since it was looked at.
base::Result<bool> evict(const CachedDataset& entry);

// Removes what may go (init/copy/cache/cache_policy.h), never what is in use. The time to live and
// the size hold for each user's copies by themselves. `dry_run`: only says. An error: nothing of it
// could go.
base::Result<Collected> collect_garbage(const std::string& root, const CacheLimits& limits,
                                        bool dry_run);

}  // namespace copy
