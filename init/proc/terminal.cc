#include "init/proc/terminal.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "init/sys/clock.h"

namespace proc {
namespace {

constexpr std::uint64_t bit(int signal) { return 1ULL << (signal - 1); }

constexpr std::uint64_t kStops = bit(SIGTSTP) | bit(SIGTTIN) | bit(SIGTTOU);
constexpr std::uint64_t kTerminals =
    kStops | bit(SIGINT) | bit(SIGQUIT) | bit(SIGHUP) | bit(SIGCONT) | bit(SIGWINCH);

bool has_parent_session() { return ::getpid() != 1 && ::getsid(0) != ::getpid(); }

// Returns the signal that stopped this child; 0 if it is not stopped now. Does not change the state
// that a later wait reports.
int stopped_by(pid_t child) {
  siginfo_t info{};
  const auto id = static_cast<id_t>(child);
  if (::waitid(P_PID, id, &info, WSTOPPED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return 0;
  return info.si_status;
}

}  // namespace

bool has_terminal() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::tcgetpgrp(fd) >= 0) return true;
  }
  return false;
}

void take_back_terminal(pid_t ended) {
  const pid_t ours = ::getpgrp();
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const pid_t foreground = ::tcgetpgrp(fd);
    if (foreground < 0) continue;
    // Of a PID 1 or a session leader, all other groups belong to the main process. A group with the
    // number 0 is outside of this pid namespace.
    const bool of_job = foreground == ended || (foreground > 0 && !has_parent_session());
    if (of_job && foreground != ours) ::tcsetpgrp(fd, ours);  // SIGTTOU is blocked, as all are
    return;
  }
}

bool is_stopped(pid_t child) { return stopped_by(child) != 0; }

bool sent_by_terminal(const Received& received) {
  return received.code == SI_KERNEL && (bit(received.signal) & kTerminals) != 0;
}

JobControl JobControl::at_start() {
  JobControl control;
  control.shell_ = has_parent_session();
  control.in_callers_group_ = control.shell_ && has_terminal();
  return control;
}

void JobControl::started(std::uint64_t pending) { unsure_ = pending & kTerminals; }

bool JobControl::is_ignored(const Received& received) const {
  return shell_ && sent_by_terminal(received) && caller_ignores(received.signal);
}

bool JobControl::has_reached(pid_t main, const Received& received) const {
  if (!in_callers_group_ || !sent_by_terminal(received)) return false;
  // A main process that is a shell makes a group of its own.
  return (unsure_ & bit(received.signal)) == 0 && ::getpgid(main) == ::getpgrp();
}

void JobControl::answered(const Received& received) {
  if (!sent_by_terminal(received)) return;
  unsure_ &= ~bit(received.signal);
  if ((bit(received.signal) & kStops) != 0) terminal_stop_ = shell_;
  if (received.signal == SIGCONT) terminal_stop_ = false;
}

std::int64_t JobControl::stop_with(pid_t main) {
  if (main <= 0 || !(in_callers_group_ || terminal_stop_)) return 0;
  const int signal = stopped_by(main);
  if (signal == 0) return 0;
  const std::int64_t since_ms = sys::monotonic_ms();
  // Stops by the same signal, because the shell shows its name. Only signals of kStops stay pending
  // while blocked.
  const bool waits = (bit(signal) & kStops) != 0;
  ::kill(::getpid(), waits ? signal : SIGSTOP);
  if (waits) {
    // The main process was continued meanwhile. If this process stopped now, no process would
    // continue it.
    if (stopped_by(main) == 0) {
      discard_signal(signal);
      return 0;
    }
    let_signal_act(signal);
  }
  discard_signal(SIGCONT);
  terminal_stop_ = false;
  // SIGCONT continued the whole group of this process, but not a main process in another group. So
  // continues that one, unless the next ^Z has already come.
  if (stopped_by(main) != 0 && (pending_signals() & kStops) == 0) ::kill(main, SIGCONT);
  return std::max<std::int64_t>(sys::monotonic_ms() - since_ms, 1);
}

}  // namespace proc
