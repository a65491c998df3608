#include "init/proc/signals.h"

#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include "base/text.h"

namespace proc {
namespace {

constexpr int kSignals = 64;
constexpr std::uint64_t kAll = ~0ULL;

constexpr std::uint64_t bit(int signal) { return 1ULL << (signal - 1); }

// The signals that are meant for the job. A worker must not die of them.
constexpr auto kOfTheJob = std::to_array({SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2});

// Changes the signal mask with the system call. The functions of glibc neither block nor report 32
// and 33, which it reserves, so the caller's mask would not be restored exactly.
std::uint64_t change_mask(int how, std::uint64_t set) {
  std::uint64_t before = 0;
  ::syscall(SYS_rt_sigprocmask, how, &set, &before, sizeof set);
  return before;
}

// The kernel's struct on x86-64 and arm64. The members of glibc's struct have another order.
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

// Returns whether this process has sent the signal. A SIGPIPE of its own write to a closed pipe
// looks like that too. Reports of the kernel about other processes (SIGCHLD with the child's pid)
// do not: their code is positive.
bool sent_by_ourselves(const Received& received) {
  return received.code <= 0 && received.sender == ::getpid();
}

// The following code is for a kernel that refuses a signalfd.

bool handlers_installed = false;
std::uint64_t ignored_before_handlers = 0;

// The signals that handlers have stored. A handler blocks all signals, so one wait stores one
// signal. The other places are for a kernel that behaves differently.
struct Caught {
  std::array<siginfo_t, 16> infos;
  volatile std::sig_atomic_t count;
  std::sig_atomic_t taken;
} caught;

void catch_signal(int /*signal*/, siginfo_t* info, void* /*context*/) {
  const auto at = static_cast<std::size_t>(caught.count);
  if (at >= caught.infos.size()) return;
  caught.infos[at] = *info;
  caught.count = caught.count + 1;
}

// Installs a handler for every signal. glibc refuses 32 and 33. So glibc sets the action for
// SIGTERM, and that action is copied to all others: only glibc knows the function that returns from
// a handler.
void install_handlers() {
  handlers_installed = true;
  struct sigaction action{};
  action.sa_sigaction = catch_signal;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGTERM, &action, nullptr);
  KernelAction pattern{};
  get_action(SIGTERM, &pattern);
  pattern.mask = kAll;
  for (int signal = 1; signal <= kSignals; ++signal) {
    KernelAction before{};
    ::syscall(SYS_rt_sigaction, signal, &pattern, &before, sizeof pattern.mask);
    if (before.handler == SIG_IGN) ignored_before_handlers |= bit(signal);
  }
}

bool take_pending(std::uint64_t set, std::int64_t timeout_ms, siginfo_t* info) {
  const timespec limit{timeout_ms / 1000, timeout_ms % 1000 * 1'000'000};
  return ::syscall(SYS_rt_sigtimedwait, &set, info, &limit, sizeof set) > 0;
}

void wait_for_signals(std::span<pollfd> sources, std::int64_t timeout_ms) {
  constexpr std::int64_t kPauseMs = 100;
  const std::int64_t pause_ms = timeout_ms < 0 ? kPauseMs : std::min(timeout_ms, kPauseMs);
  siginfo_t info{};
  if (take_pending(kAll, pause_ms, &info)) catch_signal(0, &info, nullptr);
  for (pollfd& source : sources) source.revents = POLLIN;
}

void pass_over(int /*signal*/) {}

void restore_dispositions(const SavedSignals& saved) {
  const std::uint64_t ignored = ignored_before_handlers | (saved.child_ignored ? bit(SIGCHLD) : 0);
  // Dispositions that trainit has not changed are already inherited.
  const int first = handlers_installed ? 1 : SIGCHLD;
  const int last = handlers_installed ? kSignals : SIGCHLD;
  for (int signal = first; signal <= last; ++signal) {
    const bool ignore = (ignored & bit(signal)) != 0;
    if (ignore || handlers_installed) set_action(signal, ignore ? SIG_IGN : SIG_DFL);
  }
}

// Sets handlers that do nothing for the job's signals. An exec removes handlers, while an ignored
// or blocked signal would stay ignored or blocked.
void pass_over_signals_of_job() {
  struct sigaction action{};
  action.sa_handler = pass_over;
  action.sa_flags = SA_RESTART;
  for (const int signal : kOfTheJob) {
    struct sigaction before{};
    const bool set = ::sigaction(signal, &action, &before) == 0;
    if (set && before.sa_handler == SIG_IGN) ::sigaction(signal, &before, nullptr);
  }
}

}  // namespace

Received from_siginfo(const siginfo_t& info) {
  Received received{.signal = info.si_signo, .code = info.si_code};
  if (info.si_code == SI_KERNEL) return received;
  received.sender = info.si_pid;
  received.uid = info.si_uid;
  if (info.si_code < 0) std::memcpy(&received.value, &info.si_value, sizeof received.value);
  return received;
}

SavedSignals take_over_signals() {
  SavedSignals saved;
  saved.mask = change_mask(SIG_SETMASK, kAll);
  KernelAction action{};
  // Resets SIGCHLD also if SA_NOCLDWAIT is set, because the kernel then reaps automatically too.
  // Does so only if needed: when the default is set, the kernel discards a pending SIGCHLD, and the
  // end of a command that was started early would be missed.
  const bool known = get_action(SIGCHLD, &action);
  saved.child_ignored = known && action.handler == SIG_IGN;
  if (!known || action.handler != SIG_DFL || (action.flags & SA_NOCLDWAIT) != 0) {
    set_action(SIGCHLD, SIG_DFL);
  }
  return saved;
}

