#pragma once
// The death signal of a child that must not outlive its parent.

#include <sys/types.h>

namespace sys {

// PR_SET_PDEATHSIG, which the kernel forgets with each change of credentials. `parent` may have
// died before: nobody would then send the signal, so it is raised. 0: none.
void die_with(pid_t parent, int signal);

}  // namespace sys
