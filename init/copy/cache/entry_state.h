#pragma once
// The state of a cache entry: what is published under a key, and whether it may be handed out.

#include <string>

#include "init/copy/cache/cache_entry.h"
#include "init/copy/copy_record.h"
#include "init/copy/tree/options.h"

namespace copy {

enum class Found : unsigned char {
  kNothing,
  kReady,
  kUnsure,   // the copy must be checked before its use
  kChanged,  // a copy that was changed after its publication
  kBroken,   // not a copy of this source
};

struct EntryState {
  Found found = Found::kNothing;
  CopyRecord record;
  std::string why;  // reason for kBroken, kChanged, kUnsure
};

// `wanted`: source, identity, version, options. `verify`: its contents have to be known by hashes.
EntryState check_state(const CacheEntry& cache_entry, const CopyRecord& wanted, bool verify);

// The same, and a walk over the copy (copy_check.h): jobs may have written to it.
EntryState check_contents(const CacheEntry& cache_entry, const CopyRecord& wanted,
                          const Options& options);

}  // namespace copy