void restore_signals(const SavedSignals& saved) {
  restore_dispositions(saved);
  change_mask(SIG_SETMASK, saved.mask);
}

void reset_signals() {
  restore_dispositions({});
  constexpr int kLastUsual = 31;
  for (int signal = 1; signal <= kLastUsual; ++signal) set_action(signal, SIG_DFL);
  change_mask(SIG_SETMASK, 0);
}

bool caller_ignores(int signal) {
  KernelAction action{};
  if (handlers_installed) return (ignored_before_handlers & bit(signal)) != 0;
  return get_action(signal, &action) && action.handler == SIG_IGN;
}

bool outlives(int signal) {
  struct sigaction action{};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == pass_over;
}

void restore_signals_of_worker(const SavedSignals& saved) {
  restore_dispositions(saved);
  if (saved.mask != ~std::uint64_t{0}) pass_over_signals_of_job();
  change_mask(SIG_SETMASK, saved.mask);
}

SignalSource::SignalSource() {
  sigset_t all;
  std::memset(&all, 0xFF, sizeof all);
  fd_.reset(::signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!fd_.valid()) install_handlers();
}

void SignalSource::wait(std::span<pollfd> sources, std::int64_t timeout_ms) {
  constexpr std::uint64_t kNothingBlocked = 0;
  for (pollfd& source : sources) source.revents = 0;
  if (caught.taken < caught.count) timeout_ms = 0;
  const timespec limit{timeout_ms / 1000, timeout_ms % 1000 * 1'000'000};
  const long ready =
      ::syscall(SYS_ppoll, sources.data(), sources.size(), timeout_ms < 0 ? nullptr : &limit,
                fd_.valid() ? nullptr : &kNothingBlocked, sizeof kNothingBlocked);
  // ppoll was refused, or the limit on descriptors was lowered below the number of sources
  // (EINVAL).
  if (ready < 0 && errno != EINTR) wait_for_signals(sources, timeout_ms);
}

std::span<Received> SignalSource::read(std::span<Received> room) {
  std::size_t kept = 0;
  std::size_t left = room.size();
  const auto keep = [&](const Received& received) {
    --left;
    if (!sent_by_ourselves(received)) room[kept++] = received;
  };
  while (left > 0 && caught.taken < caught.count) {
    keep(from_siginfo(caught.infos[static_cast<std::size_t>(caught.taken)]));
    caught.taken = caught.taken + 1;
  }
  if (caught.taken == caught.count) {
    caught.taken = 0;
    caught.count = 0;
  }
  if (fd_.valid()) {
    std::array<signalfd_siginfo, 32> batch;
    while (left > 0) {
      const std::size_t wanted = std::min(left, batch.size());
      const ssize_t bytes = ::read(fd_.get(), batch.data(), wanted * sizeof batch[0]);
      if (bytes < 0 && errno == EINTR) continue;
      if (bytes <= 0) break;
      const std::size_t count = static_cast<std::size_t>(bytes) / sizeof batch[0];
      for (std::size_t i = 0; i < count; ++i) keep(from_kernel(batch[i]));
      if (count < wanted) break;
    }
  } else {
    siginfo_t info{};
    while (left > 0 && take_pending(kAll, 0, &info)) keep(from_siginfo(info));
  }
  return room.first(kept);
}

std::uint64_t pending_signals() {
  std::uint64_t pending = 0;
  ::syscall(SYS_rt_sigpending, &pending, sizeof pending);
  return pending;
}

void discard_signal(int signal) {
  siginfo_t info{};
  take_pending(bit(signal), 0, &info);
}

void let_signal_act(int signal) {
  KernelAction before{};
  get_action(signal, &before);
  set_action(signal, SIG_DFL);
  change_mask(SIG_UNBLOCK, bit(signal));
  change_mask(SIG_BLOCK, bit(signal));
  ::syscall(SYS_rt_sigaction, signal, &before, nullptr, sizeof before.mask);
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
  // The queue may be full (RLIMIT_SIGPENDING). The signal is then sent without its value, which is
  // better than not at all.
  ::kill(pid, received.signal);
}

std::optional<int> parse_signal(std::string_view text) {
  std::string name;
  for (const char c : text) name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::optional<int> number = base::parse_number<int>(name);
  std::string_view rest(name);
  if (rest.starts_with("SIG")) rest.remove_prefix(3);
  for (const auto& [prefix, base] : {std::pair{"RTMIN", SIGRTMIN}, std::pair{"RTMAX", SIGRTMAX}}) {
    if (number || !rest.starts_with(prefix)) continue;
    rest.remove_prefix(std::strlen(prefix));
    if (rest.empty()) return base;
    const bool sign = rest.starts_with(base == SIGRTMIN ? '+' : '-');
    const std::optional<int> offset = sign ? base::parse_number<int>(rest.substr(1)) : std::nullopt;
    if (!offset || *offset < 0) return std::nullopt;
    number = base == SIGRTMIN ? base + *offset : base - *offset;
    if (*number < SIGRTMIN) return std::nullopt;
  }
  for (int signal = 1; !number && signal <= kSignals; ++signal) {
    const char* known = ::sigabbrev_np(signal);
    if (known != nullptr && rest == known) number = signal;
  }
  if (!number || *number < 1 || *number > kSignals) return std::nullopt;
  return number;
}

}  // namespace proc
