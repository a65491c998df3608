#include "init/proc/signals.h"

#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace proc {
namespace {

constexpr int kSignals = 64;
constexpr std::uint64_t kAll = ~0ULL;

constexpr std::uint64_t bit(int signal) { return 1ULL << (signal - 1); }

// glibc keeps 32 and 33 to itself: its functions neither block them nor tell about them, and a
// caller's mask would come back changed.
std::uint64_t change_mask(int how, std::uint64_t set) {
  std::uint64_t before = 0;
  ::syscall(SYS_rt_sigprocmask, how, &set, &before, sizeof set);
  return before;
}

// As the kernel has it on x86-64 and arm64; glibc's has another order of members.
struct KernelAction {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)();
  std::uint64_t mask;
};

bool get_action(int signal, KernelAction* action) {
  return ::syscall(SYS_rt_sigaction, signal, nullptr, action, sizeof action->mask) == 0;
}

void set_action(int signal, void (*handler)(int)) {
  const KernelAction action{handler, 0, nullptr, 0};
  ::syscall(SYS_rt_sigaction, signal, &action, nullptr, sizeof action.mask);
}

Received from_kernel(const signalfd_siginfo& info) {
  return {.signal = static_cast<int>(info.ssi_signo),
          .code = info.ssi_code,
          .sender = static_cast<pid_t>(info.ssi_pid),
          .uid = info.ssi_uid,
          .value = info.ssi_ptr};
}

// SIGPIPE of a write to a closed pipe looks as if we had sent it. What the kernel reports of others
// (SIGCHLD with the child's pid) has a positive code.
bool sent_by_ourselves(const Received& received) {
  return received.code <= 0 && received.sender == ::getpid();
}

}  // namespace

SavedSignals take_over_signals() {
  SavedSignals saved;
  saved.mask = change_mask(SIG_SETMASK, kAll);
  KernelAction action{};
  for (int signal = 1; signal <= kSignals; ++signal) {
    if (get_action(signal, &action) && action.handler == SIG_IGN) saved.ignored |= bit(signal);
  }
  // Also for SA_NOCLDWAIT, which reaps by itself too.
  set_action(SIGCHLD, SIG_DFL);
  return saved;
}

void restore_signals(const SavedSignals& saved) {
  for (int signal = 1; signal <= kSignals; ++signal) {
    if ((saved.ignored & bit(signal)) != 0) set_action(signal, SIG_IGN);
  }
  change_mask(SIG_SETMASK, saved.mask);
}

sys::Fd open_signal_fd() {
  sigset_t all;
  std::memset(&all, 0xFF, sizeof all);
  return sys::Fd(::signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC));
}

std::vector<Received> read_signals(const sys::Fd& signal_fd, int limit) {
  constexpr int kBatch = 32;
  std::array<signalfd_siginfo, kBatch> batch;
  std::vector<Received> result;
  while (limit > 0) {
    const auto wanted = static_cast<std::size_t>(std::min(limit, kBatch));
    const ssize_t bytes = ::read(signal_fd.get(), batch.data(), wanted * sizeof batch[0]);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) break;
    const std::size_t count = static_cast<std::size_t>(bytes) / sizeof batch[0];
    for (std::size_t i = 0; i < count; ++i) {
      const Received received = from_kernel(batch[i]);
      if (!sent_by_ourselves(received)) result.push_back(received);
    }
    if (count < wanted) break;
    limit -= static_cast<int>(count);
  }
  return result;
}

void forward_signal(pid_t pid, const Received& received) {
  if (received.code == SI_QUEUE) {
    siginfo_t info{};
    info.si_signo = received.signal;
    info.si_code = SI_QUEUE;
    info.si_pid = received.sender;
    info.si_uid = received.uid;
    std::memcpy(&info.si_value, &received.value, sizeof info.si_value);
    if (::syscall(SYS_rt_sigqueueinfo, pid, received.signal, &info) == 0) return;
  }
  // Also where the queue is full (RLIMIT_SIGPENDING): without its value rather than not at all.
  ::kill(pid, received.signal);
}

std::string signal_name(int signal) {
  if (signal == SIGRTMIN) return "SIGRTMIN";
  if (signal > SIGRTMIN && signal <= SIGRTMAX) {
    return "SIGRTMIN+" + std::to_string(signal - SIGRTMIN);
  }
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

}  // namespace proc
