#pragma once
// Children: reaping them, finding those that were adopted, becoming their adopter.

#include <sys/types.h>
#include <sys/wait.h>

#include <vector>

#include "base/result.h"

namespace proc {

struct Death {
  pid_t pid = 0;
  bool signaled = false;
  int value = 0;  // exit code or signal
  bool core = false;
};

struct Reaped {
  std::vector<Death> deaths;
  bool childless = false;  // ECHILD: no child is left
  int refused = 0;         // errno, where nobody can be waited for at all
};

// waitid; where a seccomp profile refuses that, wait4: it reaps at once what WNOWAIT would leave,
// and of stops alone tells nothing.
int wait_id(idtype_t type, id_t id, siginfo_t* info, int options);

// Reaps what has died, at most `limit` (the rest stays for the next turn, so that a fork bomb of
// orphans cannot starve SIGTERM). Stopped children are not deaths.
Reaped reap(int limit);

// pids whose parent is this process, zombies included. From /proc; empty where that is not mounted.
// The kernel's list is whole while none of them is reaped, which nobody but we does.
std::vector<pid_t> children_of_self();
// The same by reading all of /proc: for kernels without CONFIG_PROC_CHILDREN, and gVisor.
std::vector<pid_t> children_by_scan();

// Orphans below us become our children; a warning-worthy Error where the kernel refuses.
envgen::Status become_subreaper();

}  // namespace proc
