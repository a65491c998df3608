#pragma once
// A copy that appears at its destination complete or not at all: `trainit copy`.

#include <string>

#include "base/result.h"
#include "init/copy/publish/publish.h"
#include "init/copy/tree/options.h"
#include "init/sys/fd.h"

namespace copy {

struct Copied {
  std::string path;  // where the data is
  Published how = Published::kRenamed;
  TreeSize size;
  TreeSize kept;  // of it, what was there from an earlier run
  std::string
      replaced;     // where what was at the destination is kept; "" = nothing, or a copy of ours
  std::string why;  // what had become of it, where it was one
  sys::Fd lease;    // nobody replaces what is there while this is open
};
// For a person: where what was there before is.
std::string kept_line(const std::string& where, const std::string& why);

// `trainit copy`: a copy of `source` at `destination`. The record, the manifest and what is not
// finished lie beside it, in `<parent>/.trainit-copy.<name>` (of a mount point: in
// `<destination>/.trainit-copy`). Two at once wait for one another. A copy in use is not replaced:
// an error.
envgen::Result<Copied> copy_tree(const std::string& source, const std::string& destination,
                                 const Options& options);

}  // namespace copy
