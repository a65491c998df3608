#include "init/sys/death.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace sys {

void die_with(pid_t parent, int signal) {
  if (signal == 0) return;
  ::prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0);
  if (::getppid() != parent) ::raise(signal);
}

}  // namespace sys
