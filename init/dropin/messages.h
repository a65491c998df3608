#pragma once
// The run-time messages of the three programs. Each event has the text, the level and the stream
// that the original program uses. Printing does not allocate, works in a vfork's child, and needs
// one write per line. If the reader has stopped reading, lines are lost, but the init does not
// block.

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

// The values for %s, %d, %D and %e in a text.
struct MessageArguments {
  std::string_view text = {};
  long number = 0;
  long second = 0;
  int error = 0;  // an errno
};

void print_message(const InitFlavour& flavour, Event event, const MessageArguments& words = {});

// The name of a signal, as strsignal returns it: "Terminated".
class SignalText {
 public:
  explicit SignalText(int signal);
  [[nodiscard]] std::string_view text() const { return text_; }

 private:
  std::array<char, 32> own_{};
  std::string_view text_;
};

}  // namespace dropin
