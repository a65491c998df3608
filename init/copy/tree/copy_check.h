#pragma once
// The integrity check: compares a published copy with its manifest. The copy must have all entries
// of the manifest and no others. Types, sizes, mtimes and targets of links must be equal, and no
// permission may be missing. If the ctime of a file is later than the publication (the mtime of the
// record), its content is compared: by its hash, or with the source. If neither is possible, the
// file counts as changed. The contents of other files are not read.

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

// Fails if the copy was changed. The error names the entry that has changed, or that cannot be
// read.
base::Status check_unmodified(const PublishedCopy& copy, CheckScope asked, const Options& options,
                              const SharedCounters& counters);

// Fails if the copy cannot be deleted without losing data. If the manifest has no hashes, a file
// with a later ctime counts as changed. The error may also be one of `keep`; call `keep` to find
// out.
base::Status check_removable(const PublishedCopy& copy, bool moved, const Keep& keep);

}  // namespace copy
