#pragma once
// The datasets that are copied to fast local storage before a job starts (--data SRC[=DST]): how
// they are asked for, and what the job's variables are called.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace envgen {

// What happens when a dataset cannot be copied.
enum class OnDataFailure : unsigned char {
  kSource,  // the job reads the source, with a warning
  kFail,    // it does not start
};

// Of the file system that is written to, what must stay free. A node whose disk is full takes no
// more jobs, so a copy stops before.
struct Headroom {
  std::int64_t bytes = 0;
  int percent = 5;  // of its size; the larger of the two counts

  bool operator==(const Headroom&) const = default;
};

inline constexpr std::int64_t kCacheTtlMs = 7LL * 24 * 60 * 60 * 1000;

struct DataRequest {
  std::vector<std::string> specs;  // SRC or SRC=DST
  std::string root;                // of the node's cache; "" = the first that is large enough
  std::string version;  // the source is what it was while this is the same; "" = look at it
  std::vector<std::string> include;  // patterns, see path_filter.h
  std::vector<std::string> exclude;
  bool verify = false;   // each byte is read again and compared by its hash
  bool durable = false;  // synced to the disk before it is published
  bool link = false;     // a source that is a symbolic link is made to point to the copy
  OnDataFailure on_failure = OnDataFailure::kSource;
  std::int64_t timeout_ms = 0;  // of each dataset; 0 = none
  int workers = 0;              // processes a dataset; 0 = by the machine
  Headroom headroom;
  std::int64_t cache_ttl_ms = kCacheTtlMs;  // unused for so long, it may go; 0 = at once
  std::int64_t cache_max_bytes = 0;         // of all that the cache holds; 0 = no limit

  bool operator==(const DataRequest&) const = default;
};

struct Dataset {
  std::string name;         // "imagenet": the last component of its source
  std::string variable;     // "TRAINIT_DATASET_IMAGENET"
  std::string source;       // absolute
  std::string destination;  // absolute; "" = the node's cache

  bool operator==(const Dataset&) const = default;
};

// In the order of the specs. A spec is split at its first "=/": a path may hold a "=", as Hive's
// partitions do. A second dataset of the same name gets "-2" and "_2". Errors: a path that is not
// absolute, the root directory, the same destination twice, one inside another one or its source.
Result<std::vector<Dataset>> datasets_of(const DataRequest& request);

}  // namespace envgen
