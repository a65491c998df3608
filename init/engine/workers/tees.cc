#include "init/engine/workers/tees.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <tuple>
#include <utility>

#include "init/proc/reap.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"
#include "init/sys/log.h"

namespace engine {
namespace {

constexpr std::uint32_t kKinds = 8;
constexpr std::uint32_t kMaxMessageBytes = 64U << 10;

// A tee that dies within this time after its start probably dies again: of its own work, or killed
// by another process.
constexpr std::int64_t kSoonMs = 1000;
// Number of early deaths after which the next tee starts after a pause.
constexpr int kDeathsAtOnce = 3;
constexpr int kDeathsInFull = 5;  // number of early deaths after which the tee only copies
constexpr std::int64_t kPauseMs = 1000;

bool is_echoed(const envgen::Process& process) {
  return process.tee ? process.echo : process.log.empty();
}

// Creates the streams from a process to the tee. Returns none if the process writes without the
// tee.
base::Result<std::vector<logtee::Source>> sources_of(const envgen::Process& process) {
  const bool echo = is_echoed(process);
  const std::array<bool, 2> terminals{echo && ::isatty(STDOUT_FILENO) == 1,
                                      echo && ::isatty(STDERR_FILENO) == 1};
  // If trainit's stdout or stderr is a terminal, a process with neither a tee nor a log writes
  // there directly. The terminal's keys and the shell's job control need this. A person reads the
  // output there.
  if ((terminals[0] || terminals[1]) && !process.tee) return {};
  // If stdout and stderr go to one place, one stream for both keeps the order of the writes.
  const bool one = !echo || logtee::same_file(STDOUT_FILENO, STDERR_FILENO);
  std::vector<logtee::Source> sources;
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    if (fd == STDERR_FILENO && one) continue;
    const bool terminal = terminals.at(fd == STDERR_FILENO ? 1 : 0);
    TRY_ASSIGN(auto source, terminal ? logtee::open_terminal(fd) : logtee::open_pipe());
    sources.push_back(std::move(source));
  }
  return sources;
}

}  // namespace

Tees::Tees(std::function<bool()> wanted)
    : ChildWorker(kKinds, kMaxMessageBytes), wanted_(std::move(wanted)) {}

void Tees::need_totals() {
  if (!totals_) totals_ = logtee::OutputTotals::make();
}

std::shared_ptr<const std::atomic<std::int64_t>> Tees::last_output_ms() {
  need_totals();
  return {totals_, totals_ ? &totals_->last_ms : nullptr};
}

base::Status Tees::make_streams(const envgen::Plan& plan) {
  TRY_ASSIGN(auto shared, logtee::Shared::make(plan.processes.size()));
  need_totals();
  if (totals_) sys::log::watch_line(&totals_->inside_line);
  logtee::Work work{.feeds = {},
                    .log_max_bytes = plan.observe.log_max_bytes,
                    .log_keep = plan.observe.log_keep,
                    .reader_timeout_ms = plan.observe.log_reader_timeout_ms,
                    .job_user = plan.sandbox.identity,
                    .totals = totals_};
  std::vector<Streams> all;
  all.reserve(plan.processes.size());
  for (std::size_t i = 0; i < plan.processes.size(); ++i) {
    const envgen::Process& process = plan.processes[i];
    const bool echo = is_echoed(process);
    logtee::Feed feed{.log = process.log,
                      .echo = echo,
                      .prefix = echo ? process.prefix : "[" + process.name + "] "};
    Streams streams{.sources = {}, .echo = echo};
    TRY_ASSIGN(streams.sources, sources_of(process));
    for (std::size_t s = 0; s < streams.sources.size(); ++s) {
      feed.fds[s] = streams.sources[s].read_end.get();
      shared.open(i, static_cast<logtee::Stream>(s));
    }
    if (streams.sources.empty()) feed = {};
    work.feeds.push_back(std::move(feed));
    all.push_back(std::move(streams));
  }
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return base::fail("starting the log tee", "pipe", sys::errno_text(errno),
                      "raise the limit on open files (ulimit -n)");
  }
  lifeline_read_end_.reset(ends[0]);
  lifeline_.reset(ends[1]);
  told_.reset();
  work.lifeline = ends[0];
  work_ = std::move(work);
  streams_ = std::move(all);
  shared_.emplace(std::move(shared));
  return {};
}

