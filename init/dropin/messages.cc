#include "init/dropin/messages.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <span>
#include <tuple>

namespace dropin {
namespace {

struct Message {
  Event event;
  int level;
  std::string_view text;
};

namespace tini {

enum Level : int { kFatal, kWarn, kInfo, kDebug, kTrace };
constexpr std::array<std::string_view, 5> kPrefixes = {
    "[FATAL tini (", "[WARN  tini (", "[INFO  tini (", "[DEBUG tini (", "[TRACE tini ("};

constexpr auto kMessages = std::to_array({
    Message{Event::kSubreaper, kTrace, "Registered as child subreaper"},
    Message{Event::kSubreaperRefused, kWarn, "Failed to register as child subreaper: %e"},
    Message{Event::kNoReaper, kWarn,
            "Tini is not running as PID 1 and isn't registered as a child subreaper.\n"
            "Zombie processes will not be re-parented to Tini, so zombie reaping won't work.\n"
            "To fix the problem, use the -s option or set the environment variable TINI_SUBREAPER "
            "to register Tini as a child subreaper, or run Tini as PID 1."},
    Message{Event::kForkFailed, kFatal, "fork failed: %e"},
    Message{Event::kGroupFailed, kFatal, "setpgid failed: %e"},
    Message{Event::kNoTerminal, kDebug, "tcsetpgrp failed: %e (ok to proceed)"},
    Message{Event::kExecFailed, kFatal, "exec %s failed: %e"},
    Message{Event::kStarted, kInfo, "Spawned child process '%s' with pid '%d'"},
    Message{Event::kReceivedChild, kDebug, "Received SIGCHLD"},
    Message{Event::kForwarding, kDebug, "Passing signal: '%s'"},
    Message{Event::kForwardFailed, kWarn, "Unexpected error when forwarding signal: '%e'"},
    Message{Event::kReaped, kDebug, "Reaped child with pid: '%d'"},
    Message{Event::kOtherReaped, kWarn, "Reaped zombie process with pid=%d"},
    Message{Event::kMainExited, kInfo, "Main child exited normally (with status '%d')"},
    Message{Event::kMainKilled, kInfo, "Main child exited with signal (with signal '%s')"},
    Message{Event::kNoneDead, kTrace, "No child to reap"},
    Message{Event::kNoneLeft, kTrace, "No child to wait"},
    Message{Event::kGoodbye, kTrace, "Exiting: child has exited"},
});

}  // namespace tini

namespace dumb_init {

enum Level : int { kError, kDebug };

constexpr auto kMessages = std::to_array({
    Message{Event::kDebugMode, kDebug, "Running in debug mode."},
    Message{Event::kSingleMode, kDebug, "Not running in setsid mode."},
    Message{Event::kTerminalLeft, kDebug,
            "Detached from controlling tty, ignoring the first SIGHUP and SIGCONT we receive."},
    Message{Event::kTerminalLeftUnled, kDebug,
            "Detached from controlling tty, but was not session leader."},
    Message{Event::kTerminalNotLeft, kDebug,
            "Unable to detach from controlling tty (errno=%d %e)."},
    Message{Event::kForkFailed, kError, "Unable to fork. Exiting."},
    Message{Event::kSessionFailed, kError, "Unable to setsid (errno=%d %e). Exiting."},
    Message{Event::kSessionMade, kDebug, "setsid complete."},
    Message{Event::kNoTerminal, kDebug, "Unable to attach to controlling tty (errno=%d %e)."},
    Message{Event::kExecFailed, kError, "%s: %e"},
    Message{Event::kStarted, kDebug, "Child spawned with PID %d."},
    Message{Event::kNoRoot, kDebug, "Unable to chdir(\"/\") (errno=%d %e)"},
    Message{Event::kReceived, kDebug, "Received signal %d."},
    Message{Event::kReceivedChild, kDebug, "Received signal %d."},
    Message{Event::kRewritten, kDebug, "Translating signal %d to %D."},
    Message{Event::kHandOff, kDebug, "Ignoring tty hand-off signal %d."},
    Message{Event::kIgnored, kDebug, "Not forwarding signal 0 to children (ignored)."},
    Message{Event::kForwarded, kDebug, "Forwarded signal %d to children."},
    Message{Event::kStopping, kDebug, "Suspending self due to TTY signal."},
    Message{Event::kExited, kDebug, "A child with PID %d exited with exit status %D."},
    Message{Event::kKilled, kDebug, "A child with PID %d was terminated by signal %D."},
    Message{Event::kGoodbye, kDebug, "Child exited with status %d. Goodbye."},
});

}  // namespace dumb_init

namespace catatonit {

enum Level : int { kFatal, kError, kWarn, kInfo, kDebug };
constexpr std::array<std::string_view, 5> kPrefixes = {
    "FATAL (catatonit:", "ERROR (catatonit:", "WARN (catatonit:", "INFO (catatonit:",
    "DEBUG (catatonit:"};

constexpr auto kMessages = std::to_array({
    Message{Event::kSubreaperRefused, kWarn, "failed to set child-reaper as non-pid1: %e"},
    Message{Event::kForkFailed, kError, "failed to fork child: %e"},
    Message{Event::kGroupFailed, kError, "failed to create process group"},
    Message{Event::kNoTerminal, kDebug, "setting foreground process failed: %e"},
    Message{Event::kNoDevTty, kInfo, "using stdin as tty fd: could not open /dev/tty: %e"},
    Message{Event::kExecFailed, kError, "failed to exec pid1: %e"},
    Message{Event::kStarted, kDebug, "pid1 (%d) spawned: %s"},
    Message{Event::kIgnored, kDebug, "ignoring kernel attempting to stop us: tty has TOSTOP set"},
    Message{Event::kForwardFailed, kWarn, "forwarding of signal %d to pid1 (%D) failed: %e"},
    Message{Event::kExited, kDebug, "child process %d exited with code %D"},
    Message{Event::kKilled, kDebug, "child process %d exited due to signal %D"},
    Message{Event::kNoneLeft, kDebug, "got ECHILD: no children left to monitor"},
});

}  // namespace catatonit

std::span<const Message> messages_of(Program program) {
  switch (program) {
    case Program::kTini:
      return tini::kMessages;
    case Program::kDumbInit:
      return dumb_init::kMessages;
    case Program::kCatatonit:
      return catatonit::kMessages;
  }
  return {};
}

class Line {
 public:
  void add(std::string_view text) {
    const std::size_t count = std::min(text.size(), bytes_.size() - size_);
    std::copy_n(text.begin(), count, bytes_.data() + size_);
    size_ += count;
  }
  void add(long number) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    add(std::string_view(digits.data(), end));
  }
  void add_error(int error) {
    const char* text = ::strerrordesc_np(error);
    add(text != nullptr ? std::string_view(text) : "Unknown error");
  }
  [[nodiscard]] std::string_view text() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, 4096> bytes_;
  std::size_t size_ = 0;
};

void add_prefix(const InitFlavour& flavour, int level, Line* line) {
  if (flavour.program == Program::kDumbInit) return line->add("[dumb-init] ");
  const bool is_tini = flavour.program == Program::kTini;
  line->add((is_tini ? tini::kPrefixes : catatonit::kPrefixes)[static_cast<std::size_t>(level)]);
  line->add(::getpid());
  line->add(is_tini ? ")] " : "): ");
}

void add_text(std::string_view text, const MessageArguments& words, Line* line) {
  constexpr std::size_t kMaxWord = 3000;  // after a longer path there is still room for the error
  for (std::size_t mark = text.find('%'); mark != std::string_view::npos; mark = text.find('%')) {
    line->add(text.substr(0, mark));
    switch (text[mark + 1]) {
      case 's':
        line->add(words.text.substr(0, kMaxWord));
        break;
      case 'd':
        line->add(words.number);
        break;
      case 'D':
        line->add(words.second);
        break;
      default:
        line->add_error(words.error);
        break;
    }
    text.remove_prefix(mark + 2);
  }
  line->add(text);
}

}  // namespace

