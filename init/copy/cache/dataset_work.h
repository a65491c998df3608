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
  envgen::CopyRecord wanted;  // source, identity, version, options
  std::optional<Scan> scan;
  std::string root;
  CacheEntry cache_entry;
  int variant = 0;  // of the key, where another entry for the same is not to be had
  // Of a source that changed while it was copied: the entry that its copy was begun in, and its
  // lock.
  CacheEntry begun;
  sys::Fd begun_lock;
  bool copied = false;
  bool waited = false;
  bool as_it_is = false;  // what is published is taken, though it was not verified as is asked
  std::string changed;    // what somebody has changed in what is published; "" = nothing
  std::vector<std::string> warnings;
};

// To whoever asked.
void say(const DatasetWork& work, const Counters* counters, bool waiting);
bool is_late(const Options& options);
// Into `work.scan`.
envgen::Status scan_source(DatasetWork& work);

// With the entry to ourselves: what is published there is as it should be, or is made so. Where the
// source changed meanwhile it is not: `work.begun_lock` is valid then, and the copy of what it was
// last is in the entry `work.begun`, unpublished.
envgen::Status make_ready(DatasetWork& work, sys::Fd lock);

}  // namespace copy
