// A TERM to PID 1 while it starts. The kernel drops one that PID 1 neither blocks nor handles, and
// it never comes again: the container is killed after its whole grace period.

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <array>

#include "tests/bench/topics.h"

namespace bench {
namespace {

constexpr std::array kDelaysUs{10, 50, 100, 200, 400};
constexpr int kTries = 60;
constexpr int kRepeats = 4;  // of a try that came too late
constexpr std::int64_t kSlackNs = 30'000;
constexpr int kPatienceMs = 1'000;
constexpr int kEndedByTerm = 42;
constexpr std::int64_t kSecond = 1'000'000'000;

// Nobody is left who holds the write end.
bool ended(const Pipe& said) {
  std::int64_t stamp = 0;
  pollfd waiting{said.read_fd, POLLIN, 0};
  while (poll(&waiting, 1, kPatienceMs) == 1) {
    if (read(said.read_fd, &stamp, sizeof stamp) == 0) return true;
  }
  return false;
}

std::int64_t ran_ns(clockid_t clock) {
  timespec now{};
  return clock_gettime(clock, &now) == 0 ? now.tv_sec * kSecond + now.tv_nsec : INT64_MAX;
}

// The first two processors that we may use: one for us, one for the init, so that neither waits for
// the other.
std::array<int, 2> two_processors() {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  std::array<int, 2> found{-1, -1};
  for (int cpu = 0; cpu < CPU_SETSIZE && found[1] < 0; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) found[found[0] < 0 ? 0 : 1] = cpu;
  }
  return found;
}

void stay_on(pid_t pid, int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(pid, sizeof one, &one);
}

struct Try {
  bool lost = false;
  bool in_time = false;  // and not after another program had our processor
};

Try send_term(const Command& command, int delay_us, int cpu) {
  Pipe said;
  const pid_t pid =
      start(command, {.place = Place::kPid1, .out = said.write_fd, .stop_at_exec = true});
  said.close_write();
  wait_for_stop(pid);
  stay_on(pid, cpu);
  clockid_t clock{};
  if (clock_getcpuclockid(pid, &clock) != 0) fail("the clock of an init");
  const std::int64_t due = ran_ns(clock) + delay_us * 1'000LL;
  let_run(pid);
  // An init that waits for a child that runs has come through.
  pollfd ready{said.read_fd, POLLIN, 0};
  while (ran_ns(clock) < due && poll(&ready, 1, 0) == 0) {
  }
  kill(pid, SIGTERM);
  Try result;
  result.in_time = ran_ns(clock) < due + kSlackNs;
  // A later signal with a higher number overtakes none: whoever sees it first has lost the TERM.
  std::int64_t stamp = 0;
  if (said.read_stamp(&stamp, kPatienceMs)) kill(pid, SIGWINCH);
  if (!ended(said)) kill(pid, SIGKILL);
  const int code = finish(pid);
  result.lost = code != kEndedByTerm && code != 128 + SIGTERM;
  return result;
}

bool is_lost(const Command& command, int delay_us, int cpu) {
  Try last;
  for (int i = 0; i < kRepeats && !last.in_time; ++i) last = send_term(command, delay_us, cpu);
  return last.lost;
}

}  // namespace

void lost_signals(const Field& field) {
  printf(
      "## TERM lost, of %d, sent as PID 1, when the init had run for so many us since its "
      "execve\n\n",
      kTries);
  if (!field.root) {
    puts("needs root\n");
    return;
  }
  const std::array<int, 2> cpus = two_processors();
  if (cpus[1] < 0) {
    puts("needs two processors\n");
    return;
  }
  cpu_set_t before;
  sched_getaffinity(0, sizeof before, &before);
  stay_on(0, cpus[0]);
  std::vector<Command> commands;
  commands.reserve(field.pid1.size());
  for (const Init& init : field.pid1) {
    commands.push_back(init.command({field.self, "--program", "ends-on-term"}));
  }
  std::vector<std::array<int, kDelaysUs.size()>> lost(commands.size());
  for (int round = 0; round < kTries; ++round) {
    for (const std::size_t i : shuffled(commands.size())) {
      if (!field.pid1[i].missing.empty()) continue;
      for (std::size_t k = 0; k < kDelaysUs.size(); ++k) {
        if (is_lost(commands[i], kDelaysUs[k], cpus[1])) ++lost[i][k];
      }
    }
  }
  sched_setaffinity(0, sizeof before, &before);
  Words header = {"init"};
  for (const int delay : kDelaysUs) header.push_back(std::to_string(delay));
  header.emplace_back("all");
  Table table(header);
  for (std::size_t i = 0; i < commands.size(); ++i) {
    Words row = {field.pid1[i].name};
    int sum = 0;
    for (const int count : lost[i]) {
      row.push_back(std::to_string(count));
      sum += count;
    }
    row.push_back(std::to_string(sum));
    table.add(field.pid1[i].missing.empty() ? row : Words{row[0], field.pid1[i].missing});
  }
  table.print();
}

}  // namespace bench