void print_message(const InitFlavour& flavour, Event event, const MessageArguments& words) {
  const auto messages = messages_of(flavour.program);
  const auto found = std::ranges::find(messages, event, &Message::event);
  if (found == messages.end() || found->level > flavour.verbosity) return;
  const int saved_errno = errno;
  Line line;
  add_prefix(flavour, found->level, &line);
  add_text(found->text, words, &line);
  line.add("\n");
  // tini writes INFO and lower levels to stdout.
  const bool on_stdout = flavour.program == Program::kTini && found->level >= tini::kInfo;
  pollfd stream{on_stdout ? STDOUT_FILENO : STDERR_FILENO, POLLOUT, 0};
  if (::poll(&stream, 1, 0) == 1 && (stream.revents & POLLOUT) != 0) {
    std::ignore = ::write(stream.fd, line.text().data(), line.text().size());
  }
  errno = saved_errno;
}

SignalText::SignalText(int signal) {
  if (const char* known = ::sigdescr_np(signal); known != nullptr) {
    text_ = known;
    return;
  }
  const bool real_time = signal >= SIGRTMIN && signal <= SIGRTMAX;
  const std::string_view words = real_time ? "Real-time signal " : "Unknown signal ";
  char* rest = std::copy(words.begin(), words.end(), own_.data());
  rest = std::to_chars(rest, own_.data() + own_.size(), real_time ? signal - SIGRTMIN : signal).ptr;
  text_ = std::string_view(own_.data(), rest);
}

}  // namespace dropin
