#pragma once
// The integrity check of a published copy against its manifest. The copy has all entries of the
// manifest and no others. Types, sizes, mtimes and targets of links are equal, and no permission
// was removed. A file whose ctime is later than the publication (the mtime of the record) is
// compared by its hash, or with the source; without both it counts as changed. The check reads no
// other file.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "init/copy/tree/copy.h"

namespace copy {

struct PublishedCopy {
  std::string tree;
  std::string manifest;
  std::string record;
};

// The error names the entry that has changed, or that cannot be read.
base::Status check_unmodified(const PublishedCopy& copy, CheckScope asked, const Options& options,
                              const SharedCounters& counters);

// Returns no error if the copy can be deleted without a loss. A file with a later ctime counts as
// changed where the manifest has no hashes. The error may be one of `keep`: call it to know.
base::Status check_removable(const PublishedCopy& copy, bool moved, const Keep& keep);

}  // namespace copy
