#pragma once
// A node's datasets: copies below one root that the jobs of a node share. Each has a key (its
// source, what that holds, and what of it is wanted), a lock, and a record that is written last.
//
//   <store>/<name>-<16 digits>/data       the copy
//                             /record.json, manifest
//   <store>/<name>-<16 digits>.partial/   while it is made, with its progress
//   <store>/<name>-<16 digits>.lock       shared while it is used, exclusive while it is made or
//                                         removed; its mtime is the last use
//           <name>-<16 digits>.was        the record of a copy that is gone: a link to it
//                                         (--data-link) leads to its source
//
// The store is <root>/trainit-datasets, or one of this user's own beside it (store.h).
// A lock is the kernel's: it goes with its holder, whatever that dies of. A root must be a local
// file system. Whoever owns it is trusted, and, without a sticky bit, whoever may write it: they
// can move a store away.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "envgen/plan/dataset.h"
#include "init/copy/cache/cache_policy.h"
#include "init/copy/tree/copy.h"
#include "init/sys/fd.h"

namespace copy {

// A dataset, ready to be read.
struct Prepared {
  std::string path;
  sys::Fd lease;    // shared lock: the copy stays while this is open
  std::string how;  // "copied", "found", "waited for another job's copy": for a person
  TreeSize size;
  std::vector<std::string> warnings;
};

// What a dataset waits for, and how far that is, several times a second.
struct Report {
  const Counters* counters = nullptr;  // of the copy, also of another job's; nullptr: unknown
  bool waiting = false;                // for another job
};

struct Preparation {
  envgen::Dataset dataset;
  envgen::DataRequest request;
  std::optional<Owner> owner;             // the job's user, where that is another one
  const envgen::Identity* job = nullptr;  // the same
  std::function<void(const Report&)> report = {};
};

// Finds or makes the copy of one dataset: in the cache, or at its destination. Blocks; touches the
// source only in processes of its own, so that a source that hangs can be left behind. When an
// error or the deadline ends it, nothing partial is visible.
envgen::Result<Prepared> prepare_dataset(const Preparation& order);

// What `trainit cache ls` shows, by name.
envgen::Result<std::vector<envgen::CacheEntry>> list_cache(const std::string& root);

struct Collected {
  std::vector<envgen::CacheEntry> removed;
  std::vector<envgen::CacheEntry> failed;  // due, and still there
  envgen::Error error;                     // why, of the last one
};

// Removes what may go (init/copy/cache/cache_policy.h), never what is in use. The time to live and
// the size hold for each user's copies by themselves. `dry_run`: only says. An error: nothing of it
// could go.
envgen::Result<Collected> collect_garbage(const std::string& root,
                                          const envgen::CacheLimits& limits, bool dry_run);

// `asked`, or all the candidates that exist and may be written.
std::vector<std::string> data_roots(const std::string& asked);

// The directory that a cache without --data-root lies in: the first of the candidates that has room
// for `bytes`, else the first. Errors: `asked` is none, or there is no candidate.
envgen::Result<std::string> choose_root(const std::string& asked, std::uint64_t bytes,
                                        const envgen::Headroom& headroom);

}  // namespace copy
