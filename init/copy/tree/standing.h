#pragma once
// The check that a published copy is still what it was when it was published: a walk over it
// against its manifest. Everything is there and nothing else is; types, sizes, mtimes, targets of
// links are the same, and no permission was taken away. A file whose ctime is younger than the
// publication (the mtime of its record) has been touched: its bytes are compared by their hash or
// with the source, or, where there is neither, count as changed. Nothing else is read.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "init/copy/tree/copy.h"

namespace copy {

struct Standee {
  std::string tree;
  std::string manifest;
  std::string record;
};

// The error names what has changed, or what cannot be read.
envgen::Status check_standing(const Standee& copy, Standing asked, const Options& options,
                              const SharedCounters& counters);

// That nothing is lost with it: what is touched counts as changed where there are no hashes. The
// error may be one of `keep`: ask it.
envgen::Status check_removable(const Standee& copy, bool moved, const Keep& keep);

}  // namespace copy
