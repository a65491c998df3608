#pragma once
// The children of a process: functions that reap and list them, and that make this process adopt
// orphans.

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
  int refused = 0;         // errno, if waiting is refused altogether
};

// Calls waitid. If a seccomp profile refuses that, calls wait4 instead. wait4 also reaps a child
// that WNOWAIT would leave, and does not report stops alone.
int wait_id(idtype_t type, id_t id, siginfo_t* info, int options);

// Reaps at most `limit` dead children. The rest stays for the next call, so that a fork bomb of
// orphans cannot starve SIGTERM. Stopped children are not deaths.
Reaped reap(int limit);

// Returns the pids of all children of this process, zombies included; empty if /proc is not
// mounted. The kernel's list is complete while no child is reaped, and only this process reaps
// them.
std::vector<pid_t> children_of_self();
// Returns the same by reading all of /proc, for gVisor and kernels without CONFIG_PROC_CHILDREN.
std::vector<pid_t> children_by_scan();

// Makes this process adopt orphans below it. Returns an Error, worth a warning, if the kernel
// refuses.
base::Status become_subreaper();

}  // namespace proc
