#pragma once
// Decides when a peer exits, and with which code. Pure: the caller reports events with their times
// and asks for the verdict. Times are milliseconds of one clock.

#include <cstdint>
#include <optional>

namespace sshd {

inline constexpr std::int64_t kClosingMs = 1000;  // after the launcher's message: time for the
                                                  // sessions to end
inline constexpr std::int64_t kLingerMs = 1000;  // after the end of the last session: time in which
                                                 // the message may arrive
// Time in which a new launcher must appear, after a launcher has ended without reporting the exit
// code.
inline constexpr std::int64_t kLauncherGoneMs = 60'000;

enum class Why : unsigned char {
  kNotified,      // the launcher reported the end
  kStopped,       // trainit got a stop signal
  kNoLauncher,    // no session was opened within the launcher timeout
  kLauncherGone,  // no session was opened within a minute after the launcher was lost
};

struct PeerExit {
  int exit_code = 0;
  Why why = Why::kNotified;

  bool operator==(const PeerExit&) const = default;
};

class PeerExitRule {
 public:
  // `launcher_timeout_ms` has two special values. It is nullopt for the peer on the launcher's own
  // node, a service that gets no message about the end, so a signal ends it at once. It is 0 for a
  // worker that waits without limit, even if its launcher is lost.
  PeerExitRule(std::optional<std::int64_t> launcher_timeout_ms, std::int64_t now_ms);

  // Sets the number of open sessions. When the last one ends, the launcher timeout starts again.
  void set_open(int open, std::int64_t now_ms);
  // Records the launcher's message that the job has ended. Only the first one counts.
  void notify(int exit_code, std::int64_t now_ms);
  // Records whether the launcher's node is lost, and since when. The loss has no effect while a
  // session is open.
  void set_launcher_gone(bool gone, std::int64_t now_ms);
  // Records a stop signal. Only the first one counts. If sessions are open, the peer waits for
  // their end: the launcher itself stops its processes here, and then reports the code.
  void stop(int signal, std::int64_t now_ms);

  [[nodiscard]] bool notified() const { return notified_code_.has_value(); }
  // Returns how the peer exits; nullopt: it continues.
  [[nodiscard]] std::optional<PeerExit> verdict(std::int64_t now_ms) const;
  // Returns when verdict() must be asked again even without an event; nullopt: not needed.
  [[nodiscard]] std::optional<std::int64_t> deadline_ms() const;

 private:
  std::optional<std::int64_t> launcher_timeout_ms_;
  std::int64_t idle_since_ms_;
  int open_ = 0;
  std::optional<std::int64_t> launcher_gone_ms_;
  std::optional<int> notified_code_;
  std::int64_t notified_ms_ = 0;
  int signal_ = 0;
  bool at_once_ = false;  // a stop signal must end the peer at once: no session was open, or it is
                          // a service
};

}  // namespace sshd
