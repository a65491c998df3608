#pragma once
// The directory beside the destination of a copy in which all that is kept of it lies. Whoever owns
// the directory that it is in can give its name to another one of ours, whose files would then be
// written and removed: so it has a mark, which says what its name is.

#include <string>

#include "base/result.h"
#include "init/sys/fd.h"

namespace copy {

// Made where it is not there; whatever it is, it is not followed. `told`: the path for a message.
// Errors: another user's, one that others may write, one that is not marked as this one. One
// without a mark, of an earlier version, counts where it holds that version's lock and nothing but
// what trainit keeps.
envgen::Result<sys::Fd> open_state(const std::string& path, const std::string& shown);

}  // namespace copy
