#pragma once
// The messages of the three programs while they run: one event, each program's own words, level and
// stream. Does not allocate, works in a vfork's child, one write a line. A reader that has stopped
// reading loses lines; it does not stop an init.

#include <array>
#include <string_view>

#include "init/dropin/init_flavour.h"

namespace dropin {

enum class Event : unsigned char {
  kDebugMode,
  kSingleMode,
  kSubreaper,
  kSubreaperRefused,
  kNoReaper,
  kTerminalLeft,
  kTerminalLeftUnled,
  kTerminalNotLeft,
  kForkFailed,
  kGroupFailed,
  kSessionFailed,
  kSessionMade,
  kNoTerminal,
  kNoDevTty,
  kExecFailed,
  kStarted,
  kNoRoot,
  kReceived,
  kReceivedChild,
  kRewritten,
  kHandOff,
  kIgnored,
  kForwarding,
  kForwarded,
  kForwardFailed,
  kStopping,
  kReaped,
  kOtherReaped,
  kExited,
  kKilled,
  kMainExited,
  kMainKilled,
  kNoneDead,
  kNoneLeft,
  kGoodbye,
};

// What a text's %s, %d, %D and %e stand for.
struct MessageArguments {
  std::string_view text = {};
  long number = 0;
  long second = 0;
  int error = 0;  // an errno
};

void print_message(const InitFlavour& flavour, Event event, const MessageArguments& words = {});

// "Terminated", as strsignal says it.
class SignalText {
 public:
  explicit SignalText(int signal);
  [[nodiscard]] std::string_view text() const { return text_; }

 private:
  std::array<char, 32> own_{};
  std::string_view text_;
};

}  // namespace dropin
