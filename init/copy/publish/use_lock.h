#pragma once
// The use lock of a copy. A job that uses the copy at a destination holds a shared lock on `<state
// directory>/lease`. While it is held, no other copy replaces the content. Locks of users other
// than root and this user are ignored, because another user could block this one with a lock.

#include <vector>

#include "base/result.h"
#include "init/copy/publish/destination.h"
#include "init/copy/tree/options.h"
#include "init/sys/fd.h"

namespace copy {

// Returns the shared lock. If the copy is being replaced at this moment, returns an invalid
// descriptor and calls options.warn.
base::Result<sys::Fd> lock_for_use(const Destination& destination, const Options& options);

// Returns locks that exclude every use of the destination, and of all copies below it. The content
// can be replaced while they are open. Fails if a job uses such a copy, or if the copies below the
// destination cannot be listed.
base::Result<std::vector<sys::Fd>> lock_unused(const Destination& destination,
                                               const Keep& keep = {});
// Fails if the destination is inside a copy that a job uses. Takes no lock, so that several
// processes can copy into one directory at the same time.
base::Status check_above(const Destination& destination);

}  // namespace copy
