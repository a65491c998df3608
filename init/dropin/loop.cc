#include "init/dropin/loop.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <tuple>

#include "base/exit_codes.h"
#include "init/dropin/messages.h"
#include "init/proc/reap.h"
#include "init/proc/terminal.h"
#include "init/sys/fd.h"
#include "init/sys/memory.h"

namespace dropin {
namespace {

constexpr int kFirstInherited = 3;

bool is_stop(int signal) { return signal == SIGTSTP || signal == SIGTTOU || signal == SIGTTIN; }

// Returns true for a SIGPIPE that trainit's own write to a closed pipe has caused. The kernel shows
// trainit as its sender. It does so for the terminal's hand-off signals as well, but these must be
// handled.
bool is_our_own_pipe(const siginfo_t& info) {
  return info.si_signo == SIGPIPE && info.si_code <= 0 && info.si_pid == ::getpid();
}

// The entry "LISTEN_PID=<pid>" for the command. The object must exist as long as the environment
// uses its text.
class ListenPid {
 public:
  // Finds the variable, if its value is the pid of trainit. Text after the number is accepted, as
  // in the original program.
  void find(char** environment) {
    for (char** entry = environment; *entry != nullptr; ++entry) {
      const bool is_it = std::strncmp(*entry, kName.data(), kName.size()) == 0;
      if (is_it && std::strtoll(*entry + kName.size(), nullptr, 10) == ::getpid()) entry_ = entry;
    }
  }
  void set(pid_t pid) {
    if (entry_ == nullptr) return;
    char* digits = std::copy(kName.begin(), kName.end(), text_.data());
    *std::to_chars(digits, text_.data() + text_.size() - 1, pid).ptr = '\0';
    *entry_ = text_.data();
  }

 private:
  static constexpr std::string_view kName = "LISTEN_PID=";
  char** entry_ = nullptr;
  std::array<char, kName.size() + 24> text_{};
};

class Loop {
 public:
  Loop(const InitFlavour& flavour, const proc::SavedSignals& saved)
      : flavour_(flavour), saved_(saved) {}
  int run(const Begun& begun);

 private:
  void announce() const;
  void die_with_parent() const;
  void become_reaper() const;
  void leave_terminal();
  void leave_directory();
  bool start();
  [[noreturn, gnu::noinline]] void be_command();
  bool join_group() const;
  void take_terminal() const;
  void take(const siginfo_t& info);
  int rewritten(int signal) const;
  void send(int signal, const siginfo_t* info) const;
  void reap();
  bool reap_one();
  void report_death(const siginfo_t& dead) const;
  void end(const siginfo_t& dead);

