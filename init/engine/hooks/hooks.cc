#include "init/engine/hooks/hooks.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <expected>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/exit_codes.h"
#include "base/text.h"
#include "base/wire.h"
#include "init/engine/hooks/hook_exports.h"
#include "init/engine/hooks/hook_file.h"
#include "init/engine/hooks/hook_look.h"
#include "init/engine/hooks/hook_output.h"
#include "init/proc/child_run.h"
#include "init/proc/reap.h"
#include "init/proc/spawn.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"
#include "init/sys/log.h"

namespace engine {
namespace {

enum class Kind : std::uint32_t { kFailed = 1, kExports = 2 };
// Limit of a message. Exports have at most engine::kMaxExportBytes. Each variable takes at least 3
// of these bytes, and 13 in a message, so 5 times the bytes are enough. The message of a failure is
// smaller.
constexpr std::uint32_t kMaxMessageBytes = 5 * kMaxExportBytes;

constexpr int kStopped = exit_code::kSignalBase + SIGTERM;
constexpr std::int64_t kTermMs = 2000;  // time between SIGTERM and SIGKILL
// Time after SIGKILL. If the hook has not ended then, it hangs in the kernel, and the worker goes
// on without it.
constexpr std::int64_t kKillMs = 2000;
// Time to write the rest of a hook's output after its end. If stderr takes nothing for this time,
// it has no reader.
constexpr std::int64_t kFlushMs = 1000;
constexpr std::string_view kFile = "TRAINIT_ENV";

struct Failure {
  int exit_code = exit_code::kOwnFailure;
  base::Error error;
};

// Returns how many bytes `edits` take in an environment: NAME=VALUE and a NUL for each.
std::size_t bytes_of(const std::vector<base::EnvEdit>& edits) {
  std::size_t bytes = 0;
  for (const base::EnvEdit& edit : edits) bytes += edit.name.size() + edit.value.size() + 2;
  return bytes;
}

bool is_assignment(const base::EnvEdit& edit) {
  constexpr std::string_view kNoName("=\0", 2);
  return edit.kind == base::EnvEdit::Kind::kSet && !edit.name.empty() &&
         edit.name.find_first_of(kNoName) == std::string::npos &&
         edit.value.find('\0') == std::string::npos;
}

class Worker {
 public:
  Worker(const envgen::HookGroup& group, base::Environ env, const std::string& run_dir,
         const std::vector<std::string>& forced_names, const std::optional<envgen::Identity>& job,
         int messages, proc::SavedSignals saved)
      : group_(group),
        env_(std::move(env)),
        run_dir_(run_dir),
        forced_names_(forced_names),
        job_(job),
        messages_(messages),
        saved_(saved) {}

  int run() {
    for (const std::string& path : group_.paths) {
      look_at_signals();
      std::optional<Failure> failure;
      if (!stopped()) {
        ++begun_;
        failure = run_hook(path);
      }
      if (stopped()) {
        report_stop(nullptr);
        flush();
        return kStopped;
      }
      if (!failure) continue;
      if (group_.fatal) {
        send(Kind::kFailed, HookFailed{failure->exit_code, to_line(failure->error)});
        return failure->exit_code;
      }
      say(to_line(failure->error) + ", ignoring");
    }
    return 0;
  }

 private:
  enum class Phase : unsigned char { kRuns, kNotified, kKilled };
  struct Hook {
    std::string path;
    std::string name;
    pid_t pid = -1;
    sys::Fd output;  // read end of its output; invalid after the end of the output
    sys::Fd start_pipe;
    Phase phase = Phase::kRuns;
    std::optional<std::int64_t> next_phase_ms;
    bool timed_out = false;
    std::optional<siginfo_t> end;
  };

