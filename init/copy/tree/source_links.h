#pragma once
// Symbolic links that lead out of the source (Hugging Face's snapshots, DVC, git-annex). In the
// copy they would dangle, or lead back to the slow source. The copy contains their targets instead,
// if the link's owner or the job's user may read them.

#include <sys/stat.h>

#include <string>

#include "init/copy/tree/worker.h"

namespace copy {

enum class LinkFate : unsigned char {
  kKept,    // worker.target is its text in the copy
  kLeft,    // the same: the target is a device, is not readable, or has too many links
  kFile,    // worker.linked is the file
  kFolder,  // the directory
  kUnread,  // not known, as the storage fails: errno
};

// Decides about the link worker.path, whose status is `link` and whose text is worker.target. A
// link that leads out of the source and in again gets a new text.
LinkFate judge_link(Worker& worker, const struct stat& link);

// Opens worker.linked, unless another user could have redirected the path. Not valid: errno says
// why.
sys::Fd open_linked(const Worker& worker, int flags);

// Opens the file worker.path of the source, or the target of such a link.
sys::Fd open_file_below_source(Worker& worker, int flags);

// After `error` of a call on worker.path, opened as the inode worker.opened: true where another
// machine has removed or replaced it since, which is noted as a change.
bool is_replaced(Worker& worker, int error);

}  // namespace copy
