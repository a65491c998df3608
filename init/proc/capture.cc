#include "init/proc/capture.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

#include "base/exit_codes.h"
#include "init/proc/reap.h"
#include "init/proc/signals.h"
#include "init/proc/spawn.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"

namespace proc {
namespace {

constexpr int kLookMs = 10;

std::unexpected<StartFailure> refuse(envgen::Error error) {
  return std::unexpected(
      StartFailure{.exit_code = exit_code::kOwnFailure, .error = std::move(error)});
}

// What it prints until it has closed its output. False: the time or the room was over first.
bool read_output(int fd, std::int64_t deadline_ms, std::size_t most_bytes, std::string& text) {
  std::array<char, 16384> part;
  while (text.size() < most_bytes) {
    const std::int64_t left_ms = deadline_ms - sys::monotonic_ms();
    pollfd ready{fd, POLLIN, 0};
    if (left_ms <= 0) return false;
    if (::poll(&ready, 1, static_cast<int>(left_ms)) <= 0) continue;
    const ssize_t count = ::read(fd, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
  return false;
}

// The exit code with which it ends within half a second; it is not reaped, so that its group stays
// its own. One in D state is not awaited for longer.
std::optional<int> code_of(pid_t pid) {
  constexpr int kMostLooks = 50;
  for (int look = 0; look < kMostLooks; ++look) {
    siginfo_t info{};
    const int answer = wait_id(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
    if (answer == 0 && info.si_pid == pid) {
      return info.si_code == CLD_EXITED ? info.si_status : exit_code::kSignalBase + info.si_status;
    }
    if (answer != 0 && errno != EINTR) return std::nullopt;
    ::poll(nullptr, 0, kLookMs);
  }
  return std::nullopt;
}

// Its exit code if it ends by itself. Its group ends too: it may be a script.
int end(pid_t pid, bool has_closed) {
  const std::optional<int> by_itself = has_closed ? code_of(pid) : std::nullopt;
  ::kill(-pid, SIGKILL);
  if (!by_itself) {
    ::kill(pid, SIGKILL);  // it may not have made its session yet
    code_of(pid);
  }
  ::waitpid(pid, nullptr, WNOHANG);
  return by_itself.value_or(-1);
}

}  // namespace

std::expected<Captured, StartFailure> capture(std::vector<std::string> argv,
                                              const envgen::Environ& env, std::int64_t limit_ms,
                                              std::size_t most_bytes) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return refuse(
        {"running " + argv[0], "pipe", sys::errno_text(errno), "raise the limit on open files"});
  }
  const sys::Fd output(ends[0]);
  sys::Fd write_end(ends[1]);
  SpawnSpec spec;
  spec.argv = std::move(argv);
  spec.env = env;
  spec.no_input = true;
  spec.new_session = true;
  spec.die_with_parent = true;
  spec.output_fd = write_end.get();
  // Its start has to be ours alone; for the rest of the wait a stop signal is to end us at once.
  const SavedSignals saved = take_over_signals();
  auto spawned = spawn(spec, saved);
  restore_signals(saved);
  if (!spawned) return refuse(spawned.error());
  write_end.reset();
  Captured result;
  const bool closed =
      read_output(output.get(), sys::monotonic_ms() + limit_ms, most_bytes, result.output);
  result.late = !closed && result.output.size() < most_bytes;
  result.exit_code = end(spawned->pid, closed);
  StartFailure failure;
  if (read_start(spawned->start_pipe, &failure) == StartState::kFailed) {
    return std::unexpected(std::move(failure));
  }
  return result;
}

}  // namespace proc
