#pragma once
// The parent-death signal of a child that must not outlive its parent.

#include <sys/types.h>

namespace sys {

// Makes this process get `signal` when its parent dies (PR_SET_PDEATHSIG). The kernel clears that
// setting at each change of credentials. If `parent` has already died, no signal would come, so
// this function raises it. Does nothing if `signal` is 0.
void die_with(pid_t parent, int signal);

}  // namespace sys
