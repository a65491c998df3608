#pragma once
// The mode for untrusted images (--untrusted-image): trainit itself becomes the job's user before
// it reads anything of the image. What the image then causes, by a variable, a hook, a link, a
// program or its passwd, happens with the job's rights. So no list of dangerous inputs is needed.

#include <functional>
#include <string>

#include "base/result.h"
#include "envgen/plan/sandbox.h"

namespace sandbox {

// Reduces the rights of the calling process to `asked`: user, capabilities (none by default) and
// ambient set, with no_new_privs. Root must give the user as numbers, UID:GID, because the image's
// passwd must not decide. `before_drop` is called with that user while the process still has its
// rights. Closes the descriptors above 2, and leaves the controlling terminal of another session.
// Returns a line about supplementary groups that the process lost, or "". Fails without a user, for
// a user that is not given in numbers, and if a terminal cannot be left.
base::Result<std::string> give_up_rights(
    const envgen::SandboxRequest& asked,
    const std::function<void(const envgen::Identity&)>& before_drop);

}  // namespace sandbox