  template <class News>
  void send(Kind kind, const News& message) const {
    send_message(messages_, static_cast<std::uint32_t>(kind), base::to_wire(message));
  }
  std::expected<std::optional<HookLook>, Failure> look_at(const Hook& hook);
  std::optional<Failure> run_hook(const std::string& path);
  base::Status start(Hook& hook, HookLook look, const HookFile* file);
  void watch(Hook& hook);
  void advance(Hook& hook);
  void look_for_end(Hook& hook) const;
  void read_output(Hook& hook);
  void look_at_signals();
  [[nodiscard]] bool stopped() const { return stops_ > 0; }
  void report_stop(const Hook* hook);
  void flush();
  void say(std::string text);
  [[nodiscard]] std::string title(const Hook& hook) const;
  [[nodiscard]] std::optional<Failure> failure_of(const Hook& hook) const;
  std::optional<Failure> take_exports(const Hook& hook, const HookFile& file);
  bool may_export(const Hook& hook, const base::EnvEdit& edit);

  const envgen::HookGroup& group_;
  base::Environ env_;  // environment of the next hook, with the exports of earlier hooks
  const std::string& run_dir_;
  const std::vector<std::string>& forced_names_;
  const std::optional<envgen::Identity>& job_;
  int messages_;
  proc::SavedSignals saved_;
  proc::SignalSource signals_;
  HookOutput output_;
  std::size_t exported_bytes_ = 0;
  bool no_file_reported_ = false;
  bool stalled_ = false;   // stderr has taken nothing for kFlushMs
  std::size_t begun_ = 0;  // number of hooks begun so far
  int stops_ = 0;          // number of SIGTERMs received
  bool stop_reported_ = false;
};

// Checks a hook in a child (hook_look.h). Returns nullopt if the worker was stopped meanwhile.
std::expected<std::optional<HookLook>, Failure> Worker::look_at(const Hook& hook) {
  constexpr std::int64_t kForEverMs = std::int64_t{1} << 40;
  const std::int64_t now_ms = sys::monotonic_ms();
  const std::int64_t left_ms = hook.next_phase_ms ? *hook.next_phase_ms - now_ms : kForEverMs;
  auto child = proc::ChildRun::start({.time_ms = left_ms}, [&](int fd) {
    const std::string look =
        base::to_wire(look_at_hook(hook.path, hook.path == group_.script, env_, job_));
    return sys::write_all(fd, look) == look.size() ? 0 : 1;
  });
  const auto failed = [&hook, this](int code, base::Error error) {
    error.what = "starting " + title(hook);
    return std::unexpected(Failure{code, std::move(error)});
  };
  if (!child) return failed(exit_code::kOwnFailure, std::move(child.error()));
  while (!child->step()) {
    std::array<pollfd, 2> sources = {signals_.source(), pollfd{child->fd(), POLLIN, 0}};
    signals_.wait(sources, std::max<std::int64_t>(child->next_look_ms() - sys::monotonic_ms(), 0));
    look_at_signals();
    if (stopped()) return std::nullopt;
  }
  auto look = base::from_wire<HookLook>(child->output());
  if (look && look->found.empty()) return look;
  if (look) return failed(exit_code::kOwnFailure, {"", look->where, look->found, look->fix});
  if (!child->late()) {
    std::string found = child->cut_short();
    if (found.empty()) {
      found = "that its check ended with code " + std::to_string(child->exit_code());
    }
    return failed(exit_code::kOwnFailure, {"", hook.path, std::move(found),
                                           "see the log above; report it with `trainit snapshot`"});
  }
  return failed(exit_code::kUnavailable,
                {"", hook.path,
                 "no answer within " + base::seconds(group_.timeout_ms) +
                     " about its file and the paths in its variables",
                 "see which file system no longer answers, or raise --hook-timeout"});
}

std::optional<Failure> Worker::run_hook(const std::string& path) {
  Hook hook;
  hook.path = path;
  hook.name = path.substr(path.rfind('/') + 1);
  if (group_.timeout_ms > 0) hook.next_phase_ms = sys::monotonic_ms() + group_.timeout_ms;
  auto look = look_at(hook);
  if (!look) return std::move(look.error());
  if (!*look || !(*look)->applies) return std::nullopt;
  output_.begin(hook.name);
  const auto file = HookFile::make(run_dir_, name_of(group_.event));
  if (!file && !std::exchange(no_file_reported_, true)) {
    say(to_line(file.error()) + "; going on without TRAINIT_ENV");
  }
  if (auto started = start(hook, std::move(**look), file ? &*file : nullptr); !started) {
    started.error().what = "starting " + title(hook);
    return Failure{exit_code::kOwnFailure, std::move(started.error())};
  }
  watch(hook);
  output_.end();
  flush();
  if (stopped()) {
    if (hook.phase != Phase::kRuns) report_stop(&hook);
    return std::nullopt;
  }
  auto failure = failure_of(hook);
  if (failure || !file) return failure;
  return take_exports(hook, *file);
}

base::Status Worker::start(Hook& hook, HookLook look, const HookFile* file) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return base::fail("", hook.path, sys::errno_text(errno), "raise RLIMIT_NOFILE (ulimit -n)");
  }
  hook.output.reset(ends[0]);
  const sys::Fd write_end(ends[1]);
  ::fcntl(hook.output.get(), F_SETFL, O_NONBLOCK);
  proc::SpawnSpec spec;
  spec.argv = {hook.path};
  if (hook.path == group_.script) spec.argv.emplace_back(name_of(group_.event));
  spec.env = base::Environ(std::move(look.env));
  if (look.leaves_directory) spec.cwd = "/";
  if (file != nullptr) {
    spec.env.set(kFile, file->path());
  } else {
    spec.env.unset(kFile);
  }
  spec.no_input = true;
  spec.output_fd = write_end.get();
  // Otherwise a hook that reads from trainit's terminal would be stopped (SIGTTIN).
  spec.new_session = true;
  spec.die_with_parent = true;
  TRY_ASSIGN(auto spawned, proc::spawn(spec, saved_));
  hook.pid = spawned.pid;
  hook.start_pipe = std::move(spawned.start_pipe);
  return {};
}

