#include "init/engine/warm/spare.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <tuple>
#include <utility>
#include <vector>

#include "base/printed_text.h"
#include "base/secrets/secrets.h"
#include "base/text.h"
#include "init/proc/terminal.h"
#include "init/sys/cgroup.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"
#include "init/sys/path_state.h"

namespace engine {
namespace {

// Time limit of the import: enough for a slow network file system.
constexpr std::int64_t kImportMs = 10LL * 60 * 1000;
constexpr int kMaxLost = 3;  // number of lost spares in a row after which no more is made
constexpr std::size_t kPacketBytes = 16U << 10;
constexpr std::int64_t kGrowthKb = 64 << 10;
// Limit of the start message, which must fit into one packet.
constexpr std::size_t kMaxHandedBytes = 64U << 10;
constexpr std::size_t kMaxReasonBytes = 200;
constexpr int kMaxPackets = 16;  // maximum of packets that one read() handles
constexpr const char* kAtTerminal = "it has a terminal";

std::string message_of(const std::vector<std::string>& fields) {
  std::string message;
  for (const std::string& field : fields) {
    if (&field != &fields.front()) message += '\0';
    message += field;
  }
  return message;
}

std::string_view take_field(std::string_view& packet) { return base::take_part(packet, '\0'); }

std::int64_t resident_kb(pid_t pid) {
  const std::string text = sys::kernel_text("/proc/" + std::to_string(pid) + "/statm");
  std::string_view rest = text;
  std::ignore = base::take_word(rest);
  const auto pages = base::parse_number<std::int64_t>(base::take_word(rest));
  return pages.value_or(0) * (::sysconf(_SC_PAGESIZE) / 1024);
}

// Returns true if `fd` cannot seek, like a pipe. A stream of the rank remembers that from its
// creation, so the spare needs an output of the same kind.
bool is_piped(int fd) { return ::lseek(fd, 0, SEEK_CUR) < 0 && errno == ESPIPE; }

// Opens a substitute for the rank's output, which the spare has until it becomes the rank.
sys::Fd stand_in(bool piped) {
  std::array<int, 2> ends{-1, -1};
  if (!piped) return sys::Fd(::open("/dev/null", O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  const sys::Fd nobody_reads(ends[0]);
  return sys::Fd(ends[1]);
}

// Returns the reason that the spare has sent. It is a process of the job and can send any text, so
// the text is masked and cut.
std::string told_reason(std::string_view text) {
  const std::string masked = base::mask_printed(base::plain_text(text));
  return std::string(base::cut_text(masked, kMaxReasonBytes));
}

envgen::WarmStart start_of(const proc::SpawnSpec& spec) {
  return {.argv = spec.argv, .env = spec.env, .cwd = spec.cwd, .cpus = spec.cpus};
}

// Returns true if a standard stream of trainit is a terminal. Then no spare is possible: a module
// may check for the terminal at its import, but which process gets the terminal is only known at a
// start.
bool is_at_terminal() {
  return std::ranges::any_of(std::array{STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO},
                             [](int fd) { return ::isatty(fd) == 1; });
}

// Returns true if the OOM killer has killed a process since the last count, which is then taken to
// be the spare. Adjusts the job's count, so that this kill does not look like a failure of the job.
bool note_oom_kill(Job& job) {
  const auto kills = sys::oom_kills();
  if (!kills || !job.start.oom_kills_before || *kills <= *job.start.oom_kills_before) return false;
  ++*job.start.oom_kills_before;
  return true;
}

}  // namespace

void Spare::note_start(const std::string& name, const proc::SpawnSpec& spec) {
  name_ = name;
  spec_ = spec;
  const auto piped = [&spec](int fd, int inherited) {
    return spec.log_path.empty() && is_piped(fd >= 0 ? fd : inherited);
  };
  piped_out_ = piped(spec.output_fd, STDOUT_FILENO);
  piped_err_ = piped(spec.error_fd >= 0 ? spec.error_fd : spec.output_fd, STDERR_FILENO);
}

base::Status Spare::start_spare(const envgen::WarmPlan& warm, const envgen::WarmProcess& process) {
  const auto failed = [this](const char* where) {
    const int error = errno;
    return base::fail("keeping " + name_ + " warm", where, sys::errno_text(error), "");
  };
  if (spec_->callers_group || is_at_terminal()) {
    give_up(kAtTerminal);
    return {};
  }
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return failed("socketpair");
  }
  sys::Fd ours(ends[0]);
  const sys::Fd theirs(ends[1]);
  const sys::Fd out = stand_in(piped_out_);
  const sys::Fd err = stand_in(piped_err_);
  if (!out.valid() || !err.valid()) return failed("/dev/null or a pipe");
  kept_ = spec_;
  confinement_.reset();
  if (spec_->sandbox != nullptr) confinement_ = *spec_->sandbox;
  kept_->sandbox = confinement_ ? &*confinement_ : nullptr;
  proc::SpawnSpec spec = *kept_;
  for (const char* name : {"LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"}) spec.env.unset(name);
  kept_->env = spec.env;
  spec.argv = envgen::warm_command(kept_->argv, process);
  spec.env = envgen::warm_environment(spec.env, warm, theirs.get());
  spec.log_path.clear();
  spec.output_fd = out.get();
  spec.error_fd = err.get();
  spec.no_input = true;
  spec.foreground = false;
  spec.inherited_fds = 0;
  spec.callers_fds = false;
  spec.share_memory = false;
  spec.channel_fd = theirs.get();
  TRY_ASSIGN(auto spawned, proc::spawn(spec, context_.saved));
  start_pipe_ = std::move(spawned.start_pipe);
  socket_ = std::move(ours);
  pid_ = spawned.pid;
  context_.job.spares.push_back(pid_);
  std::vector<std::string> order = {process.module ? "module" : "script",
                                    kept_->argv[static_cast<std::size_t>(process.operand)],
                                    kept_->cwd};
  order.insert(order.end(), warm.modules.begin(), warm.modules.end());
  const std::string message = message_of(order);
  if (::send(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    give_up(errno == EMSGSIZE ? "the list of its modules is too long to be handed over"
                              : "its modules could not be named to it: " + sys::errno_text(errno));
    return {};
  }
  loaded_ = false;
  state_ = State::kImporting;
  reason_.clear();
  deadline_ms_ = sys::monotonic_ms() + kImportMs;
  return {};
}

std::string Spare::cold_reason(const proc::SpawnSpec& spec,
                               const std::vector<std::string>& free) const {
  if (state_ == State::kImporting) return "its modules were still being imported";
  if (state_ != State::kReady) return reason_.empty() ? "none stood by" : reason_;
  if (!socket_.valid()) return "what stood by has ended";
  if (proc::is_stopped(pid_)) return "what stood by was stopped by a signal";
  if (spec.callers_group || is_at_terminal()) return kAtTerminal;
  std::string difference = warm_difference(start_of(*kept_), start_of(spec), free);
  const bool confined = spec.sandbox != nullptr;
  if (difference.empty() &&
      (confined != confinement_.has_value() || (confined && !(*spec.sandbox == *confinement_)) ||
       spec.new_session != kept_->new_session)) {
    difference = "it is confined in another way";
  }
  if (difference.empty() && start_message(spec).size() > kMaxHandedBytes) {
    difference = "its new variables are too large";
  }
  return difference;
}

std::string Spare::start_message(const proc::SpawnSpec& spec) const {
  std::vector<std::string> fields = envgen::warm_edits(kept_->env, spec.env);
  fields.insert(fields.begin(), "go");
  return message_of(fields);
}

base::Result<proc::Spawned> Spare::hand_over(const proc::SpawnSpec& spec) {
  auto handed = proc::hand_over(spec, context_.saved, pid_, socket_.get(), start_message(spec));
  if (!handed) {
    end();
    return std::unexpected(std::move(handed.error()));
  }
  context_.job.helpers.push_back(handed->messenger);
  std::erase(context_.job.spares, pid_);
  handed_ = std::exchange(pid_, 0);
  // A SIGSTOP that is still being delivered escapes cold_reason(). Without SIGCONT the rank would
  // then remain stopped.
  ::kill(handed_, SIGCONT);
  ran_ = false;
  deadline_ms_.reset();
  start_pipe_.reset();
  state_ = State::kNone;
  lost_ = 0;
  return std::move(handed->spawned);
}

void Spare::end(std::string reason) {
  // The pid remains in Job::spares until the process is reaped.
  if (pid_ > 0) ::kill(pid_, SIGKILL);
  leave();
  if (state_ != State::kGivenUp) state_ = State::kNone;
  if (state_ == State::kNone) reason_ = std::move(reason);
}

void Spare::await_end(std::int64_t until_ms) const {
  if (pid_ <= 0) return;
  // Do not wait without pidfd_open (before Linux 5.3): the process dies anyway.
  const sys::Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (!process.valid()) return;
  std::ignore = sys::await_ready(process.get(), POLLIN, until_ms);
}

void Spare::replace(std::string reason) {
  if (++lost_ >= kMaxLost) return give_up(std::move(reason));
  end(std::move(reason));
}

void Spare::give_up(std::string reason) {
  end();
  state_ = State::kGivenUp;
  reason_ = std::move(reason);
}

void Spare::leave() {
  if (handed_ == 0) {
    socket_.reset();
    deadline_ms_.reset();
  }
  start_pipe_.reset();
}

std::string Spare::text() const {
  switch (state_) {
    case State::kNone:
      return reason_.empty() ? "" : "none: " + reason_;
    case State::kImporting:
      return "importing: pid " + std::to_string(pid_);
    case State::kReady:
      return "ready: pid " + std::to_string(pid_) + ", " + imported_;
    case State::kGivenUp:
      return "given up: " + reason_;
  }
  return {};
}

bool Spare::has_grown() const {
  return state_ == State::kReady && resident_kb(pid_) > ready_kb_ + ready_kb_ / 2 + kGrowthKb;
}

void Spare::read() {
  std::array<char, kPacketBytes> room;
  for (int packets = 0; socket_.valid() && packets < kMaxPackets; ++packets) {
    const ssize_t count = ::recv(socket_.get(), room.data(), room.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
      // The process has closed its socket: it runs as the rank, or it is about to die.
      socket_.reset();
      handed_ = 0;
      return;
    }
    take({room.data(), static_cast<std::size_t>(count)});
  }
}

void Spare::take(std::string_view packet) {
  const std::string_view word = take_field(packet);
  const auto text = [&packet] { return told_reason(take_field(packet)); };
  if (word == "loaded") {
    loaded_ = true;
  } else if (word == "ready" && state_ == State::kImporting) {
    constexpr std::int64_t kKbOfMb = 1024;
    const auto size_kb = base::parse_number<std::int64_t>(take_field(packet)).value_or(0);
    const auto took_ms = base::parse_number<std::int64_t>(take_field(packet)).value_or(0);
    const std::string names = text();
    const std::string stopped = text();
    imported_ = names.empty() ? "nothing" : names;
    imported_ +=
        ", " + std::to_string(size_kb / kKbOfMb) + " MiB, in " + std::to_string(took_ms) + " ms";
    if (!stopped.empty()) imported_ += "; what is imported behind " + stopped + " is not";
    ready_kb_ = resident_kb(pid_);
    state_ = State::kReady;
    deadline_ms_.reset();
    changed_();
  } else if (word == "cannot" && state_ == State::kImporting) {
    give_up(text());
    changed_();
  } else if (word == "runs" && handed_ != 0) {
    ran_ = true;
  } else if (word == "cold" && handed_ != 0) {
    ran_ = true;
    went_cold_ = text();
    changed_();
  } else if (pid_ > 0) {
    give_up("its modules say what nobody expects");
    changed_();
  }
}

void Spare::tend(std::int64_t now_ms) {
  if (!deadline_ms_ || now_ms < *deadline_ms_) return;
  deadline_ms_.reset();
  give_up("its modules are not imported within 10 minutes");
  changed_();
}

void Spare::reaped(const proc::Death& death) {
  std::erase(context_.job.spares, death.pid);
  if (death.pid == handed_) {
    read();  // read() sets ran_ if it has run as the rank
    handed_ = 0;
    socket_.reset();
    deadline_ms_.reset();
  }
  if (pid_ == 0 || death.pid != pid_) return;
  read();
  pid_ = 0;
  const bool died = state_ == State::kImporting || state_ == State::kReady;
  proc::StartFailure failure;
  const bool refused = died && start_pipe_.valid() &&
                       proc::read_start(start_pipe_, &failure) == proc::StartState::kFailed;
  leave();
  if (!died) return;
  if (refused) {
    give_up(to_line(failure.error));
  } else {
    note_end(death);
  }
  changed_();
}

void Spare::note_end(const proc::Death& death) {
  const bool taken = death.signaled && death.value == SIGKILL && note_oom_kill(context_.job);
  std::string how = death.signaled ? std::string(proc::signal_name(death.value)) + " ended it"
                                   : "it exited with code " + std::to_string(death.value);
  if (!loaded_ && !death.signaled) {
    how = "Python is older than 3.8, or does not load sitecustomize from PYTHONPATH";
  }
  const bool refused = !death.signaled && state_ == State::kImporting;
  if (taken) how = "the kernel's OOM killer ended it";
  if (refused || taken || ++lost_ >= kMaxLost) {
    give_up("what stood by does not: " + how);
  } else {
    state_ = State::kNone;
    reason_ = "what stood by has ended: " + how;
  }
}

}  // namespace engine
