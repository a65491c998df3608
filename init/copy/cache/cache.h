#pragma once
// The cache of a node's datasets: copies below one root directory, which the jobs of the node
// share. Each dataset has an entry, named by a key: the dataset's name, and a hash of its source,
// the source's content, and the options.
//
//   <cache>/<name>-<16 digits>/data                  the copy: a destination (init/copy/publish)
//                             /.trainit-copy.data/   its state directory
//   <cache>/<name>-<16 digits>.lock   held shared while a job uses the copy, exclusively while it
//                                     is made or deleted; its mtime is the last use
//           <name>-<16 digits>.was    the record of a deleted copy: a link to that copy
//                                     (--data-link) leads to its source
//
// <cache> is the directory of one user (user_cache.h): <root>/trainit-datasets, or one beside it.
// The locks are flocks: the kernel releases them when the process that holds them ends, for
// whatever reason. The root must be on a local file system. The owner of the root is trusted. If
// the root has no sticky bit, each user that can write it is trusted too, because these users can
// move a cache away.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "envgen/plan/dataset.h"
#include "init/copy/cache/cache_policy.h"
#include "init/copy/cache/listing.h"
#include "init/copy/cache/preparation.h"
#include "init/copy/tree/options.h"
#include "init/sys/fd.h"

namespace copy {

// Returns the copy of one dataset, in the cache or at its destination, and makes the copy if
// needed. Blocks. Only child processes access the source, so that a source that hangs can be
// abandoned. If an error or the deadline ends the call, no partial copy is visible.
base::Result<Prepared> prepare_dataset(const Preparation& order);

// Returns the possible roots of a cache: only `asked` if it is not "". Otherwise all usual
// directories that exist and either can be written or contain a cache.
std::vector<std::string> data_roots(const std::string& asked);

// Returns the directory for a cache: `asked`, otherwise the first of data_roots() that has `bytes`
// free, otherwise the first of data_roots(). Fails if `asked` cannot be used, or there is no data
// root.
base::Result<std::string> choose_root(const std::string& asked, std::uint64_t bytes,
                                      const envgen::Headroom& headroom);

}  // namespace copy
