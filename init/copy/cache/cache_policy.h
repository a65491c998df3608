#pragma once
// The eviction policy of a node's cache: which datasets can be deleted, and which must be deleted
// to make room. Pure: the caller gives the sizes, the times and which datasets are in use.

#include <cstdint>
#include <string>
#include <vector>

namespace copy {

struct CachedDataset {
  std::string key;     // "imagenet-0123456789abcdef"
  std::string source;  // "" if the record of the copy cannot be read
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;        // size on the disk
  std::uint64_t total_bytes = 0;  // size of an unfinished copy when it is complete; 0 = unknown
  std::int64_t used_ms = 0;       // time of the last use, wall clock, UTC
  bool in_use = false;            // a job or a copying process holds its lock
  bool partial = false;           // the copy is not finished; with `in_use`, a process is making it
  std::string cache = "";         // the directory of the user's cache that contains it

  bool operator==(const CachedDataset&) const = default;
};

// Returns a + b, or the maximum if that would wrap. For sizes that another user may have made up.
std::uint64_t sum(std::uint64_t a, std::uint64_t b);

struct CacheLimits {
  std::int64_t now_ms = 0;
  std::int64_t ttl_ms = 0;
  std::uint64_t max_bytes = 0;   // 0 = no limit
  std::uint64_t free_bytes = 0;  // free bytes of the file system now
  std::uint64_t want_free = 0;   // bytes that must be free afterwards
};

// Returns the entries to delete, in this order: first those unused for ttl_ms, then the least
// recently used ones until max_bytes and want_free are satisfied. Never returns an entry in use. A
// last use in the future (a clock that was set back) counts as now.
std::vector<CachedDataset> choose_evictions(std::vector<CachedDataset> entries,
                                            const CacheLimits& limits);

}  // namespace copy
