#pragma once
// The datasets that trainit copies to fast local storage before a job starts (--data SRC[=DST]):
// the request, and the names of the job's variables.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace envgen {

// The reaction of trainit if a dataset cannot be copied.
enum class OnDataFailure : unsigned char {
  kSource,  // the job reads the source, with a warning
  kFail,    // the job does not start
};

// The free space that must remain on the file system of the copy. Reason: a node with a full disk
// gets no further jobs.
struct Headroom {
  std::int64_t bytes = 0;
  int percent = 5;  // of the file system's size; the larger of the two limits applies

  bool operator==(const Headroom&) const = default;
};

inline constexpr std::int64_t kCacheTtlMs = 7LL * 24 * 60 * 60 * 1000;

struct DataRequest {
  std::vector<std::string> specs;  // SRC or SRC=DST
  std::string root;     // directory of the node's cache; "" = the first usual local directory with
                        // enough space
  std::string version;  // version of the sources: while it is equal, they count as unchanged; "" =
                        // compare them
  std::vector<std::string> include;  // patterns of the files to copy, see path_filter.h
  std::vector<std::string> exclude;
  bool verify = false;   // read each copied byte again and compare its hash
  bool durable = false;  // sync the copy to the disk before it is published
  bool link = false;     // a source that is a symlink is changed to point to the copy
  OnDataFailure on_failure = OnDataFailure::kSource;
  std::int64_t timeout_ms = 0;  // for each dataset; 0 = no limit
  int workers = 0;  // copying processes for each dataset; 0 = trainit chooses by the machine
  Headroom headroom;
  std::int64_t cache_ttl_ms = kCacheTtlMs;  // time without use after which a copy may be deleted; 0
                                            // = at once
  std::int64_t cache_max_bytes = 0;         // size of the whole cache; 0 = no limit

  bool operator==(const DataRequest&) const = default;
};

struct Dataset {
  std::string name;         // "imagenet": the last component of its source
  std::string variable;     // "TRAINIT_DATASET_IMAGENET"
  std::string source;       // absolute
  std::string destination;  // absolute; "" = in the node's cache

  bool operator==(const Dataset&) const = default;
};

// Returns the datasets in the order of the specs. A spec is split at its first "=/", because a path
// may contain "=", as the partitions of Hive do. The second dataset with the same name gets the
// suffix "-2" in its name and "_2" in its variable. Errors: a path that is not absolute; the root
// directory; a destination that is used twice, or is inside another one or inside its source.
base::Result<std::vector<Dataset>> datasets_of(const DataRequest& request);

}  // namespace envgen