// Blocks until the hook has ended, or until kKillMs after its SIGKILL.
void Worker::watch(Hook& hook) {
  while (true) {
    // The order matters. Signals come before the check for the end: if the hook ends after that
    // check, its SIGCHLD is still unread and ends the wait below. The check comes before the read
    // of the output: if the hook has ended, all that it wrote is in the pipe.
    look_at_signals();
    look_for_end(hook);
    read_output(hook);
    output_.write_ready();
    advance(hook);
    const std::int64_t now_ms = sys::monotonic_ms();
    if (hook.end || (hook.phase == Phase::kKilled && now_ms >= *hook.next_phase_ms)) return;
    std::array<pollfd, 3> sources = {
        signals_.source(),
        pollfd{hook.output.get(), POLLIN, 0},
        pollfd{output_.waits() && !stalled_ ? STDERR_FILENO : -1, POLLOUT, 0},
    };
    const std::int64_t left_ms =
        hook.next_phase_ms ? std::max<std::int64_t>(*hook.next_phase_ms - now_ms, 0) : -1;
    signals_.wait(sources, left_ms);
  }
}

void Worker::advance(Hook& hook) {
  // Until the hook is reaped, the kernel cannot reuse its pid or its process group's id.
  auto signal = [&hook](int number) {
    if (::kill(-hook.pid, number) != 0) ::kill(hook.pid, number);
  };
  const std::int64_t now_ms = sys::monotonic_ms();
  const bool due = hook.next_phase_ms && now_ms >= *hook.next_phase_ms;
  const bool at_once = stops_ > 1 && hook.phase != Phase::kKilled;
  // Report the stop now: its sender may kill the worker before the hook ends.
  if (stopped() && !hook.end) report_stop(&hook);
  if (hook.end) {
    if (hook.phase != Phase::kRuns) signal(SIGKILL);
    ::waitpid(hook.pid, nullptr, 0);  // the hook has exited, so this does not block
  } else if (at_once || (hook.phase == Phase::kNotified && due)) {
    signal(SIGKILL);
    hook.phase = Phase::kKilled;
    hook.next_phase_ms = now_ms + kKillMs;
  } else if (hook.phase == Phase::kRuns && (stopped() || due)) {
    signal(SIGTERM);
    hook.timed_out = !stopped();
    hook.phase = Phase::kNotified;
    hook.next_phase_ms = now_ms + kTermMs;
  }
}