  const InitFlavour& flavour_;
  proc::SavedSignals saved_;
  const pid_t parent_ = ::getppid();
  const pid_t group_ = ::getpgrp();  // 0 = the group is of a process outside of trainit's pid
                                     // namespace
  ListenPid listen_pid_;
  sys::Fd directory_;  // the directory in which the command starts, if trainit has left it
  // for each signal: the next instance comes from the terminal's hand-off
  std::array<bool, InitFlavour::kSignals + 1> hand_off_{};
  pid_t command_ = 0;
  int exit_code_ = -1;
};

void Loop::announce() const {
  if (flavour_.debug_by_variable) print_message(flavour_, Event::kDebugMode);
  if (flavour_.single_by_variable) print_message(flavour_, Event::kSingleMode);
}

// Requests the parent-death signal. If the parent had already ended, the kernel would not send it,
// so trainit does.
void Loop::die_with_parent() const {
  if (flavour_.parent_death_signal == 0) return;
  ::prctl(PR_SET_PDEATHSIG, flavour_.parent_death_signal, 0, 0, 0);
  if (::getppid() != parent_) ::kill(::getpid(), flavour_.parent_death_signal);
}

// A refusal is ignored: the command still has an init, only its orphans do not.
void Loop::become_reaper() const {
  if (flavour_.subreaper) {
    const bool done = ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
    print_message(flavour_, done ? Event::kSubreaper : Event::kSubreaperRefused, {.error = errno});
  }
  if (!flavour_.warn_if_no_reaper || ::getpid() == 1) return;
  int subreaper = 0;
  const bool known = ::prctl(PR_GET_CHILD_SUBREAPER, &subreaper, 0, 0, 0) == 0;
  if (!known || subreaper != 1) print_message(flavour_, Event::kNoReaper);
}

// Gives up the terminal. For a session leader, the kernel then sends SIGHUP and SIGCONT to the
// group.
void Loop::leave_terminal() {
  if (flavour_.terminal != Terminal::kNewSession) return;
  if (::ioctl(STDIN_FILENO, TIOCNOTTY) != 0) {
    return print_message(flavour_, Event::kTerminalNotLeft, {.number = errno, .error = errno});
  }
  const bool leader = ::getsid(0) == ::getpid();
  print_message(flavour_, leader ? Event::kTerminalLeft : Event::kTerminalLeftUnled);
  hand_off_[SIGHUP] = leader;
  hand_off_[SIGCONT] = leader;
}

// Leaves the directory before the command runs, because the command can check that. Keeps a
// descriptor for the command: entering a directory needs a permission that staying in it does not.
void Loop::leave_directory() {
  if (!flavour_.leave_directory) return;
  directory_.reset(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory_.valid() || ::fchdir(directory_.get()) != 0 || ::chdir("/") != 0) {
    print_message(flavour_, Event::kNoRoot, {.number = errno, .error = errno});
    directory_.reset();
  }
}

bool Loop::join_group() const {
  if (flavour_.command_group == CommandGroup::kNewGroup && ::setpgid(0, 0) != 0) {
    print_message(flavour_, Event::kGroupFailed, {.error = errno});
    return false;
  }
  if (flavour_.command_group == CommandGroup::kNewSession && ::setsid() < 0) {
    print_message(flavour_, Event::kSessionFailed, {.number = errno, .error = errno});
    return false;
  }
  return true;
}

// Gives the terminal to the command's group, only if trainit's own group has it. After a start with
// '&', the shell has it. SIGTTOU is blocked, like all signals.
void Loop::take_terminal() const {
  if (flavour_.terminal == Terminal::kLeave) return;
  if (flavour_.terminal == Terminal::kNewSession) {
    if (::ioctl(STDIN_FILENO, TIOCSCTTY, 0) != 0) {
      print_message(flavour_, Event::kNoTerminal, {.number = errno, .error = errno});
    }
    return print_message(flavour_, Event::kSessionMade);
  }
  sys::Fd own;
  if (flavour_.terminal == Terminal::kDevTty) {
    own.reset(::open("/dev/tty", O_RDWR | O_CLOEXEC));
    if (!own.valid()) print_message(flavour_, Event::kNoDevTty, {.error = errno});
  }
  const int terminal = own.valid() ? own.get() : STDIN_FILENO;
  const pid_t foreground = ::tcgetpgrp(terminal);
  if (foreground == group_ && ::tcsetpgrp(terminal, ::getpgrp()) == 0) return;
  if (foreground < 0 || foreground == group_)
    print_message(flavour_, Event::kNoTerminal, {.error = errno});
}

int exec_failure_code(Program program, int error) {
  switch (program) {
    case Program::kTini:
      return error == ENOENT ? exit_code::kNotFound : error == EACCES ? exit_code::kCannotRun : 1;
    case Program::kDumbInit:
      return 2;
    case Program::kCatatonit:
      return 1;
  }
  return 1;
}

// Runs after vfork: the memory belongs to the parent, which is suspended until the exec.
void Loop::be_command() {
  listen_pid_.set(::getpid());
  if (directory_.valid()) std::ignore = ::fchdir(directory_.get());
  if (!join_group()) ::_exit(1);
  take_terminal();
  if (flavour_.callers_signals) {
    proc::restore_signals(saved_);
  } else {
    proc::reset_signals();
  }
  // Uses the C library's search in PATH (the rules are those of base/search_path.h): nothing may be
  // allocated here, and errno gives the exit code, as in the original program.
  ::execvp(flavour_.command[0], flavour_.command);
  const int error = errno;
  print_message(flavour_, Event::kExecFailed, {.text = flavour_.command[0], .error = error});
  ::_exit(exec_failure_code(flavour_.program, error));
}

bool Loop::start() {
  if (flavour_.command == nullptr) return true;
  if (flavour_.move_listen_pid) listen_pid_.find(environ);
  // vfork's unsafe property is intended: trainit is suspended until the program runs.
  // NOLINTNEXTLINE(bugprone-unsafe-functions)
  const pid_t pid = proc::has_terminal() ? ::fork() : ::vfork();
  if (pid == 0) be_command();
  if (pid < 0) {
    print_message(flavour_, Event::kForkFailed, {.error = errno});
    return false;
  }
  command_ = pid;
  print_message(flavour_, Event::kStarted, {.text = flavour_.command[0], .number = pid});
  return true;
}

int Loop::rewritten(int signal) const {
  const std::uint8_t other = flavour_.send_as[static_cast<std::size_t>(signal)];
  if (other == InitFlavour::kAsItIs) return signal;
  print_message(flavour_, Event::kRewritten, {.number = signal, .second = other});
  return other;
}

// Sends a signal to the command or its group. The command is not reaped yet, so its zombie keeps
// both numbers valid.
void Loop::send(int signal, const siginfo_t* info) const {
  const int as = rewritten(signal);
  if (as == 0) return print_message(flavour_, Event::kIgnored);
  print_message(flavour_, Event::kForwarding, {.text = SignalText(as).text()});
  const pid_t target = flavour_.signal_group ? -command_ : command_;
  errno = 0;
  if (info != nullptr && as == signal && !flavour_.signal_group) {
    proc::forward_signal(target, proc::from_siginfo(*info));
  } else {
    ::kill(target, as);
  }
  const MessageArguments words{.number = as, .second = target, .error = errno};
  if (errno != 0) print_message(flavour_, Event::kForwardFailed, words);
  print_message(flavour_, Event::kForwarded, words);
}

void Loop::take(const siginfo_t& info) {
  const int signal = info.si_signo;
  if (is_our_own_pipe(info)) return;
  print_message(flavour_, signal == SIGCHLD ? Event::kReceivedChild : Event::kReceived,
                {.number = signal});
  bool& hand_off = hand_off_[static_cast<std::size_t>(signal)];
  if (hand_off) {
    hand_off = false;
    return print_message(flavour_, Event::kHandOff, {.number = signal});
  }
  if (signal == SIGCHLD) return;  // reap() follows
  if (flavour_.command == nullptr) {
    if (signal == SIGTERM || signal == SIGINT) exit_code_ = 0;
    return;
  }
  send(signal, &info);
  if (flavour_.stop_like_command && is_stop(signal)) {
    print_message(flavour_, Event::kStopping);
    ::kill(::getpid(), SIGSTOP);
  }
}

void Loop::report_death(const siginfo_t& dead) const {
  const bool is_command = dead.si_pid == command_;
  const MessageArguments words{.number = dead.si_pid, .second = dead.si_status};
  print_message(flavour_, Event::kReaped, words);
  // catatonit reports only processes other than the command.
  if (!is_command || flavour_.program != Program::kCatatonit) {
    print_message(flavour_, dead.si_code == CLD_EXITED ? Event::kExited : Event::kKilled, words);
  }
  if (!is_command && flavour_.warn_on_reap) print_message(flavour_, Event::kOtherReaped, words);
}

void Loop::end(const siginfo_t& dead) {
  if (dead.si_code == CLD_EXITED) {
    exit_code_ = dead.si_status;
    print_message(flavour_, Event::kMainExited, {.number = exit_code_});
  } else {
    exit_code_ = exit_code::kSignalBase + dead.si_status;
    print_message(flavour_, Event::kMainKilled, {.text = SignalText(dead.si_status).text()});
  }
  if (flavour_.success[static_cast<std::size_t>(exit_code_)]) exit_code_ = 0;
}

// Reaps one dead process. Returns false if there is none, or if the remaining ones are not waited
// for.
bool Loop::reap_one() {
  // Looks at the death before reaping, so that the group can be signalled while its number is still
  // valid.
  const bool look_first = flavour_.term_group_at_end;
  siginfo_t dead{};
  if (proc::wait_id(P_ALL, 0, &dead, WEXITED | WNOHANG | (look_first ? WNOWAIT : 0)) != 0) {
    print_message(flavour_, Event::kNoneLeft);
    return false;
  }
  if (dead.si_pid == 0) {
    print_message(flavour_, Event::kNoneDead);
    return false;
  }
  report_death(dead);
  const bool is_command = dead.si_pid == command_;
  if (is_command && look_first) send(SIGTERM, nullptr);
  if (look_first) {
    siginfo_t reaped{};
    proc::wait_id(P_PID, static_cast<id_t>(dead.si_pid), &reaped, WEXITED | WNOHANG);
  }
  if (is_command) end(dead);
  return !is_command || !look_first;
}

void Loop::reap() {
  while (reap_one()) {
  }
}

int Loop::run(const Begun& begun) {
  announce();
  die_with_parent();
  become_reaper();
  leave_terminal();
  command_ = begun.command;
  if (command_ == 0) {
    leave_directory();
    if (!start()) return 1;
    directory_.reset();
  }
  if (flavour_.close_descriptors) sys::close_descriptors(kFirstInherited, {});
  sigset_t all;
  // All bits, because sigfillset() leaves out 32 and 33.
  std::memset(&all, 0xFF, sizeof all);
  siginfo_t info{};
  if (begun.command != 0) {
    if (begun.received != nullptr) take(*begun.received);
    // Reaps first: the command's SIGCHLD may be `received`, or may have come before the signals
    // were blocked.
    reap();
  }
  if (exit_code_ < 0) sys::release_start_memory();
  while (exit_code_ < 0) {
    if (::sigwaitinfo(&all, &info) < 0) continue;  // EINTR: trainit was stopped and continued
    take(info);
    // tini reaps after every signal. The other programs only after a SIGCHLD.
    const bool reaps = flavour_.program == Program::kTini || info.si_signo == SIGCHLD;
    if (reaps && exit_code_ < 0) reap();
  }
  print_message(flavour_, Event::kGoodbye, {.number = exit_code_});
  return exit_code_;
}

}  // namespace

int run_loop(const InitFlavour& flavour, const proc::SavedSignals& saved, const Begun& begun) {
  return Loop(flavour, saved).run(begun);
}

}  // namespace dropin
