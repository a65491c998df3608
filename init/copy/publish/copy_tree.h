#pragma once
// `trainit copy`: makes a copy that appears at its destination either complete or not at all.

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
  TreeSize kept;         // the part of `size` that an earlier run had already copied
  std::string replaced;  // path to which the destination's previous content was moved; "" if it was
                         // not kept
  std::string why;       // how that content was changed, if it was a copy by trainit; "" otherwise
  sys::Fd lease;         // while it is open, no other copy replaces the destination's content
};
// Returns the message that the previous content of `destination` was kept at `where`. `why` is
// Copied::why.
std::string kept_line(const std::string& destination, const std::string& where,
                      const std::string& why);

// Copies `source` to `destination`. The record, the manifest and unfinished files are in the state
// directory `<parent>/.trainit-copy.<name>` (for a mount point `<destination>/.trainit-copy`).
// Blocks while another copy to the same destination runs. Fails as run_copy_job() does; also if the
// destination is a copy that a job uses, or has no room.
base::Result<Copied> copy_tree(const std::string& source, const std::string& destination,
                               const Options& options);

// The result of `trainit copy --dry-run`.
struct Preview {
  std::string path;  // path that the data will have after the copy
  TreeSize size;
  bool up_to_date = false;     // a copy of this state of the source is published
  std::optional<Space> space;  // nullopt: unknown
};

// Checks the source and the destination as copy_tree() does, and writes nothing. Fails for an
// unreadable source, an unsuitable destination, or too little room. Only a real copy finds out
// whether blocks can be shared with the source, and whether existing content can be moved.
base::Result<Preview> preview_copy(const std::string& source, const std::string& destination,
                                   const Options& options);

}  // namespace copy
