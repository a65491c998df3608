// Commands that say on stdout, a line at once, what the init above them lets them see: signals with
// all that comes with them, the terminal, leftovers, orphans.

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>

#include "tests/payload/payload.h"

namespace payload {

namespace {

constexpr int kValue = 4711;

void say(const std::string& text) {
  const std::string line = text + "\n";
  if (write(STDOUT_FILENO, line.data(), line.size()) < 0) fail("stdout");
}

void work_for(long ms) {
  const timespec work{ms / 1000, ms % 1000 * 1'000'000};
  nanosleep(&work, nullptr);
}

// Until the other end of this pipe is closed.
void await_end(int fd) {
  char byte = 0;
  while (read(fd, &byte, 1) > 0) {
  }
}

// Takes its time before it says "term", as a handler of a real program does, and longer to save: an
// init that ends at once takes it down in between.
[[noreturn]] void leftover(int ready) {
  constexpr long kHandlerMs = 20;
  constexpr long kSaveMs = 150;
  hold_signals({SIGTERM});
  close(ready);
  take_signal({SIGTERM}, -1);
  work_for(kHandlerMs);
  say("term");
  work_for(kSaveMs);
  say("saved");
  _exit(0);
}

}  // namespace

// print-signals [SIGNAL...]: "ready", then "signal N value V" for each that comes. The named ones
// keep their dispositions. Adds to the mask only: what the init has blocked stays blocked.
int print_signals(Args args) {
  sigset_t all;
  sigfillset(&all);
  for (const char* name : args) sigdelset(&all, signal_number(name));
  sigprocmask(SIG_BLOCK, &all, nullptr);
  say("ready");
  while (true) {
    siginfo_t info{};
    const int signal = sigwaitinfo(&all, &info);
    if (signal < 0) continue;
    const int value = info.si_code == SI_QUEUE ? info.si_value.sival_int : 0;
    say("signal " + std::to_string(signal) + " value " + std::to_string(value));
  }
}

// queue-to-parent: queues a value to its parent; says what of it comes back.
int queue_to_parent(Args) {
  const int real_time = SIGRTMIN + 1;
  hold_signals({real_time});
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, real_time);
  sigval value{};
  value.sival_int = kValue;
  if (sigqueue(getppid(), real_time, value) != 0) fail("sigqueue");
  siginfo_t info{};
  while (sigwaitinfo(&set, &info) < 0) {
  }
  const bool kept = info.si_code == SI_QUEUE && info.si_value.sival_int == kValue;
  say(std::string("value ") + (kept ? "yes" : "no") + ", sender " +
      (info.si_pid == getpid() ? "yes" : "no"));
  return 0;
}

// leave group|session CODE: with a worker in the same process group, or in a session of its own,
// says "ready". TERM or USR1 ends it, not the worker, after 60 ms; the exit code is CODE.
int leave(Args args) {
  constexpr long kEndMs = 60;
  hold_signals({SIGTERM, SIGUSR1});
  std::array<int, 2> ready{};
  if (pipe(ready.data()) != 0) fail("pipe");
  const pid_t worker = fork();
  if (worker < 0) fail("fork");
  if (worker == 0) {
    close(ready[0]);
    if (args[0] == std::string_view("session")) setsid();
    leftover(ready[1]);
  }
  close(ready[1]);
  await_end(ready[0]);
  say("ready");
  take_signal({SIGTERM, SIGUSR1}, -1);
  work_for(kEndMs);
  return atoi(args[1]);
}

// orphan: says whether a process whose parent has ended gets ours as its new one.
int orphan(Args) {
  std::array<int, 2> orphaned{};
  if (pipe(orphaned.data()) != 0) fail("pipe");
  std::array<int, 2> told{};
  if (pipe(told.data()) != 0) fail("pipe");
  const pid_t init = getppid();
  const pid_t middle = fork();
  if (middle < 0) fail("fork");
  if (middle == 0) {
    if (fork() == 0) {
      close(orphaned[1]);
      await_end(orphaned[0]);
      say(getppid() == init ? "yes" : "no");
    }
    _exit(0);
  }
  waitpid(middle, nullptr, 0);
  close(orphaned[1]);
  close(told[1]);
  await_end(told[0]);
  return 0;
}

// zombies N: leaves N dead children unreaped, says "ready"; at a TERM says the time,
// CLOCK_MONOTONIC in microseconds, and exits with 0.
int zombies(Args args) {
  hold_signals({SIGTERM});
  for (int left = atoi(args[0]); left > 0; --left) {
    const pid_t child = fork();
    if (child < 0) fail("fork");
    if (child == 0) _exit(0);
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  }
  say("ready");
  take_signal({SIGTERM}, -1);
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  say("ended " + std::to_string(now.tv_sec * std::int64_t{1'000'000} + now.tv_nsec / 1000));
  _exit(0);
}

// foreground: says "fg=y" when its process group is its terminal's foreground one, else "fg=n", at
// the start and whenever it is continued; goes on until a signal ends it.
int foreground(Args) {
  hold_signals({SIGCONT});
  while (true) {
    say(tcgetpgrp(STDIN_FILENO) == getpgrp() ? "fg=y" : "fg=n");
    take_signal({SIGCONT}, -1);
  }
}

}  // namespace payload