void Tees::begin(const envgen::Plan& plan, const proc::SavedSignals& saved, MakeScan make_scan) {
  if (std::exchange(begun_, true)) return;
  unused_ = true;
  saved_ = saved;
  saved_.mask = ~std::uint64_t{0};  // blocks all signals, as the tee gets its orders through a pipe
  make_scan_ = std::move(make_scan);
  ended_ = false;
  deaths_ = 0;
  start_at_ms_.reset();
  auto status = make_streams(plan);
  const bool none =
      std::ranges::all_of(streams_, [](const Streams& streams) { return streams.sources.empty(); });
  if (status && !none) status = start();
  if (status && !none) return;
  if (!status)
    sys::log::warning(to_line(status.error()) +
                      "; the job's output goes to its files, or where ours goes, without a tee");
  streams_.clear();
  shared_.reset();
  lifeline_.reset();
  lifeline_read_end_.reset();
}

base::Status Tees::start() {
  work_.before = before_.get();
  std::vector<int> keep = {work_.lifeline, work_.before};
  for (const logtee::Feed& feed : work_.feeds)
    keep.insert(keep.end(), feed.fds.begin(), feed.fds.end());
  std::erase(keep, -1);
  const bool in_full = deaths_ < kDeathsInFull;
  auto body = [this, in_full](int fd) {
    return logtee::run(work_, *shared_, make_scan_ ? make_scan_(fd, in_full) : logtee::Scan());
  };
  auto status = fork("starting the log tee", saved_, body, keep);
  if (status) started_ms_ = sys::monotonic_ms();
  if (status && told_) tell(*told_);  // repeat the order: the tee that died may have read it
  return status;
}

void Tees::try_start(std::int64_t now_ms) {
  start_at_ms_.reset();
  const auto status = start();
  if (status) return;
  sys::log::warning(to_line(status.error()) + "; trying again");
  start_at_ms_ = now_ms + kPauseMs;
}

void Tees::give(std::size_t process, proc::SpawnSpec& spec) const {
  if (!shared_ || process >= streams_.size() || streams_[process].sources.empty()) return;
  const Streams& streams = streams_[process];
  spec.no_input = spec.no_input || !streams.echo;
  spec.log_path.clear();
  spec.output_fd = streams.sources.front().write_end.get();
  spec.error_fd = streams.sources.back().write_end.get();
}

void Tees::started(std::size_t process) {
  unused_ = false;
  if (process >= streams_.size()) return;
  for (logtee::Source& source : streams_[process].sources) source.write_end.reset();
}

// Sends an order to the tee. Does not block, because a few bytes always fit into the pipe.
void Tees::tell(logtee::Told what) {
  told_ = what;
  std::ignore = ::write(lifeline_.get(), &what, sizeof(what));
}

void Tees::hurry() {
  for (Retired& one : retired_) one.lifeline.reset();
  if (shared_ && !told_) tell(logtee::Told::kStop);
}

// Check the pipe before is_whole(): bytes that have left the pipe and are not in the shared memory
// yet make is_whole() false.
bool Tees::has_read_all() const {
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    const auto& sources = streams_[i].sources;
    for (std::size_t s = 0; s < sources.size(); ++s) {
      int unread = 0;
      if (::ioctl(sources[s].read_end.get(), FIONREAD, &unread) == 0 && unread > 0) return false;
      if (!shared_->is_whole(i, static_cast<logtee::Stream>(s))) return false;
    }
  }
  return true;
}

bool Tees::catch_up(std::int64_t limit_ms) const {
  const std::int64_t deadline_ms = sys::monotonic_ms() + limit_ms;
  while (shared_ && !has_read_all()) {
    if (shared_->held() || sys::monotonic_ms() >= deadline_ms) return false;
    sys::pause_ms(1);
  }
  return true;
}

void Tees::retire() {
  begun_ = false;
  if (!shared_) return;
  if (pid_ == 0 && !ended_) try_start(sys::monotonic_ms());
  tell(logtee::Told::kEnd);
  before_.reset();
  if (pid_ > 0) {
    ::kill(pid_, SIGCONT);
    retired_.push_back({std::exchange(pid_, 0), std::move(lifeline_)});
    before_.reset(messages_->release().release());
  }
  messages_.reset();
  start_at_ms_.reset();
  shared_.reset();
  streams_.clear();
  lifeline_.reset();
  lifeline_read_end_.reset();
}

void Tees::reaped(const proc::Death& death) {
  const auto was =
      std::erase_if(retired_, [&](const Retired& one) { return one.pid == death.pid; });
  if (was == 0) ChildWorker::reaped(death);
}

void Tees::on_exit(const proc::Death& death) {
  ended_ = !death.signaled && death.value == 0;
  if (ended_ || !(unused_ || wanted_())) return;
  const std::int64_t now_ms = sys::monotonic_ms();
  deaths_ = now_ms - started_ms_ < kSoonMs ? deaths_ + 1 : 1;
  const std::string how = death.signaled
                              ? "was killed by " + std::string(proc::signal_name(death.value))
                              : "exited with code " + std::to_string(death.value);
  // Only the first deaths of a series are logged.
  if (deaths_ <= kDeathsAtOnce) {
    sys::log::warning("the log tee " + how + "; another one goes on with the same streams");
    return try_start(now_ms);
  }
  if (deaths_ == kDeathsInFull) {
    sys::log::warning("the log tee " + how + " " + std::to_string(deaths_) +
                      " times in succession: from now on it copies, and watches nothing");
  }
  start_at_ms_ = now_ms + kPauseMs;
}

