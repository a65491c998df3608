#include "init/proc/signals.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "init/proc/reap.h"
#include "init/proc/spawn.h"
#include "tests/init/child.h"
#include "tests/init/refuse.h"

namespace {

// A line of /proc/self/status: "SigBlk", "SigIgn".
std::uint64_t status_mask(const std::string& name) {
  const std::string text = child::Scratch::read("/proc/self/status");
  return std::strtoull(text.c_str() + text.find(name + ":") + name.size() + 1, nullptr, 16);
}

constexpr std::uint64_t bit(int signal) { return 1ULL << (signal - 1); }

void block_as_the_kernel_does(std::uint64_t set) {
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &set, nullptr, sizeof set);
}

std::vector<proc::Received> read(proc::SignalSource& source, std::size_t limit) {
  std::vector<proc::Received> room(limit);
  room.resize(source.read(room).size());
  return room;
}

void wait(proc::SignalSource& source, std::int64_t timeout_ms) {
  std::array sources{source.source()};
  source.wait(sources, timeout_ms);
}

TEST(TakeOverSignals, BlocksAllThatCanBeBlocked) {
  const auto outcome = child::run([] {
    proc::take_over_signals();
    return status_mask("SigBlk") == ~(bit(SIGKILL) | bit(SIGSTOP)) ? 0 : 1;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST(TakeOverSignals, SavesMaskAndIgnoredSignalsAndGivesThemBack) {
  const auto outcome = child::run([] {
    // 32 and 33 are those that glibc hides.
    block_as_the_kernel_does(bit(SIGUSR1) | bit(32) | bit(33) | bit(40));
    for (const int signal : {SIGHUP, SIGPIPE, SIGCHLD, 41}) ::signal(signal, SIG_IGN);
    const std::uint64_t blocked = status_mask("SigBlk");
    const std::uint64_t ignored = status_mask("SigIgn");
    const proc::SavedSignals saved = proc::take_over_signals();
    if (saved.mask != blocked || !saved.child_ignored) return 1;
    if (!proc::caller_ignores(SIGHUP) || proc::caller_ignores(SIGTERM)) return 4;
    if (status_mask("SigIgn") != (ignored & ~bit(SIGCHLD))) return 2;
    proc::restore_signals(saved);
    return status_mask("SigBlk") == blocked && status_mask("SigIgn") == ignored ? 0 : 3;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST(TakeOverSignals, GivesBackWhatWasIgnoredBehindHandlersToo) {
  const auto outcome = child::run([] {
    for (const int signal : {SIGHUP, SIGPIPE, SIGCHLD, 41}) ::signal(signal, SIG_IGN);
    const std::uint64_t ignored = status_mask("SigIgn");
    const proc::SavedSignals saved = proc::take_over_signals();
    if (!refuse::calls({SYS_signalfd4}, ENOSYS)) return 9;
    const proc::SignalSource source;
    if (source.source().fd >= 0 || status_mask("SigIgn") != 0) return 1;
    if (!proc::caller_ignores(SIGHUP) || proc::caller_ignores(SIGTERM)) return 3;
    proc::restore_signals(saved);
    return status_mask("SigIgn") == ignored ? 0 : 2;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST(ResetSignals, LeavesNothingBlockedAndOnlyRealTimeSignalsIgnored) {
  const auto outcome = child::run([] {
    block_as_the_kernel_does(bit(SIGUSR1));
    for (const int signal : {SIGHUP, SIGPIPE, SIGCHLD, SIGURG, 41}) ::signal(signal, SIG_IGN);
    proc::take_over_signals();
    proc::reset_signals();
    return status_mask("SigBlk") == 0 && status_mask("SigIgn") == bit(41) ? 0 : 1;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST(TakeOverSignals, ACallerThatIgnoredSigchldDoesNotHideDeaths) {
  const auto outcome = child::run([] {
    ::signal(SIGCHLD, SIG_IGN);
    proc::take_over_signals();
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(42);
    return child::wait_for(pid);
  });
  EXPECT_EQ(outcome.code, 42);
}

TEST(TakeOverSignals, KeepsTheNewsOfAChildThatHasEnded) {
  const auto outcome = child::run([] {
    block_as_the_kernel_does(bit(SIGCHLD));
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(0);
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
    proc::take_over_signals();
    return (proc::pending_signals() & bit(SIGCHLD)) != 0 ? 0 : 1;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST(TakeOverSignals, AFaultOfOurOwnStillKills) {
  const auto outcome = child::run([] {
    proc::take_over_signals();
    ::prctl(PR_SET_DUMPABLE, 0);
    // What the kernel does for a bad access, without the sanitizers' view of it.
    ::signal(SIGSEGV, SIG_DFL);
    __asm__ volatile(
#if defined(__x86_64__)
        "movq $0, 0"
#else
        "mov x0, xzr\n str x0, [x0]"
#endif
        ::
            : "memory");
    return 0;
  });
  EXPECT_EQ(outcome.code, 128 + SIGSEGV);
}

// What there is to read them with: a signalfd; handlers; not even ppoll.
enum class Kernel : unsigned char { kWhole, kNoSignalfd, kNoPpoll };

class ReadSignals : public testing::TestWithParam<Kernel> {
 protected:
  static proc::SignalSource take_over() {
    if (GetParam() != Kernel::kWhole) refuse::calls({SYS_signalfd4}, EPERM);
    if (GetParam() == Kernel::kNoPpoll) refuse::calls({SYS_ppoll}, ENOSYS);
    proc::take_over_signals();
    return {};
  }
};
std::string name_of(const testing::TestParamInfo<Kernel>& info) {
  constexpr std::array kNames = {"Whole", "NoSignalfd", "NoPpoll"};
  return kNames[static_cast<std::size_t>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(Kernels, ReadSignals,
                         testing::Values(Kernel::kWhole, Kernel::kNoSignalfd, Kernel::kNoPpoll),
                         name_of);

TEST_P(ReadSignals, GivesEachOfABurst) {
  const auto outcome = child::run([] {
    proc::SignalSource source = take_over();
    const std::vector<int> burst = {SIGHUP,  SIGINT,  SIGQUIT, SIGUSR1,  SIGUSR2,
                                    SIGPIPE, SIGTERM, SIGCONT, SIGWINCH, SIGRTMAX};
    const pid_t self = ::getpid();
    const pid_t sender = ::fork();
    if (sender == 0) {
      for (const int signal : burst) ::kill(self, signal);
      ::_exit(0);
    }
    child::wait_for(sender);
    std::vector<int> seen;
    for (const proc::Received& received : read(source, 100)) {
      if (received.signal == SIGCHLD) continue;
      if (received.code != SI_USER || received.sender != sender) return 1;
      seen.push_back(received.signal);
    }
    std::vector<int> expected = burst;
    std::ranges::sort(expected);
    std::ranges::sort(seen);
    return seen == expected ? 0 : 2;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST_P(ReadSignals, FaultsThatOthersSendAreOnlySignals) {
  const auto outcome = child::run([] {
    proc::SignalSource source = take_over();
    const pid_t self = ::getpid();
    const pid_t sender = ::fork();
    if (sender == 0) {
      for (const int signal : {SIGSEGV, SIGABRT, SIGFPE}) ::kill(self, signal);
      ::_exit(0);
    }
    child::wait_for(sender);
    return static_cast<int>(read(source, 100).size());
  });
  EXPECT_EQ(outcome.code, 3 + 1) << "and SIGCHLD";
}

TEST_P(ReadSignals, AnIgnoredSignalIsReadAllTheSame) {
  const auto outcome = child::run([] {
    ::signal(SIGINT, SIG_IGN);  // started with '&' from a shell without job control
    proc::SignalSource source = take_over();
    const pid_t self = ::getpid();
    const pid_t sender = ::fork();
    if (sender == 0) ::_exit(::kill(self, SIGINT));
    child::wait_for(sender);
    const auto received = read(source, 1);
    return received.size() == 1 && received[0].signal == SIGINT ? 0 : 1;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST_P(ReadSignals, LeavesOutSigpipeOfOurOwnWrites) {
  const auto outcome = child::run([] {
    proc::SignalSource source = take_over();
    child::Pipe pipe = child::make_pipe();
    pipe.out.reset();
    if (::write(pipe.in.get(), "x", 1) != -1) return 1;
    if (proc::pending_signals() != bit(SIGPIPE)) return 2;
    if (!read(source, 10).empty()) return 3;
    return proc::pending_signals() == 0 ? 0 : 4;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST_P(ReadSignals, StopsAtTheLimit) {
  const auto outcome = child::run([] {
    proc::SignalSource source = take_over();
    const pid_t self = ::getpid();
    const pid_t sender = ::fork();
    if (sender == 0) {
      for (int i = 0; i < 100; ++i) ::kill(self, SIGRTMIN);
      ::_exit(0);
    }
    child::wait_for(sender);
    // SIGCHLD comes first: the kernel gives low numbers first.
    if (read(source, 51).size() != 51) return 1;
    if (read(source, 1000).size() != 50) return 2;
    return read(source, 1000).empty() ? 0 : 3;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST_P(ReadSignals, WaitsForASignal) {
  const auto outcome = child::run([] {
    // All processes of a user share the room for queued signals: others need theirs.
    const rlimit few{1000, 1000};
    ::setrlimit(RLIMIT_SIGPENDING, &few);
    proc::SignalSource source = take_over();
    const pid_t self = ::getpid();
    const pid_t sender = ::fork();
    if (sender == 0) {
      // Asleep in the wait, or about to be: either way it must wake.
      while (::getppid() == self) ::sigqueue(self, SIGRTMAX, {.sival_int = 77});
      ::_exit(0);
    }
    for (int turn = 0; turn < 20; ++turn) {
      std::vector<proc::Received> received;
      while (received.empty()) {
        wait(source, -1);
        received = read(source, 1);
      }
      if (received[0].signal != SIGRTMAX || received[0].code != SI_QUEUE) return 1;
      if (received[0].sender != sender || static_cast<int>(received[0].value) != 77) return 2;
    }
    ::kill(sender, SIGKILL);
    ::waitpid(sender, nullptr, 0);
    return 0;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST_P(ReadSignals, WaitsForADescriptorAndForATime) {
  const auto outcome = child::run([] {
    proc::SignalSource source = take_over();
    child::Pipe pipe = child::make_pipe();
    std::array sources{source.source(), pollfd{pipe.out.get(), POLLIN, 0}};
    source.wait(sources, 1);  // nothing comes, so the time ends it
    child::say(pipe.in.get(), "x");
    source.wait(sources, -1);
    return (sources[1].revents & POLLIN) != 0 ? 0 : 1;
  });
  EXPECT_EQ(outcome.code, 0);
}

// A worker passes over the signals that a platform sends to all processes of a job.
TEST_P(ReadSignals, LeavesAWorkerNoHandlerButForSignalsOfTheJob) {
  const auto outcome = child::run([] {
    ::signal(SIGHUP, SIG_IGN);
    if (GetParam() != Kernel::kWhole) refuse::calls({SYS_signalfd4}, EPERM);
    const std::uint64_t before = status_mask("SigCgt");  // a sanitizer's
    const proc::SavedSignals saved = proc::take_over_signals();
    const proc::SignalSource source;
    const auto worker = proc::fork_worker(saved, -1, [before] {
      const std::uint64_t of_the_job =
          bit(SIGINT) | bit(SIGQUIT) | bit(SIGTERM) | bit(SIGUSR1) | bit(SIGUSR2);
      if ((status_mask("SigCgt") & ~before) != of_the_job) return 1;
      if (status_mask("SigBlk") != 0) return 2;
      if (status_mask("SigIgn") != bit(SIGHUP)) return 3;
      for (const int passed : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2}) {
        ::raise(passed);
      }
      return ::raise(SIGALRM);
    });
    return child::wait_for(*worker);
  });
  EXPECT_EQ(outcome.code, 128 + SIGALRM);
}

// A process that takes `count` real-time signals and prints "number value sender" for each.
pid_t start_receiver(int count, const child::Pipe& ready) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  child::say(ready.in.get(), "r");
  sigset_t all;
  ::sigfillset(&all);
  for (int i = 0; i < count; ++i) {
    siginfo_t info{};
    ::sigwaitinfo(&all, &info);
    std::printf("%d %d %d %s\n", info.si_signo, info.si_value.sival_int, info.si_pid,
                info.si_code == SI_QUEUE ? "queue" : "user");
  }
  std::fflush(stdout);
  ::_exit(0);
}

TEST_P(ReadSignals, KeepsOrderCountValueAndSenderOfQueuedSignals) {
  constexpr int kCount = 200;
  std::string expected;
  const auto outcome = child::run([] {
    proc::SignalSource source = take_over();
    child::Pipe ready = child::make_pipe();
    const pid_t receiver = start_receiver(kCount, ready);
    char byte = 0;
    if (::read(ready.out.get(), &byte, 1) != 1) return 1;
    const pid_t self = ::getpid();
    const pid_t sender = ::fork();
    if (sender == 0) {
      for (int i = 0; i < kCount; ++i) ::sigqueue(self, SIGRTMIN + 5, {.sival_int = 1000 - i});
      ::_exit(0);
    }
    int forwarded = 0;
    while (forwarded < kCount) {
      wait(source, -1);
      for (const proc::Received& received : read(source, 64)) {
        if (received.signal == SIGCHLD) continue;
        proc::forward_signal(receiver, received);
        ++forwarded;
      }
    }
    child::wait_for(sender);
    const int code = child::wait_for(receiver);
    std::printf("%d\n", sender);
    return code;
  });
  EXPECT_EQ(outcome.code, 0);
  const std::size_t last = outcome.out.rfind('\n', outcome.out.size() - 2) + 1;
  const std::string sender = outcome.out.substr(last, outcome.out.size() - last - 1);
  for (int i = 0; i < kCount; ++i) {
    expected +=
        std::to_string(SIGRTMIN + 5) + " " + std::to_string(1000 - i) + " " + sender + " queue\n";
  }
  EXPECT_EQ(outcome.out.substr(0, last), expected);
}

TEST(ForwardSignal, APlainSignalComesFromUs) {
  const auto outcome = child::run([] {
    proc::take_over_signals();
    child::Pipe ready = child::make_pipe();
    const pid_t receiver = start_receiver(1, ready);
    char byte = 0;
    if (::read(ready.out.get(), &byte, 1) != 1) return 1;
    proc::forward_signal(receiver, {.signal = SIGTERM, .code = SI_USER, .sender = 1});
    const int code = child::wait_for(receiver);
    std::printf("%d", ::getpid());
    return code;
  });
  const std::string pid = outcome.out.substr(outcome.out.find('\n') + 1);
  EXPECT_EQ(outcome.out, std::to_string(SIGTERM) + " 0 " + pid + " user\n" + pid);
}

TEST(ForwardSignal, ToAProcessThatIsGoneIsNothing) {
  const auto outcome = child::run([] {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(0);
    child::wait_for(pid);
    proc::forward_signal(pid, {.signal = SIGTERM, .code = SI_QUEUE});
    proc::forward_signal(pid, {.signal = SIGTERM, .code = SI_USER});
    return 0;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST(SignalName, IsThatOfTheManual) {
  EXPECT_EQ(proc::signal_name(SIGTERM), "SIGTERM");
  EXPECT_EQ(proc::signal_name(SIGKILL), "SIGKILL");
  EXPECT_EQ(proc::signal_name(SIGSYS), "SIGSYS");
  EXPECT_EQ(proc::signal_name(34), "SIGRTMIN");
  EXPECT_EQ(proc::signal_name(37), "SIGRTMIN+3");
  EXPECT_EQ(proc::signal_name(64), "SIGRTMIN+30");
  EXPECT_EQ(proc::signal_name(32), "signal 32");
  EXPECT_EQ(proc::signal_name(0), "signal 0");
  EXPECT_EQ(proc::signal_name(99), "signal 99");
}

}  // namespace