void Worker::look_for_end(Hook& hook) const {
  siginfo_t info{};
  const int waited =
      proc::wait_id(P_PID, static_cast<id_t>(hook.pid), &info, WEXITED | WNOHANG | WNOWAIT);
  if (waited == 0 && info.si_pid == hook.pid) hook.end = info;
}

// Reads the output that is in the pipe. kMaxReads limits the reads for a hook that writes without a
// pause. The limit is larger than a pipe, so all output of a hook that has ended is read.
void Worker::read_output(Hook& hook) {
  constexpr int kMaxReads = 32;
  std::array<char, 65536> part;
  for (int reads = 0; reads < kMaxReads && hook.output.valid(); ++reads) {
    const ssize_t count = ::read(hook.output.get(), part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return hook.output.reset();
    output_.add(std::string_view(part.data(), static_cast<std::size_t>(count)));
  }
}

void Worker::look_at_signals() {
  std::array<proc::Received, 16> room;
  for (auto received = signals_.read(room); !received.empty(); received = signals_.read(room)) {
    stops_ += static_cast<int>(std::ranges::count(received, SIGTERM, &proc::Received::signal));
  }
}

// Logs once that the worker was stopped. `hook`: the hook that was stopped with it; nullptr: none.
void Worker::report_stop(const Hook* hook) {
  if (std::exchange(stop_reported_, true)) return;
  std::string left;
  for (const std::string& path : std::span(group_.paths).subspan(begun_)) {
    left += (left.empty() ? "; not run: " : ", ") + path.substr(path.rfind('/') + 1);
  }
  if (hook == nullptr && left.empty()) return;
  const std::string what = hook != nullptr ? title(*hook) + " is ended: its time is over"
                                           : "the " + std::string(name_of(group_.event)) +
                                                 " hooks are ended: their time is over";
  output_.say(sys::log::Level::kWarning, what + ", or the job stops" + left);
  output_.write_ready();
}

void Worker::flush() {
  const std::int64_t deadline_ms = sys::monotonic_ms() + kFlushMs;
  while (!stalled_ && !stopped()) {
    output_.write_ready();
    const std::int64_t left_ms = deadline_ms - sys::monotonic_ms();
    if (!output_.waits()) return;
    stalled_ = left_ms <= 0;
    std::array<pollfd, 2> sources = {signals_.source(), pollfd{STDERR_FILENO, POLLOUT, 0}};
    if (!stalled_) signals_.wait(sources, left_ms);
    look_at_signals();
  }
  output_.write_all();
}

void Worker::say(std::string text) {
  output_.say(sys::log::Level::kWarning, std::move(text));
  flush();
}

std::string Worker::title(const Hook& hook) const {
  return "the " + std::string(name_of(group_.event)) + " hook " + hook.name;
}

std::optional<Failure> Worker::failure_of(const Hook& hook) const {
  proc::StartFailure start;
  if (proc::read_start(hook.start_pipe, &start) == proc::StartState::kFailed) {
    start.error.what = "starting " + title(hook);
    return Failure{start.exit_code, std::move(start.error)};
  }
  Failure failure{0, {"running " + title(hook), hook.path, "", ""}};
  if (hook.timed_out) {
    failure.exit_code = exit_code::kUnavailable;
    failure.error.found = "no end after " + base::seconds(group_.timeout_ms);
    failure.error.fix = "see what it waits for, or raise --hook-timeout";
    if (!hook.end) failure.error.found += ", nor by SIGKILL: it hangs in the kernel";
  } else if (hook.end->si_code == CLD_EXITED) {
    failure.exit_code = hook.end->si_status;
    failure.error.found = "exit code " + std::to_string(hook.end->si_status);
  } else {
    failure.exit_code = exit_code::kSignalBase + hook.end->si_status;
    failure.error.found = "an end by " + proc::signal_name(hook.end->si_status);
  }
  if (failure.exit_code == 0) return std::nullopt;
  if (group_.fatal && is_phase_event(group_.event) && failure.error.fix.empty()) {
    failure.error.fix =
        "correct it, or take " + std::string(name_of(group_.event)) + " out of --fatal-hooks";
  }
  const std::string words = output_.output_tail();
  if (!words.empty()) failure.error.found += "; its last lines: " + words;
  return failure;
}

std::optional<Failure> Worker::take_exports(const Hook& hook, const HookFile& file) {
  auto failed = [&](base::Error error) {
    error.what = "reading what " + title(hook) + " exports";
    return Failure{exit_code::kOwnFailure, std::move(error)};
  };
  const auto text = file.read();
  if (!text) return failed(text.error());
  auto edits = parse_hook_exports(*text);
  if (!edits) return failed(edits.error());
  std::erase_if(*edits, [&](const auto& edit) { return !may_export(hook, edit); });
  if (edits->empty()) return std::nullopt;
  exported_bytes_ += bytes_of(*edits);
  if (exported_bytes_ > kMaxExportBytes) {
    return failed({"", std::string("$").append(kFile),
                   "with the hooks before it " + std::to_string(exported_bytes_) + " bytes",
                   "write files, and export their paths"});
  }
  for (const base::EnvEdit& edit : *edits) env_.apply(edit);
  send(Kind::kExports, HookExports{std::move(*edits)});
  return std::nullopt;
}

bool Worker::may_export(const Hook& hook, const base::EnvEdit& edit) {
  const bool ours = edit.name == kFile || edit.name == "TRAINIT_HOOK";
  const bool forced = std::ranges::find(forced_names_, edit.name) != forced_names_.end();
  if (!ours && !forced) return true;
  say(title(hook) + " exports " + edit.name + ", which trainit sets itself, ignoring");
  return false;
}

// Returns the time by which the worker must have ended: the time limits of all its hooks, and some
// seconds for killing each.
std::optional<std::int64_t> deadline_of(const envgen::HookGroup& group) {
  constexpr std::int64_t kSlackMs = 10'000;
  constexpr std::int64_t kLongestMs = 1'000'000'000;
  if (group.timeout_ms <= 0) return std::nullopt;
  const auto count = static_cast<std::int64_t>(group.paths.size());
  return sys::monotonic_ms() + count * (std::min(group.timeout_ms, kLongestMs) + kSlackMs);
}

}  // namespace

