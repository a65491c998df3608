// Commands for jobs that are watched.

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/payload/payload.h"

namespace payload {

// train HARDWARE E2E: a line about an iteration now and then, in the task-training platform's form.
// On USR1 it tells "saved" and ends with 0, on TERM it ends with 143.
int train(Args args) {
  constexpr int kIterationMs = 20;
  constexpr int kTermCode = 128 + SIGTERM;
  hold_signals({SIGUSR1, SIGTERM});
  announce();
  while (true) {
    printf("this iteration hardware time is %s and e2e time is %s ms.\n", args[0], args[1]);
    fflush(stdout);
    const int signal = take_signal({SIGUSR1, SIGTERM}, kIterationMs).signal;
    if (signal == SIGTERM) return kTermCode;
    if (signal != SIGUSR1) continue;
    tell("saved", "");
    return 0;
  }
}

// fail-when FILE: 3 where it is there.
int fail_when(Args args) {
  if (access(args[0], F_OK) != 0) return 0;
  printf("%s is there\n", args[0]);
  fflush(stdout);
  return 3;
}

}  // namespace payload
