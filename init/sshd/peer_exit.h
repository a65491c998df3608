#pragma once
// The end of a peer: its time and its exit code. Decides only: the caller reports events with their
// times and asks for the verdict. Times are milliseconds of one clock.

#include <cstdint>
#include <optional>

namespace sshd {

inline constexpr std::int64_t kClosingMs = 1000;  // time for the sessions to end after the message
inline constexpr std::int64_t kLingerMs = 1000;   // time for the message after the last session
// The time for a new launcher, if the launcher has ended and did not report the exit code.
inline constexpr std::int64_t kLauncherGoneMs = 60'000;

enum class Why : unsigned char {
  kNotified,      // the launcher reported the end
  kStopped,       // a signal came
  kNoLauncher,    // no session within the launcher timeout
  kLauncherGone,  // no session within a minute of the launcher's end
};

struct PeerExit {
  int exit_code = 0;
  Why why = Why::kNotified;

  bool operator==(const PeerExit&) const = default;
};

class PeerExitRule {
 public:
  // `launcher_timeout_ms` has two special values. The peer on the launcher's own node has nullopt.
  // It is a service that gets no message about the end, so a signal ends it at once. A worker with
  // 0 waits without limit, even if its launcher is lost.
  PeerExitRule(std::optional<std::int64_t> launcher_timeout_ms, std::int64_t now_ms);

  // Sets the number of open sessions. The launcher timeout restarts when the last one ends.
  void set_open(int open, std::int64_t now_ms);
  // Records the launcher's message; only the first one counts.
  void notify(int exit_code, std::int64_t now_ms);
  // Records whether the launcher's node is lost, and since when. The loss has no effect while a
  // session is open.
  void set_launcher_gone(bool gone, std::int64_t now_ms);
  // Records a stop signal; only the first one counts. If sessions are open, the peer waits for
  // their end, because the launcher stops its processes here itself and then reports the code.
  void stop(int signal, std::int64_t now_ms);

  [[nodiscard]] bool notified() const { return notified_code_.has_value(); }
  // Returns the exit of the peer; nullopt while it continues.
  [[nodiscard]] std::optional<PeerExit> verdict(std::int64_t now_ms) const;
  // Returns when to ask verdict() again without an event, or nullopt.
  [[nodiscard]] std::optional<std::int64_t> deadline_ms() const;

 private:
  std::optional<std::int64_t> launcher_timeout_ms_;
  std::int64_t idle_since_ms_;
  int open_ = 0;
  std::optional<std::int64_t> launcher_gone_ms_;
  std::optional<int> notified_code_;
  std::int64_t notified_ms_ = 0;
  int signal_ = 0;
  bool at_once_ = false;  // no session was open when the signal came, or the peer is a service
};

}  // namespace sshd