HookRun::HookRun(std::function<void(HookMessage)> take)
    : ChildWorker(static_cast<std::uint32_t>(Kind::kExports), kMaxMessageBytes),
      take_(std::move(take)) {}

base::Status HookRun::start(const envgen::HookGroup& group, const base::Environ& env,
                            const std::string& run_dir,
                            const std::vector<std::string>& forced_names,
                            const std::optional<envgen::Identity>& job,
                            const proc::SavedSignals& saved) {
  auto body = [&](int fd) {
    proc::take_over_signals();
    // A hook opens its TRAINIT_ENV through the worker's /proc/PID/fd. That needs a dumpable worker,
    // and PID 1 may not be dumpable.
    ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    return Worker(group, env, run_dir, forced_names, job, fd, saved).run();
  };
  // All signals are blocked, so that a stop signal stays pending until the worker reads its
  // signals.
  proc::SavedSignals held = saved;
  held.mask = ~std::uint64_t{0};
  TRY(fork("starting the " + std::string(name_of(group.event)) + " hooks", held, body));
  event_ = group.event;
  deadline_ms_ = deadline_of(group);
  return {};
}

ChildWorker::Heard HookRun::on_message(std::uint32_t kind, std::string_view bytes) {
  if (kind == static_cast<std::uint32_t>(Kind::kFailed)) {
    auto failed = base::from_wire<HookFailed>(bytes);
    if (!failed || failed->message.empty()) return Heard::kDamaged;
    take_(std::move(*failed));
    return Heard::kLast;
  }
  auto exports = base::from_wire<HookExports>(bytes);
  if (!exports || !std::ranges::all_of(exports->edits, is_assignment)) return Heard::kDamaged;
  take_(std::move(*exports));
  return Heard::kMore;
}

void HookRun::on_silence(bool damaged) {
  if (damaged)
    take_(HookFailed{exit_code::kOwnFailure, "the worker for hooks sent a damaged message"});
}

void HookRun::on_overdue() {
  sys::log::warning("the worker of the " + std::string(name_of(event_)) +
                    " hooks has not ended in its time, so it gets SIGKILL");
}

}  // namespace engine
