#pragma once
// A node's datasets: copies below one root that the jobs of a node share. Each dataset has an
// entry, named after a key: its name, and a hash of its source, the source's content, and the
// options.
//
//   <cache>/<name>-<16 digits>/data                  the copy: a destination (init/copy/publish)
//                             /.trainit-copy.data/   its state directory
//   <cache>/<name>-<16 digits>.lock   held shared while a job uses the copy, exclusively while it
//                                     is made or deleted; its mtime is the last use
//           <name>-<16 digits>.was    the record of a deleted copy: a link to that copy
//                                     (--data-link) leads to its source
//
// The cache of a user is <root>/trainit-datasets, or one of its own beside it (user_cache.h). A
// lock is the kernel's: it goes with its holder, whatever that dies of. A root must be a local file
// system. Whoever owns it is trusted, and, without a sticky bit, whoever may write it: they can
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

// Finds or makes the copy of one dataset: in the cache, or at its destination. Blocks; touches the
// source only in processes of its own, so that a source that hangs can be left behind. When an
// error or the deadline ends it, nothing partial is visible.
base::Result<Prepared> prepare_dataset(const Preparation& order);

// `asked`, or all the candidates that exist and may be written.
std::vector<std::string> data_roots(const std::string& asked);

// The directory that a cache without --data-root lies in: the first of the candidates that has room
// for `bytes`, else the first. Errors: `asked` is none, or there is no candidate.
base::Result<std::string> choose_root(const std::string& asked, std::uint64_t bytes,
                                      const envgen::Headroom& headroom);

}  // namespace copy
