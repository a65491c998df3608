#pragma once
// One dataset while it is found or made in the cache of its node. Private to the files of this
// folder that do so: cache.cc looks for it and waits, dataset_work.cc makes it.

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "init/copy/cache/cache_entry.h"
#include "init/copy/cache/preparation.h"
#include "init/copy/copy_record.h"
#include "init/copy/publish/destination.h"
#include "init/copy/tree/options.h"
#include "init/sys/fd.h"

namespace copy {

struct DatasetWork {
  const Preparation& order;
  Options options;
  Source source;
  CopyRecord wanted;  // source, identity, version, options
  std::optional<Scan> scan;
  std::string root;
  CacheEntry cache_entry;
  int variant = 0;  // variant of the key, if the first entry for this dataset cannot be used
  // The entry in which a copy was begun before the source changed, and its lock.
  CacheEntry begun;
  sys::Fd begun_lock;
  bool copied = false;
  bool waited = false;
  bool as_it_is = false;  // the published copy is used, although it was not verified as requested
  std::string changed;    // the change of a published copy; "" = unchanged
  std::vector<std::string> warnings;
};

// Reports the progress to the caller of prepare_dataset().
void say(const DatasetWork& work, const Counters* counters, bool waiting);
bool is_late(const Options& options);
// Into `work.scan`.
base::Status scan_source(DatasetWork& work);

// Makes the entry's published copy equal to the source. Requires the exclusive lock. If the source
// changed meanwhile, nothing is published: `work.begun` is the entry of the unfinished copy, and
// `work.begun_lock` is valid.
base::Status make_ready(DatasetWork& work, sys::Fd lock);

}  // namespace copy
