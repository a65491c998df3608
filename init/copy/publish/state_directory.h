#pragma once
// The state directory beside a copy's destination. Another user who owns the parent directory could
// rename a different directory of this user to this name, and trainit would write and delete files
// in it. So the state directory contains a file "mark" with its own name.

#include <string>

#include "base/result.h"
#include "init/sys/fd.h"

namespace copy {

// Opens the state directory `path`, which is created if needed. Symbolic links are not followed.
// `shown`: the path for messages. Errors: a directory of another user, a directory that others can
// write, a wrong mark. If the file system shows one owner of all files, that owner is accepted. A
// directory of an earlier version, without a mark, is accepted if it contains that version's lock
// and only files of trainit.
base::Result<sys::Fd> open_state(const std::string& path, const std::string& shown);

}  // namespace copy
