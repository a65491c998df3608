#include "init/copy/tree/worker_pool.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <string_view>
#include <vector>

#include "base/signal_name.h"
#include "init/proc/signals.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"

namespace copy {
namespace {

constexpr int kTickMs = 200;
constexpr int kMostWorkers = 64;
constexpr std::int64_t kDyingMs = 1000;  // one that hangs in the kernel is left behind
constexpr int kFailed = 1;

struct Member {
  pid_t pid = -1;
  bool ended = false;
};

void write_failure(FailureSlot& slot, const envgen::Error& error) {
  if (slot.claimed.exchange(1) != 0) return;
  std::size_t at = 0;
  for (const std::string* part : {&error.what, &error.where, &error.found, &error.fix}) {
    const std::size_t most = (slot.text.size() / 4) - 1;
    const std::size_t size = std::min(part->size(), most);
    std::memcpy(slot.text.data() + at, part->data(), size);
    slot.text.at(at + size) = '\0';
    at += size + 1;
  }
  slot.ready.store(1, std::memory_order_release);
}

envgen::Error read_failure(const FailureSlot& slot) {
  envgen::Error error;
  const char* at = slot.text.data();
  for (std::string* part : {&error.what, &error.where, &error.found, &error.fix}) {
    *part = at;
    at += part->size() + 1;
  }
  return error;
}

// The caller's handlers, and what it has blocked, are not for a process that may be stopped.
void forget_signals() {
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    const bool fixed = signal == SIGKILL || signal == SIGSTOP;
    if (!fixed && !proc::outlives(signal)) ::signal(signal, SIG_DFL);
  }
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  sigset_t none{};
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void work(int worker, pid_t parent, FailureSlot& slot,
                       const std::function<envgen::Status(int)>& body) {
  forget_signals();
  sys::leave_callers_descriptors();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kFailed);
  ::umask(0);
  envgen::Status done;
  try {
    done = body(worker);
  } catch (const std::exception& error) {
    done = envgen::fail("copying", "", error.what(), "give the container more memory");
  }
  if (!done) write_failure(slot, done.error());
  ::_exit(done ? 0 : kFailed);
}

envgen::Status ending_of(int status) {
  if (WIFEXITED(status)) {
    if (WEXITSTATUS(status) == 0) return {};
    return envgen::fail("copying", "", "a copying process that ended by itself", "");
  }
  return envgen::fail(
      "copying", "",
      "a copying process that was killed by " + envgen::signal_name(WTERMSIG(status)),
      "look for want of memory; run it again: it goes on where it was");
}

// Reaps who has ended. The first bad ending is the result.
envgen::Status reap(std::vector<Member>& members) {
  envgen::Status result;
  for (Member& member : members) {
    if (member.ended) continue;
    int status = 0;
    const pid_t pid = ::waitpid(member.pid, &status, WNOHANG);
    if (pid == 0) continue;
    member.ended = true;
    // ECHILD: whoever called us has its children reaped by the kernel; the failure slot has their
    // errors.
    if (pid == member.pid && result) result = ending_of(status);
  }
  return result;
}

bool all_ended(const std::vector<Member>& members) {
  return std::ranges::all_of(members, [](const Member& member) { return member.ended; });
}

void end_all(std::vector<Member>& members) {
  for (const Member& member : members) {
    if (!member.ended) ::kill(member.pid, SIGKILL);
  }
  const std::int64_t until = sys::monotonic_ms() + kDyingMs;
  constexpr int kLookMs = 5;
  while (!all_ended(members) && sys::monotonic_ms() < until) {
    // How they end is no news any more.
    if (const auto ending = reap(members); !all_ended(members)) ::poll(nullptr, 0, kLookMs);
  }
}

envgen::Status watch(std::vector<Member>& members, int alive, const FailureSlot& slot,
                     const std::function<envgen::Status()>& tick) {
  std::int64_t next_tick = sys::monotonic_ms() + kTickMs;
  for (;;) {
    // Hung up when the last of them has ended.
    pollfd end{.fd = alive, .events = POLLIN, .revents = 0};
    const std::int64_t wait = std::clamp<std::int64_t>(next_tick - sys::monotonic_ms(), 1, kTickMs);
    ::poll(&end, 1, static_cast<int>(wait));
    envgen::Status ending = reap(members);
    if (slot.ready.load(std::memory_order_acquire) != 0) {
      return std::unexpected(read_failure(slot));
    }
    if (!ending) return ending;
    if (all_ended(members)) return {};
    if (end.revents != 0) ::poll(nullptr, 0, 1);  // between its last close and its end
    if (sys::monotonic_ms() < next_tick) continue;
    next_tick = sys::monotonic_ms() + kTickMs;
    TRY(tick());
  }
}

}  // namespace

int available_cpus() {
  cpu_set_t allowed{};
  return ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

int pool_size(int asked) {
  if (asked > 0) return std::min(asked, kMostWorkers);
  // They wait for the storage more than they compute: with cold caches, or a source on the network,
  // several of them per CPU are several times as fast, and otherwise cost nothing.
  constexpr int kPerCpu = 4;
  constexpr int kLeast = 8;
  constexpr int kMost = 32;
  return std::clamp(kPerCpu * available_cpus(), kLeast, kMost);
}

envgen::Status run_worker_pool(int size, FailureSlot& slot,
                               const std::function<envgen::Status(int worker)>& body,
                               const std::function<envgen::Status()>& tick,
                               const std::function<void()>& begun) {
  slot.claimed = 0;
  slot.ready = 0;
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return envgen::fail("starting a copy", "", sys::errno_text(errno), "allow more open files");
  }
  sys::Fd alive(ends[0]);
  sys::Fd held(ends[1]);
  std::vector<Member> members;
  members.reserve(static_cast<std::size_t>(size));
  const pid_t parent = ::getpid();
  envgen::Status result;
  for (int worker = 0; worker < size && result; ++worker) {
    const pid_t pid = ::fork();
    if (pid == 0) work(worker, parent, slot, body);
    if (pid > 0) members.push_back({pid, false});
    // With one that works there is a copy, if a slow one.
    if (pid < 0 && members.empty()) {
      result = envgen::fail("starting a copying process", "", sys::errno_text(errno),
                            "allow more processes");
    }
  }
  held.reset();
  if (result && begun) begun();
  if (result) result = watch(members, alive.get(), slot, tick);
  end_all(members);
  return result;
}

}  // namespace copy
