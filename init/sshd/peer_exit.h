#pragma once
// The end of a peer: when it comes, and with which code. Decides only: told what happened and when,
// it says what follows. Times are milliseconds of one clock.

#include <cstdint>
#include <optional>

namespace sshd {

inline constexpr std::int64_t kClosingMs = 1000;  // for the sessions to end after the message
inline constexpr std::int64_t kLingerMs = 1000;   // for the message after the last session ended
// For another one, where the launcher has ended and did not say how.
inline constexpr std::int64_t kLauncherGoneMs = 60'000;

enum class Why : unsigned char {
  kNotified,      // by the launcher
  kStopped,       // by a signal
  kNoLauncher,    // no session within the launcher timeout
  kLauncherGone,  // and none within a minute of its end
};

struct PeerExit {
  int exit_code = 0;
  Why why = Why::kNotified;

  bool operator==(const PeerExit&) const = default;
};

class PeerExitRule {
 public:
  // `launcher_timeout_ms`: nothing for the peer on the launcher's own node, a service, which nobody
  // will tell an end: a signal ends it at once. 0: a worker that waits for ever, whatever it hears.
  PeerExitRule(std::optional<std::int64_t> launcher_timeout_ms, std::int64_t now_ms);

  // How many sessions are open now. Counts again from the end of the last one.
  void set_open(int open, std::int64_t now_ms);
  // The launcher's message; the first one counts.
  void notify(int exit_code, std::int64_t now_ms);
  // Whether the launcher's node is known to be gone, and since when. A session that is open speaks
  // for the launcher.
  void set_launcher_gone(bool gone, std::int64_t now_ms);
  // A stop signal: with sessions open, their end is waited for, as the launcher stops its processes
  // here itself and then says the code. The first one counts.
  void stop(int signal, std::int64_t now_ms);

  [[nodiscard]] bool notified() const { return notified_code_.has_value(); }
  // Nothing while it goes on.
  [[nodiscard]] std::optional<PeerExit> verdict(std::int64_t now_ms) const;
  // When verdict() is to be asked again if nothing happens; nothing: not at all.
  [[nodiscard]] std::optional<std::int64_t> deadline_ms() const;

 private:
  std::optional<std::int64_t> launcher_timeout_ms_;
  std::int64_t idle_since_ms_;
  int open_ = 0;
  std::optional<std::int64_t> launcher_gone_ms_;
  std::optional<int> notified_code_;
  std::int64_t notified_ms_ = 0;
  int signal_ = 0;
  bool at_once_ = false;  // nothing was open when the signal came
};

}  // namespace sshd
