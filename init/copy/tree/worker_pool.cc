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
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/signal_name.h"
#include "init/copy/tree/pool_load.h"
#include "init/proc/signals.h"
#include "init/sys/cgroup.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"
#include "init/sys/terminate.h"

namespace copy {
namespace {

constexpr std::int64_t kTickMs = 200;
constexpr std::int64_t kDyingMs = 1000;  // time for a killed child to end; one that hangs in the
                                         // kernel is abandoned
constexpr int kFailed = 1;

// A worker process. proc::ChildRun is not used: a worker answers through shared memory, has no time
// limit, and the workers of one start share the pipe that shows their exit.
struct Member {
  pid_t pid = -1;
  bool ended = false;
};
using Members = std::vector<Member>;

void write_failure(FailureSlot& slot, const base::Error& error) {
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

base::Error read_failure(const FailureSlot& slot) {
  base::Error error;
  const char* at = slot.text.data();
  for (std::string* part : {&error.what, &error.where, &error.found, &error.fix}) {
    *part = at;
    at += part->size() + 1;
  }
  return error;
}

// Resets signal handlers and the mask of the caller, because a worker must be stoppable.
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
                       const std::function<base::Status(int)>& body) {
  forget_signals();
  sys::leave_callers_descriptors();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kFailed);
  ::umask(0);
  sys::on_terminate([&slot](const sys::Thrown& thrown) {
    write_failure(slot, {"copying", "", thrown.what, thrown.fix()});
    ::_exit(kFailed);
  });
  const base::Status done = body(worker);
  if (!done) write_failure(slot, done.error());
  ::_exit(done ? 0 : kFailed);
}

base::Status ending_of(int status) {
  if (WIFEXITED(status)) {
    if (WEXITSTATUS(status) == 0) return {};
    return base::fail("copying", "", "a copying process that ended by itself", "");
  }
  return base::fail("copying", "",
                    "a copying process that was killed by " + base::signal_name(WTERMSIG(status)),
                    "look for want of memory; run it again: it goes on where it was");
}

// Reaps the workers that have ended. Returns an error if one of them failed: the first.
base::Status reap(Members& members) {
  base::Status result;
  for (Member& member : members) {
    if (member.ended) continue;
    int status = 0;
    const pid_t pid = ::waitpid(member.pid, &status, WNOHANG);
    if (pid == 0) continue;
    member.ended = true;
    // waitpid fails with ECHILD if the kernel reaps the children automatically. The errors of
    // workers are then in the failure slot.
    if (pid == member.pid && result) result = ending_of(status);
  }
  return result;
}

bool all_ended(const Members& members) {
  return std::ranges::all_of(members, [](const Member& member) { return member.ended; });
}

void end_all(Members& members) {
  for (const Member& member : members) {
    if (!member.ended) ::kill(member.pid, SIGKILL);
  }
  const std::int64_t until = sys::monotonic_ms() + kDyingMs;
  constexpr int kLookMs = 5;
  while (!all_ended(members) && sys::monotonic_ms() < until) {
    // How they end does not matter any more.
    if (const auto ending = reap(members); !all_ended(members)) sys::pause_ms(kLookMs);
  }
}

class RunningPool {
 public:
  RunningPool(const Pool& pool, FailureSlot& slot, const std::function<base::Status(int)>& body)
      : pool_(pool), slot_(slot), body_(body), load_(available_cpus()) {}

  base::Status begin();
  base::Status watch(const std::function<base::Status()>& tick);
  void end() { end_all(members_); }

 private:
  base::Status start_until(int count);
  void wait(std::int64_t until_ms);
  void adapt();
  [[nodiscard]] bool adapts() const { return pool_.first > 0 && pool_.first < pool_.size; }

