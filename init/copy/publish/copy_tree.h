#pragma once
// `trainit copy`: a copy that appears at its destination complete or not at all.

#include <optional>
#include <string>

#include "base/result.h"
#include "init/copy/publish/publish.h"
#include "init/copy/space.h"
#include "init/copy/tree/options.h"
#include "init/sys/fd.h"

namespace copy {

struct Copied {
  std::string path;  // path of the data
  Published how = Published::kRenamed;
  TreeSize size;
  TreeSize kept;  // the part of `size` that an earlier run had copied
  std::string
      replaced;     // the path of the destination's previous content, if that was kept; else ""
  std::string why;  // the change of that content, if it was a copy; else ""
  sys::Fd lease;    // while it is open, no other copy replaces the destination's content
};
// Returns the message about the previous content of `destination`, kept at `where`; `why`: as in
// Copied.
std::string kept_line(const std::string& destination, const std::string& where,
                      const std::string& why);

// Copies `source` to `destination`. The record, the manifest and unfinished files lie in the state
// directory `<parent>/.trainit-copy.<name>` (of a mount point: `<destination>/.trainit-copy`).
// Blocks while another copy to the same destination runs. Errors: as run_copy_job(); a copy that a
// job uses is at the destination; no room.
base::Result<Copied> copy_tree(const std::string& source, const std::string& destination,
                               const Options& options);

// The result of `trainit copy --dry-run`.
struct Preview {
  std::string path;  // path of the data after a copy
  TreeSize size;
  bool up_to_date = false;     // a copy of this state of the source is published
  std::optional<Space> space;  // space of the destination's file system; nullopt: unknown
};

// Checks the source and the destination for copy_tree(), and writes nothing. Errors: an unreadable
// source, an unsuitable destination, too little room. Two things only a copy can find out: whether
// the copy can share blocks with the source, and whether existing content can be moved.
base::Result<Preview> preview_copy(const std::string& source, const std::string& destination,
                                   const Options& options);

}  // namespace copy
