#pragma once
// Decides about symbolic links that lead out of the source (Hugging Face's snapshots, DVC,
// git-annex). As links in the copy they would dangle, or lead back to the slow source. So the copy
// contains their targets instead, if the link's owner or the job's user may read them.

#include <sys/stat.h>

#include <string>

#include "init/copy/tree/worker.h"

namespace copy {

enum class LinkFate : unsigned char {
  kKept,    // stays a link; worker.target is its text in the copy
  kLeft,    // as kKept, because the target is a device, is not readable, or has too many links
  kFile,    // is replaced by a copy of the file worker.linked
  kFolder,  // is replaced by a copy of the directory worker.linked
  kUnread,  // not known, because the storage fails; errno says why
};

// Decides what happens to the link worker.path. `link` is its status, worker.target its text. A
// link that leads out of the source and into it again gets a new text.
LinkFate judge_link(Worker& worker, const struct stat& link);

// Opens worker.linked. Returns an invalid descriptor, with errno, on failure, or if another user
// could have redirected the path.
sys::Fd open_linked(const Worker& worker, int flags);

// Opens the file worker.path of the source, or the target of a link that judge_link() replaces.
sys::Fd open_file_below_source(Worker& worker, int flags);

// Returns true if a call on worker.path failed with `error` because another machine has removed or
// replaced the entry. worker.opened is its inode when it was opened. Records this as a change.
bool is_replaced(Worker& worker, int error);

}  // namespace copy
