#pragma once
// Leases: whoever uses what is at a destination has a shared lock on `<state directory>/lease` for
// as long as it does, and nobody replaces what is there meanwhile. Only locks of root and of us
// count: another user's would keep us waiting.

#include <vector>

#include "base/result.h"
#include "init/copy/publish/destination.h"
#include "init/copy/tree/options.h"
#include "init/sys/fd.h"

namespace copy {

// For whoever uses the copy. Not valid, which options.warn is told, where it is just being
// replaced.
envgen::Result<sys::Fd> take_lease(const Destination& destination, const Options& options);

// What is at the destination may be replaced as long as these are open: nobody uses it, nor a copy
// that lies below it. An error says that somebody does, or that it cannot be told.
envgen::Result<std::vector<sys::Fd>> hold_unused(const Destination& destination,
                                                 const Keep& keep = {});
// Nor is the destination in a copy that somebody uses, just now: several copy into one side by
// side.
envgen::Status check_above(const Destination& destination);

}  // namespace copy
