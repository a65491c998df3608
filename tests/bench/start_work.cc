// What an init does in its start and end, counted rather than timed: by single steps and
// by stops at system calls, because a virtual machine seldom has counters of instructions.

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/proc_files.h"
#include "tests/bench/topics.h"

namespace bench {
namespace {

constexpr int kRuns = 101;  // for faults and CPU
constexpr int kLongRuns = 15;

struct Count {
  long before_fork = 0;
  long all = 0;
};

struct Work {
  Count instructions;
  Count cpuids;
  Count calls;
};

int event_of(int status) { return status >> 16; }

// The process below the init is not counted.
void let_go_of_child(pid_t init) {
  unsigned long child = 0;
  ptrace(PTRACE_GETEVENTMSG, init, nullptr, &child);
  waitpid(static_cast<pid_t>(child), nullptr, __WALL);
  ptrace(PTRACE_DETACH, static_cast<pid_t>(child), nullptr, nullptr);
}

// Each CPUID of a virtual machine's guest is an exit to the hypervisor: some microseconds.
bool is_cpuid(pid_t pid) {
#if defined(__x86_64__)
  constexpr long kCpuid = 0xA20F;
  user_regs_struct registers{};
  ptrace(PTRACE_GETREGS, pid, nullptr, &registers);
  errno = 0;
  const long code = ptrace(PTRACE_PEEKTEXT, pid, registers.rip, nullptr);
  return errno == 0 && (code & 0xFFFF) == kCpuid;
#else
  (void)pid;
  return false;
#endif
}

pid_t start_traced(const Command& command) {
  const pid_t pid = fork();
  if (pid == 0) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    command.execute();
  }
  int status = 0;
  waitpid(pid, &status, 0);
  const long options = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC |
                       PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE;
  ptrace(PTRACE_SETOPTIONS, pid, nullptr, options);
  ptrace(PTRACE_CONT, pid, nullptr, nullptr);
  waitpid(pid, &status, 0);
  if (event_of(status) != PTRACE_EVENT_EXEC) fail("no exec of a traced init");
  return pid;
}

// `step` is PTRACE_SINGLESTEP or PTRACE_SYSCALL; `count` is called at each of its stops.
template <typename Counter>
void trace(const Command& command, __ptrace_request step, Counter count) {
  const pid_t pid = start_traced(command);
  bool forked = false;
  for (int status = 0, signal = 0;;) {
    if (ptrace(step, pid, nullptr, static_cast<long>(signal)) != 0) fail("ptrace");
    if (waitpid(pid, &status, __WALL) != pid) fail("waitpid of a traced init");
    signal = 0;
    if (WIFEXITED(status) || WIFSIGNALED(status)) return;
    if (event_of(status) == PTRACE_EVENT_VFORK_DONE) continue;
    if (event_of(status) != 0) {
      let_go_of_child(pid);
      forked = true;
    } else if (WSTOPSIG(status) == SIGTRAP || WSTOPSIG(status) == (SIGTRAP | 0x80)) {
      count(pid, forked);
    } else {
      signal = WSTOPSIG(status);
    }
  }
}

Work count_work(const Command& command) {
  Work work;
  auto add = [](Count* count, bool forked, long more) {
    count->all += more;
    if (!forked) count->before_fork += more;
  };
  trace(command, PTRACE_SINGLESTEP, [&](pid_t pid, bool forked) {
    add(&work.instructions, forked, 1);
    if (is_cpuid(pid)) add(&work.cpuids, forked, 1);
  });
  bool entry = true;
  trace(command, PTRACE_SYSCALL, [&](pid_t /*pid*/, bool forked) {
    if (entry) add(&work.calls, forked, 1);
    entry = !entry;
  });
  return work;
}

struct Spent {
  std::vector<double> faults;
  std::vector<double> cpu_us;
};

// Of the init alone: its child's count is kept apart.
void spend(const Init& init, const Command& command, int out, Spent* spent) {
  const pid_t pid = start_fast(command, out);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
  spent->faults.push_back(static_cast<double>(minor_faults(pid)));
  spent->cpu_us.push_back(cpu_us(pid));
  if (finish(pid) != 0) fail(init.name);
}

}  // namespace

void start_work(const Field& field) {
  printf("## Work of a start and end over nop, and over a command of 30 ms: the init's own\n\n");
  const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  std::vector<Init> all = field.here;
  for (Init& floor : floors(field)) all.push_back(std::move(floor));
  std::vector<Command> commands;
  std::vector<Command> naps;
  for (const Init& init : all) {
    commands.push_back(init.command({field.nop}));
    naps.push_back(init.command({field.nap, "long"}));
  }
  std::vector<Spent> spent(all.size());
  std::vector<Spent> spent_long(all.size());
  for (int run = 0; run < kRuns; ++run) {
    for (const std::size_t i : shuffled(all.size())) {
      if (!all[i].missing.empty()) continue;
      spend(all[i], commands[i], null, &spent[i]);
      if (run < kLongRuns) spend(all[i], naps[i], null, &spent_long[i]);
    }
  }
  close(null);
  Table table({"init", "instructions to fork", "in all", "CPUIDs to fork", "in all",
               "system calls to fork", "in all", "page faults", "CPU us", "of 30 ms: faults",
               "CPU us"});
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].missing.empty()) {
      table.add({all[i].name, all[i].missing});
      continue;
    }
    const Work work = count_work(commands[i]);
    table.add({all[i].name, text("%ld", work.instructions.before_fork),
               text("%ld", work.instructions.all), text("%ld", work.cpuids.before_fork),
               text("%ld", work.cpuids.all), text("%ld", work.calls.before_fork),
               text("%ld", work.calls.all), text("%.0f", median(spent[i].faults)),
               text("%.0f", median(spent[i].cpu_us)), text("%.0f", median(spent_long[i].faults)),
               text("%.0f", median(spent_long[i].cpu_us))});
  }
  table.print();
}

}  // namespace bench
