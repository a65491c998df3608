// floor_raw COMMAND [ARG...]: vfork, exec, wait, without a C library. No init can be quicker.

#include "tests/bench/started/nolibc.h"

void begin(long* stack) {
  constexpr long kVfork = 0x4000 | 0x100 | 17;  // CLONE_VFORK | CLONE_VM | SIGCHLD
  const long argc = stack[0];
  long* const argv = stack + 1;
  long* const environment = argv + argc + 1;
  const long child = nolibc::call(nolibc::kClone, kVfork);
  if (child == 0) {
    nolibc::call(nolibc::kExecve, argv[1], reinterpret_cast<long>(argv + 1),
                 reinterpret_cast<long>(environment));
    nolibc::exit(127);
  }
  int status = 0;
  nolibc::call(nolibc::kWait4, child, reinterpret_cast<long>(&status));
  nolibc::exit(status >> 8 & 0xFF);
}
