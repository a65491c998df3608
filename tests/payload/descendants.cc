// Commands with processes of their own: what an init finds below its ranks.

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "tests/payload/payload.h"

namespace payload {

namespace {

// An item a turn into the pipe until TERM. A signal that does not come from the parent is a crash,
// as it is for a PyTorch data loader's worker: the loader dies with "worker is killed by signal".
[[noreturn]] void work(int items, pid_t parent, int save_signal) {
  constexpr int kItemMs = 5;
  while (true) {
    const Taken taken = take_signal({SIGTERM, save_signal}, kItemMs);
    if (taken.signal == SIGTERM && taken.sender == parent) _exit(0);
    if (taken.signal != 0) {
      tell("crash", std::to_string(taken.signal) + " from pid " + std::to_string(taken.sender));
      _exit(1);
    }
    const char item = 'i';
    if (write(items, &item, 1) != 1) _exit(1);
  }
}

struct Worker {
  pid_t pid = 0;
  int items = -1;  // readable
};

Worker start_worker(int save_signal) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe2");
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    close(ends[0]);
    work(ends[1], parent, save_signal);
  }
  close(ends[1]);
  return {child, ends[0]};
}

// Takes items from every worker as a checkpoint of a training loop does: false when one is dead.
bool take_items(const std::vector<Worker>& workers) {
  constexpr int kItems = 40;
  for (int taken = 0; taken < kItems; ++taken) {
    for (const Worker& worker : workers) {
      char item = 0;
      if (read(worker.items, &item, 1) != 1) return false;
    }
  }
  return true;
}

bool end_workers(const std::vector<Worker>& workers) {
  bool all_well = true;
  for (const Worker& worker : workers) kill(worker.pid, SIGTERM);
  for (const Worker& worker : workers) {
    int status = 0;
    waitpid(worker.pid, &status, 0);
    all_well = all_well && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return all_well;
}

}  // namespace

// loader N [SIGNAL [stay]]: N workers feed this process. On SIGNAL (TERM) it writes a checkpoint,
// for which it needs them alive, tells `checkpoint` (how many there are), ends them itself and
// exits 0; told to stay it goes on until TERM. A worker that gets a signal from somebody else tells
// `crash`, and the exit code is 1.
int loader(Args args) {
  const int save_signal = args.size() > 1 ? signal_number(args[1]) : SIGTERM;
  const bool stays = args.size() > 2 && args[2] == std::string_view("stay");
  // Who catches it can be told from outside, as with the handlers of a training script; the workers
  // inherit it.
  signal(save_signal, [](int) {});
  hold_signals({SIGTERM, SIGCHLD, save_signal});
  std::vector<Worker> workers;
  for (int left = atoi(args[0]); left > 0; --left) workers.push_back(start_worker(save_signal));
  announce();
  for (int checkpoints = 1;; ++checkpoints) {
    const Taken taken = take_signal({SIGTERM, SIGCHLD, save_signal}, -1);
    if (taken.signal != save_signal) {
      return taken.signal == SIGTERM && end_workers(workers) ? 0 : 1;
    }
    if (!take_items(workers)) return 1;
    tell("checkpoint", std::to_string(checkpoints));
    if (!stays) return end_workers(workers) ? 0 : 1;
  }
}

// grandchild handle|ignore: leaves a process in a session of its own, which outlives this one.
// It tells `grandchild` (its pid), and `grandchild-term` when a TERM reaches it; told to ignore,
// it goes on after that.
int grandchild(Args args) {
  const bool ends_on_term = args[0] == std::string_view("handle");
  std::array<int, 2> ready{};
  if (pipe2(ready.data(), O_CLOEXEC) != 0) fail("pipe2");
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    setsid();
    hold_signals({SIGTERM});
    tell("grandchild", std::to_string(getpid()));
    close(ready[0]);
    close(ready[1]);
    while (true) {
      take_signal({SIGTERM}, -1);
      tell("grandchild-term", "");
      if (ends_on_term) _exit(0);
    }
  }
  close(ready[1]);
  char byte = 0;
  if (read(ready[0], &byte, 1) != 0) fail("the grandchild's pipe");
  announce();
  while (true) pause();
}

}  // namespace payload
