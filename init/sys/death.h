#pragma once
// The parent-death signal of a child that must not outlive its parent.

#include <sys/types.h>

namespace sys {

// Sets PR_SET_PDEATHSIG, which the kernel clears at each change of credentials. If `parent` has
// already died, no signal would come, so this function raises it. `signal` 0: does nothing.
void die_with(pid_t parent, int signal);

}  // namespace sys
