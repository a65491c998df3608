#pragma once
// Functions that list and reap the children of this process, and make it adopt orphans.

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
  int refused = 0;         // errno, if the kernel refuses each wait
};

// Calls waitid. If a seccomp profile refuses waitid, calls wait4. There are two differences then: a
// child is reaped even with WNOWAIT, and stops alone are not reported.
int wait_id(idtype_t type, id_t id, siginfo_t* info, int options);

// Reaps at most `limit` dead children. The rest stays for the next call, so that a fork bomb of
// orphans cannot delay SIGTERM. A stopped child is not reported.
Reaped reap(int limit);

// Returns the pids of all children of this process, zombies included; empty if /proc is not
// mounted. The kernel's list is complete while no child is reaped, and only this process reaps
// them.
std::vector<pid_t> children_of_self();
// Returns the same as children_of_self(), by reading all of /proc. For gVisor, and kernels without
// CONFIG_PROC_CHILDREN.
std::vector<pid_t> children_by_scan();

// Makes this process adopt orphans below it. Fails if the kernel refuses, which is worth only a
// warning.
base::Status become_subreaper();

}  // namespace proc
