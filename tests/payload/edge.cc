// Commands that bring an init into the corners of process handling.

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/payload/payload.h"

namespace payload {

namespace {

// A line of the FIFO, for which it waits.
std::string line_of(const char* fifo) {
  std::ifstream stream(fifo);
  std::string line;
  std::getline(stream, line);
  return line;
}

bool has_zombie_of_parent() {
  const std::string children =
      "/proc/" + std::to_string(getppid()) + "/task/" + std::to_string(getppid()) + "/children";
  std::ifstream list(children);
  for (std::string pid; list >> pid;) {
    std::ifstream stat("/proc/" + pid + "/stat");
    std::string text;
    std::getline(stat, text);
    if (text.find(") Z ") != std::string::npos) return true;
  }
  return false;
}

// What the thread below needs; it has no thread-local storage of its own, so no libc either.
struct Leaderless {
  int fifo;
  int code;
};

int end_the_process(void* argument) {
  const auto* job = static_cast<const Leaderless*>(argument);
  char byte = 0;
  syscall(SYS_read, job->fifo, &byte, std::size_t{1});
  syscall(SYS_exit_group, job->code);
  return 0;
}

}  // namespace

// orphans N: N orphans that end at once, a hundred at a time; says "clean" when its parent has no
// zombie left.
int orphans(Args args) {
  constexpr int kAtATime = 100;
  for (int left = atoi(args[0]); left > 0; left -= kAtATime) {
    const pid_t parent = fork();
    if (parent < 0) fail("fork");
    if (parent == 0) {
      for (int i = 0; i < kAtATime && i < left; ++i) {
        const pid_t orphan = fork();
        if (orphan < 0) fail("fork");
        if (orphan == 0) _exit(3);
      }
      _exit(0);
    }
    waitpid(parent, nullptr, 0);
  }
  while (has_zombie_of_parent()) sched_yield();
  puts("clean");
  return 0;
}

// leaderless FIFO N: its first thread ends; another one ends the process with N when FIFO has a
// byte. By clone itself: the libc's threads use clone3, which some profiles refuse.
int leaderless(Args args) {
  static std::array<char, 65536> stack;
  static Leaderless job;
  job = {open(args[0], O_RDWR | O_CLOEXEC), atoi(args[1])};
  if (job.fifo < 0) fail(args[0]);
  const int flags =
      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
  if (clone(end_the_process, stack.data() + stack.size(), flags, &job) < 0) fail("clone");
  announce();
  syscall(SYS_exit, 0);
  return 0;
}

// reuse-pid FIFO N: reads a pid from FIFO and leaves an orphan that has it and ends with N when
// FIFO has another line; then says "reused" and waits.
int reuse_pid(Args args) {
  const pid_t wanted = atoi(line_of(args[0]).c_str());
  // Another process of the namespace may be born in between.
  for (int status = 1; status != 0;) {
    while (kill(wanted, 0) == 0) sched_yield();  // until it is free
    const pid_t parent = fork();
    if (parent < 0) fail("fork");
    if (parent == 0) {
      std::ofstream("/proc/sys/kernel/ns_last_pid") << wanted - 1 << std::flush;
      const pid_t orphan = fork();
      if (orphan < 0) fail("fork");
      if (orphan > 0) _exit(orphan == wanted ? 0 : 1);
      if (getpid() != wanted) _exit(0);
      setsid();
      line_of(args[0]);
      _exit(atoi(args[1]));
    }
    waitpid(parent, &status, 0);
  }
  puts("reused");
  fflush(stdout);
  announce();
  while (true) pause();
}

// breed: forks for ever, as all its children do, and does not hear TERM. They lie in wait: whoever
// has slept is quick to take the place of one that was killed.
int breed(Args) {
  constexpr useconds_t kPauseUs = 5'000;
  signal(SIGTERM, SIG_IGN);
  announce();
  while (true) {
    if (fork() < 0) usleep(kPauseUs);
  }
}

}  // namespace payload
