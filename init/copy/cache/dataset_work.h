#pragma once
// The state of one dataset while prepare_dataset() finds or makes its copy in the cache. Private to
// cache.cc, which looks for a copy and waits for other jobs, and dataset_work.cc, which makes the
// copy.

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
  CopyRecord wanted;  // the record that the copy should have: source, identity, version, options
  std::optional<Scan> scan;
  std::string root;
  CacheEntry cache_entry;
  int variant = 0;  // variant of the key, if the first entry for this dataset cannot be used
  // If the source changed during the copy: the entry that contains the unfinished copy, and its
  // lock.
  CacheEntry begun;
  sys::Fd begun_lock;
  bool copied = false;
  bool waited = false;
  bool as_it_is = false;  // a published copy is used although it was not verified as requested
  std::string changed;    // how a published copy was changed; "" = unchanged
  std::vector<std::string> warnings;
};

// Reports the progress to the caller of prepare_dataset().
void say(const DatasetWork& work, const Counters* counters, bool waiting);
bool is_late(const Options& options);
// Reads the source's entries and sets `work.scan`.
base::Status scan_source(DatasetWork& work);

// Makes the entry's published copy equal to the source. Requires the exclusive lock of the entry.
// If the source changes meanwhile, nothing is published. `work.begun` is then the entry of the
// unfinished copy, and `work.begun_lock` is valid.
base::Status make_ready(DatasetWork& work, sys::Fd lock);

}  // namespace copy