  const Pool& pool_;
  FailureSlot& slot_;
  const std::function<base::Status(int)>& body_;
  PoolLoad load_;
  pid_t parent_ = ::getpid();
  Members members_;
  // One pipe for each group of workers that were started together. It closes when the last of them
  // ends.
  std::vector<sys::Fd> alive_;
  int limit_ = 0;
  bool may_start_ = true;
};

base::Status RunningPool::start_until(int count) {
  if (!may_start_ || std::cmp_greater_equal(members_.size(), count)) return {};
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return base::fail("starting a copy", "", sys::errno_text(errno), "allow more open files");
  }
  alive_.emplace_back(ends[0]);
  const sys::Fd theirs(ends[1]);
  while (std::cmp_less(members_.size(), count)) {
    const auto number = static_cast<int>(members_.size());
    const pid_t pid = ::fork();
    if (pid == 0) work(number, parent_, slot_, body_);
    if (pid > 0) {
      members_.push_back({.pid = pid});
      continue;
    }
    may_start_ = false;
    // A single worker can make the copy, only slower.
    if (!members_.empty()) break;
    return base::fail("starting a copying process", "", sys::errno_text(errno),
                      "allow more processes");
  }
  return {};
}

base::Status RunningPool::begin() {
  members_.reserve(static_cast<std::size_t>(pool_.size));
  limit_ = adapts() ? pool_.first : pool_.size;
  if (adapts()) pool_.worker_limit->reset(static_cast<std::uint32_t>(limit_));
  TRY(start_until(limit_));
  if (pool_.begun) pool_.begun();
  return {};
}

void RunningPool::wait(std::int64_t until_ms) {
  if (alive_.empty()) {
    sys::pause_ms(1);  // time from a worker's last close to its exit
    return;
  }
  std::vector<pollfd> ends;
  ends.reserve(alive_.size());
  for (const sys::Fd& alive : alive_) ends.push_back({alive.get(), POLLIN, 0});
  const std::int64_t wait_ms = std::clamp<std::int64_t>(until_ms - sys::monotonic_ms(), 1, kTickMs);
  ::poll(ends.data(), ends.size(), static_cast<int>(wait_ms));
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (ends[i].revents != 0) alive_[i].reset();
  }
  std::erase_if(alive_, [](const sys::Fd& alive) { return !alive.valid(); });
}

void RunningPool::adapt() {
  std::vector<pid_t> working;
  for (const Member& member : members_) {
    if (!member.ended && std::cmp_less(working.size(), limit_)) working.push_back(member.pid);
  }
  const int wanted = load_.look(working, sys::monotonic_ms(), pool_.useful());
  const int limit = std::clamp(wanted, pool_.first, pool_.size);
  // If further workers cannot be started, the copy continues without them.
  std::ignore = start_until(limit);
  pool_.worker_limit->set(static_cast<std::uint32_t>(limit_), static_cast<std::uint32_t>(limit));
  limit_ = limit;
}

base::Status RunningPool::watch(const std::function<base::Status()>& tick) {
  std::int64_t next_tick = sys::monotonic_ms() + kTickMs;
  for (;;) {
    wait(adapts() ? std::min(next_tick, load_.next_look_ms()) : next_tick);
    base::Status ending = reap(members_);
    if (slot_.ready.load(std::memory_order_acquire) != 0) {
      return std::unexpected(read_failure(slot_));
    }
    if (!ending) return ending;
    if (all_ended(members_)) return {};
    if (adapts() && sys::monotonic_ms() >= load_.next_look_ms()) adapt();
    if (sys::monotonic_ms() < next_tick) continue;
    next_tick = sys::monotonic_ms() + kTickMs;
    TRY(tick());
  }
}

}  // namespace

int available_cpus() {
  cpu_set_t allowed{};
  const int count = ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
  return static_cast<int>(sys::cpus_within_quota(static_cast<std::uint32_t>(count)));
}

int pool_size(int asked) { return asked > 0 ? std::min(asked, kMaxWorkers) : kMaxWorkers; }

int first_of_pool(int asked) { return asked > 0 ? 0 : available_cpus(); }

base::Status run_worker_pool(const Pool& pool, FailureSlot& slot,
                             const std::function<base::Status(int worker)>& body,
                             const std::function<base::Status()>& tick) {
  slot.claimed = 0;
  slot.ready = 0;
  RunningPool running(pool, slot, body);
  base::Status result = running.begin();
  if (result) result = running.watch(tick);
  running.end();
  return result;
}

}  // namespace copy
