#pragma once
// The state of a cache entry: what is published there, and whether a job may use it.

#include <string>

#include "init/copy/cache/cache_entry.h"
#include "init/copy/copy_record.h"
#include "init/copy/tree/options.h"

namespace copy {

enum class Found : unsigned char {
  kNothing,
  kReady,
  kUnsure,   // the copy must be checked before it is used
  kChanged,  // the copy was changed after its publication
  kBroken,   // what is published is not a copy of this source
};

struct EntryState {
  Found found = Found::kNothing;
  CopyRecord record;
  std::string why;  // reason for kBroken, kChanged, kUnsure
};

// Compares the record of the entry with `wanted` (source, identity, version, options). With
// `verify`, a copy without hashes of its contents is kUnsure.
EntryState check_state(const CacheEntry& cache_entry, const CopyRecord& wanted, bool verify);

// Does what check_state() does, and compares the copy with its manifest (copy_check.h), because
// jobs may have written to it.
EntryState check_contents(const CacheEntry& cache_entry, const CopyRecord& wanted,
                          const Options& options);

}  // namespace copy