void Tees::tend(std::int64_t now_ms) {
  siginfo_t info{};
  if (pid_ > 0 && ::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOHANG) == 0 &&
      info.si_pid == pid_) {
    sys::log::warning(
        "the log tee was stopped by a signal, and is continued: the job waits for it");
    ::kill(pid_, SIGCONT);
  }
  if (start_at_ms_ && now_ms >= *start_at_ms_) try_start(now_ms);
}

std::uint64_t Tees::bytes_seen() const {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; shared_ && i < streams_.size(); ++i) bytes += shared_->seen(i).bytes;
  return bytes;
}

bool Tees::resize() const {
  bool any = false;
  for (const Streams& streams : streams_) {
    for (std::size_t i = 0; i < streams.sources.size(); ++i) {
      const int like = i == 0 ? STDOUT_FILENO : STDERR_FILENO;
      const logtee::Source& source = streams.sources[i];
      any = (source.terminal && logtee::resize(source.read_end.get(), like)) || any;
    }
  }
  return any;
}

void Tees::finish(std::int64_t limit_ms, const Wait& wait) {
  bool patient = static_cast<bool>(wait);
  if (shared_ && patient) tell(logtee::Told::kEnd);
  std::int64_t deadline_ms = sys::monotonic_ms() + limit_ms;
  auto await_pipe = [&](int pipe) {
    if (patient) {
      patient = await_silence(pipe, wait);
      deadline_ms = sys::monotonic_ms() + limit_ms;
    }
    if (patient) return;
    hurry();
    lifeline_.reset();
  };
  // First wait for the tees of earlier starts. Each waits for the one before it, so the end of the
  // last is enough.
  bool all = true;
  if (before_.valid()) {
    for (const Retired& one : retired_) ::kill(one.pid, SIGCONT);
    await_pipe(before_.get());
    all = await_closed(before_.get(), deadline_ms);
  }
  // If this start's tee is killed meanwhile, it is started again here.
  for (int i = 0; i < kDeathsAtOnce && shared_ && !ended_; ++i) {
    if (pid_ == 0) try_start(sys::monotonic_ms());
    if (pid_ == 0) break;
    ::kill(pid_, SIGCONT);
    await_pipe(messages_->pipe().get());
    all = await_end(deadline_ms) && all;
    if (!all) break;
  }
  if (!all) {
    sys::log::warning("the log tee did not end in " + std::to_string(limit_ms) +
                      " ms: what it has not written is lost");
  }
}

// Waits until the tee's pipe is closed. A second poll checks what `wait` reports: if its own poll
// was refused, it reports an open pipe as closed.
bool Tees::await_silence(int pipe, const Wait& wait) {
  while (true) {
    pollfd end{pipe, 0, 0};
    if (wait(end)) return false;
    if (end.revents != 0 && ::poll(&end, 1, 0) != 0) return true;
  }
}

bool Tees::await_closed(int pipe, std::int64_t deadline_ms) {
  return sys::await_ready(pipe, 0, deadline_ms) || sys::is_ready(pipe, 0);
}

// Polls after the pipe is closed, because the tee can be reaped only a moment later.
bool Tees::await_end(std::int64_t deadline_ms) {
  if (!await_closed(messages_->pipe().get(), deadline_ms)) return false;
  siginfo_t info{};
  const auto id = static_cast<id_t>(pid_);
  while (proc::wait_id(P_PID, id, &info, WEXITED | WNOHANG) == 0 && info.si_pid == 0) {
    if (sys::monotonic_ms() >= deadline_ms) return false;
    sys::pause_ms(1);
  }
  ended_ = info.si_code == CLD_EXITED && info.si_status == 0;
  pid_ = 0;
  messages_.reset();
  return true;
}

std::vector<pid_t> Tees::pids() const {
  std::vector<pid_t> pids;
  pids.reserve(retired_.size() + 1);
  for (const Retired& one : retired_) pids.push_back(one.pid);
  if (pid_ > 0) pids.push_back(pid_);
  return pids;
}

bool Tees::are_all_children(const std::vector<pid_t>& beside) const {
  std::vector<pid_t> tees = pids();
  tees.insert(tees.end(), beside.begin(), beside.end());
  if (tees.empty()) return false;
  const std::vector<pid_t> children = proc::children_of_self();
  return !children.empty() && std::ranges::all_of(children, [&tees](pid_t child) {
    return std::ranges::find(tees, child) != tees.end();
  });
}

}  // namespace engine
