#pragma once
// Opens the state directory beside a copy's destination. Another user who owns the parent directory
// could rename a different directory of this user to that name, and trainit would then write and
// delete files in it. So a state directory contains a file "mark" with its own name.

#include <string>

#include "base/result.h"
#include "init/sys/fd.h"

namespace copy {

// Opens the state directory `path`, and creates it if needed. Symlinks are not followed. `shown` is
// the path for messages. Fails for a directory of another user, a directory that others can write,
// and a wrong mark. There are two exceptions. If the file system shows one owner for all files,
// that owner is accepted. A directory without a mark, from an earlier version, is accepted if it
// contains that version's lock and only files of trainit.
base::Result<sys::Fd> open_state(const std::string& path, const std::string& shown);

}  // namespace copy
