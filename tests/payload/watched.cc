// Commands for jobs that are watched.

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/payload/payload.h"

namespace payload {

namespace {

volatile sig_atomic_t asked = 0;

}  // namespace

// train HARDWARE E2E: a line about an iteration now and then, in the task-training platform's form.
// On USR1 it tells "saved" and ends with 0.
int train(Args args) {
  constexpr int kIterationMs = 20;
  struct sigaction action{};
  action.sa_handler = [](int) { asked = 1; };
  sigaction(SIGUSR1, &action, nullptr);
  announce();
  while (asked == 0) {
    printf("this iteration hardware time is %s and e2e time is %s ms.\n", args[0], args[1]);
    fflush(stdout);
    poll(nullptr, 0, kIterationMs);
  }
  tell("saved", "");
  return 0;
}

// fail-when FILE: 3 where it is there.
int fail_when(Args args) {
  if (access(args[0], F_OK) != 0) return 0;
  printf("%s is there\n", args[0]);
  fflush(stdout);
  return 3;
}

}  // namespace payload
