#pragma once
// The use lock of a copy: a job that uses the copy at a destination has a shared lock on `<state
// directory>/lease`, and no other copy replaces the content meanwhile. Only locks of root and of
// this user count: another user could block this one by a lock.

#include <vector>

#include "base/result.h"
#include "init/copy/publish/destination.h"
#include "init/copy/tree/options.h"
#include "init/sys/fd.h"

namespace copy {

// Returns the shared lock. Not valid if the copy is just being replaced: calls options.warn.
base::Result<sys::Fd> lock_for_use(const Destination& destination, const Options& options);

// Returns locks that exclude every use of the destination and on all copies below it: the content
// can be replaced while the locks are open. Errors: a job uses such a copy; the copies below the
// destination cannot be listed.
base::Result<std::vector<sys::Fd>> lock_unused(const Destination& destination,
                                               const Keep& keep = {});
// Fails if the destination lies inside a copy that a job uses. Takes no lock: several
// processes can copy into one directory side by side.
base::Status check_above(const Destination& destination);

}  // namespace copy
