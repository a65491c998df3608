#pragma once
// The mode for untrusted images: trainit itself becomes the job's user before it reads anything of
// the image. Whatever the image causes (by a variable, a hook, a link, a program, its passwd) then
// happens with the job's rights. So no list of dangerous inputs is needed.

#include <functional>
#include <string>

#include "base/result.h"
#include "envgen/plan/sandbox.h"

namespace sandbox {

// Reduces the rights of the calling process to `asked`: user, capabilities (none by default) and
// ambient set, with no_new_privs. Root must give the user as UID:GID in numbers, so that the
// image's passwd does not choose it. `before_drop` is called with that user, while the process
// still has its rights. Closes the descriptors above 2, and leaves the controlling terminal of
// another session. Returns a line about the supplementary groups that the process lost; "" if it
// lost none. Errors: no user, a user that is not in numbers, a terminal that cannot be left.
base::Result<std::string> give_up_rights(
    const envgen::SandboxRequest& asked,
    const std::function<void(const envgen::Identity&)>& before_drop);

}  // namespace sandbox
