#include "init/proc/child_run.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "base/exit_codes.h"
#include "base/text.h"
#include "init/proc/reap.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"

namespace proc {
namespace {

// Pauses between two looks for the exit, if poll() does not report it. After the end of the output,
// the first pause is short, and each later one is longer.
constexpr std::int64_t kLookMs = 20;
constexpr std::int64_t kFirstPauseMs = 2;
constexpr std::int64_t kMaxPauseMs = 100;

// Returns a descriptor that becomes readable when the process exits; invalid before Linux 5.3.
sys::Fd exit_of(pid_t pid) { return sys::Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

struct Pipe {
  sys::Fd read_end;
  sys::Fd write_end;
};

base::Result<Pipe> make_pipe(const std::string& what) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return base::fail(what, "pipe", sys::errno_text(errno), "raise the limit on open files");
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return Pipe{sys::Fd(ends[0]), sys::Fd(ends[1])};
}

}  // namespace

base::Result<ChildRun> ChildRun::start(const RunLimits& limits,
                                       const std::function<int(int fd)>& body,
                                       std::span<const int> keep) {
  TRY_ASSIGN(auto pipe, make_pipe("starting a worker process"));
  std::vector<int> kept(keep.begin(), keep.end());
  kept.push_back(pipe.write_end.get());
  TRY_ASSIGN(const pid_t pid,
             fork_worker({}, kept, [&body, fd = pipe.write_end.get()] { return body(fd); }));
  return ChildRun(pid, std::move(pipe.read_end), limits);
}

base::Result<ChildRun> ChildRun::start(const RunLimits& limits, SpawnSpec spec,
                                       const SavedSignals* saved) {
  TRY_ASSIGN(auto pipe, make_pipe("running " + spec.argv[0]));
  spec.no_input = true;
  spec.new_session = true;
  spec.die_with_parent = true;
  spec.output_fd = pipe.write_end.get();
  // All signals are blocked during the start, so that none interrupts it. During the later wait, a
  // stop signal ends this process at once.
  const SavedSignals own = saved != nullptr ? *saved : take_over_signals();
  auto spawned = spawn(spec, own);
  if (saved == nullptr) restore_signals(own);
  if (!spawned) return std::unexpected(std::move(spawned.error()));
  ChildRun run(spawned->pid, std::move(pipe.read_end), limits);
  run.start_pipe_ = std::move(spawned->start_pipe);
  return run;
}

ChildRun::ChildRun(pid_t pid, sys::Fd output, const RunLimits& limits)
    : pid_(pid),
      output_(std::move(output)),
      limits_(limits),
      deadline_ms_(sys::monotonic_ms() + limits.time_ms) {}

ChildRun::~ChildRun() { end(); }

// Checks whether the child has exited. Does not reap it, so that its pid and its group are not
// reused.
void ChildRun::look_for_exit() {
  siginfo_t info{};
  const int looked =
      wait_id(P_PID, static_cast<id_t>(pid_.value), &info, WEXITED | WNOHANG | WNOWAIT);
  // ECHILD: another reaper has reaped the child, so how it exited is not known.
  if (looked == 0 ? info.si_pid == pid_.value : errno == ECHILD) exited_ = info;
  if (looked != 0 && errno == ECHILD) pid_.value = -1;
}

void ChildRun::read_some() {
  std::array<char, 16384> part;
  while (bytes_.size() < limits_.most_bytes) {
    const ssize_t count = ::read(output_.get(), part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) break;
    bytes_.append(part.data(), static_cast<std::size_t>(count));
  }
  output_.reset();
  if (bytes_.size() < limits_.most_bytes) {
    deadline_ms_ = std::min(deadline_ms_, sys::monotonic_ms() + limits_.linger_ms);
  }
}

bool ChildRun::step() {
  // Looks for the exit before it reads the pipe: if the child has exited, the pipe then contains
  // everything that it wrote.
  if (!exited_) look_for_exit();
  if (output_.valid()) read_some();
  if (exited_ || bytes_.size() >= limits_.most_bytes) return true;
  const bool over = sys::monotonic_ms() >= deadline_ms_;
  late_ = over && output_.valid();
  pause_ms_ = output_.valid() ? 0 : std::clamp(pause_ms_ * 2, kFirstPauseMs, kMaxPauseMs);
  return over;
}

std::int64_t ChildRun::next_look_ms() const {
  return std::min(deadline_ms_, sys::monotonic_ms() + (output_.valid() ? kLookMs : pause_ms_));
}

void ChildRun::wait() {
  sys::Fd exit = pid_.value > 0 ? exit_of(pid_.value) : sys::Fd();
  while (!step()) {
    std::array<pollfd, 2> ready{{{output_.get(), POLLIN, 0}, {exit.get(), POLLIN, 0}}};
    const std::int64_t until_ms = exit.valid() ? deadline_ms_ : next_look_ms();
    const std::int64_t left_ms =
        std::clamp<std::int64_t>(until_ms - sys::monotonic_ms(), 0, 60'000);
    ::poll(ready.data(), ready.size(), static_cast<int>(left_ms));
    // A tracer delays the reaping: the exit is visible here before the parent can reap.
    if (ready[1].revents != 0 && !step()) exit.reset();
  }
}

void ChildRun::end(std::int64_t most_ms) {
  // Looks again, because another reaper may have reaped the child. But an exit that is seen only
  // now came after the end of the run, so exited_ stays as it was.
  const auto known = exited_;
  if (pid_.value > 0) look_for_exit();
  const bool has_exited = known || exited_;
  exited_ = known;
  const pid_t pid = std::exchange(pid_.value, -1);
  if (pid <= 0) return;
  if (!has_exited || !limits_.keeps_group) ::kill(-pid, SIGKILL);
  if (!has_exited) ::kill(pid, SIGKILL);  // the child may not have made its group yet
  const std::int64_t until_ms = sys::monotonic_ms() + most_ms;
  std::int64_t pause_ms = kFirstPauseMs;
  while (::waitpid(pid, nullptr, WNOHANG) == 0 && sys::monotonic_ms() < until_ms) {
    sys::pause_ms(std::min(pause_ms, most_ms));
    pause_ms = std::min(pause_ms * 2, kMaxPauseMs);
  }
}

std::string ChildRun::cut_short() const {
  if (bytes_.size() >= limits_.most_bytes) {
    return "more than " + std::to_string(limits_.most_bytes) + " bytes of output";
  }
  if (exited_) return "";
  if (late_) return "no answer within " + base::seconds(limits_.time_ms);
  return "no exit after the end of its output";
}

int ChildRun::exit_code() const {
  if (!exited_ || exited_->si_pid == 0) return -1;
  return exited_->si_code == CLD_EXITED ? exited_->si_status
                                        : exit_code::kSignalBase + exited_->si_status;
}

std::optional<StartFailure> ChildRun::start_failure() const {
  StartFailure failure;
  if (!start_pipe_.valid() || read_start(start_pipe_, &failure) != StartState::kFailed) return {};
  return failure;
}

std::expected<Captured, StartFailure> capture(const Tool& tool, std::vector<std::string> arguments,
                                              const RunLimits& limits, const SavedSignals* saved) {
  SpawnSpec spec;
  spec.argv = std::move(arguments);
  spec.argv.insert(spec.argv.begin(), tool.path);
  spec.env = tool.env;
  spec.cwd = tool.cwd;
  auto run = ChildRun::start(limits, std::move(spec), saved);
  if (!run) {
    return std::unexpected(
        StartFailure{.exit_code = exit_code::kOwnFailure, .error = std::move(run.error())});
  }
  run->wait();
  run->end();
  if (auto failure = run->start_failure()) return std::unexpected(std::move(*failure));
  return Captured{run->output(), run->exit_code(), run->late(), run->cut_short()};
}

}  // namespace proc
