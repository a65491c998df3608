// A main process with relatives of every kind, for whom a stop signal is meant to reach.

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <string>

#include "tests/payload/payload.h"

namespace payload {

namespace {

std::string name_of(int signal) {
  if (signal == SIGTERM) return "TERM";
  return signal == SIGINT ? "INT" : std::to_string(signal);
}

// Of several ranks each names itself.
void say(const std::string& text) {
  const char* own_rank = getenv("RANK_ID");
  const std::string line = (own_rank != nullptr ? std::string(own_rank) + "/" : "") + text + "\n";
  if (write(STDOUT_FILENO, line.data(), line.size()) < 0) fail("stdout");
}

// Says each signal, as often as it comes; a real-time one is never merged with the one before.
[[noreturn]] void live(const std::string& name, int up) {
  close(up);
  while (true) {
    const Taken taken = take_signal({SIGTERM, SIGINT, SIGRTMIN + 1}, -1);
    say(name + " " + name_of(taken.signal));
  }
}

enum class Kin : unsigned char { kSibling, kGroup, kSession };

// The signals are held already, so it is up when it is there.
void bear(const std::string& name, Kin kin, int up) {
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child > 0) return;
  if (kin == Kin::kGroup && setpgid(0, 0) != 0) fail("setpgid");
  if (kin == Kin::kSession && setsid() < 0) fail("setsid");
  live(name, up);
}

// In a session of its own; the init adopts it.
void bear_orphan(int up) {
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child > 0) return;
  bear("orphan", Kin::kSession, up);
  _exit(0);
}

}  // namespace

// family: the main process, its children in its own group (sibling), in another one (group) and in
// another session (session), and an orphan. Each says on stdout the TERM, INT and RTMIN+1 that it
// gets ("1/orphan TERM" of rank 1), and goes on. At a USR1 the main process leaves one more behind
// (late) and ends with 0.
int family(Args /*args*/) {
  hold_signals({SIGTERM, SIGINT, SIGUSR1, SIGRTMIN + 1});
  std::array<int, 2> up{};
  if (pipe(up.data()) != 0) fail("pipe");
  bear("sibling", Kin::kSibling, up[1]);
  bear("group", Kin::kGroup, up[1]);
  bear("session", Kin::kSession, up[1]);
  bear_orphan(up[1]);
  close(up[1]);
  char byte = 0;
  if (read(up[0], &byte, 1) != 0) fail("the family's pipe");
  say("up");
  while (true) {
    const Taken taken = take_signal({SIGTERM, SIGINT, SIGUSR1, SIGRTMIN + 1}, -1);
    if (taken.signal == SIGUSR1) break;
    say("main " + name_of(taken.signal));
  }
  if (pipe(up.data()) != 0) fail("pipe");
  bear("late", Kin::kSession, up[1]);
  close(up[1]);
  if (read(up[0], &byte, 1) != 0) fail("the late one's pipe");
  return 0;
}

// runners N: N processes that ignore TERM and pass themselves on to a child, over and over, so that
// whoever wants to signal one comes too late. They give up by themselves after half a minute. At a
// TERM the main process ends with 0.
int runners(Args args) {
  constexpr time_t kMaxSeconds = 30;
  hold_signals({SIGTERM});
  timespec start{};
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (int left = atoi(args[0]); left > 0; --left) {
    const pid_t child = fork();
    if (child < 0) fail("fork");
    if (child > 0) continue;
    while (true) {
      timespec now{};
      clock_gettime(CLOCK_MONOTONIC, &now);
      if (now.tv_sec - start.tv_sec > kMaxSeconds || fork() > 0) _exit(0);
    }
  }
  say("up");
  take_signal({SIGTERM}, -1);
  return 0;
}

}  // namespace payload
