#pragma once
// The eviction policy of a node's cache: which datasets may go, and which must to make room. Pure:
// sizes, times and who uses what come from init/copy/cache/cache.h.

#include <cstdint>
#include <string>
#include <vector>

namespace copy {

struct CachedDataset {
  std::string key;     // "imagenet-0123456789abcdef"
  std::string source;  // "" where its record cannot be read
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;        // size on the disk
  std::uint64_t total_bytes = 0;  // size of an unfinished copy when it is complete; 0 = unknown
  std::int64_t used_ms = 0;       // the last use, wall clock, UTC
  bool in_use = false;            // a job holds it
  bool partial = false;           // not finished; `in_use`: somebody is at it
  std::string cache = "";         // the directory that it lies in

  bool operator==(const CachedDataset&) const = default;
};

// Sizes that another user may have made up do not wrap.
std::uint64_t sum(std::uint64_t a, std::uint64_t b);

struct CacheLimits {
  std::int64_t now_ms = 0;
  std::int64_t ttl_ms = 0;
  std::uint64_t max_bytes = 0;   // 0 = no limit
  std::uint64_t free_bytes = 0;  // free bytes of the file system now
  std::uint64_t want_free = 0;   // bytes that must be free afterwards
};

// The entries to remove, in this order: those unused for the time to live, then the least recently
// used until both limits hold. Never one in use; a use in the future (a clock set back) counts as
// now.
std::vector<CachedDataset> choose_evictions(std::vector<CachedDataset> entries,
                                            const CacheLimits& limits);

}  // namespace copy
