#pragma once
// The open sessions: processes that have registered, and what they left running in the background.
// A launcher's daemon may leave its ssh session and continue (orted --daemonize). The end of the
// ssh session alone would then look like the end of the job here.

#include <sys/types.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "init/sys/fd.h"

namespace sshd {

class Sessions {
 public:
  // Counts the process `pid` as a session until it ends.
  void add(pid_t pid);

  // Returns descriptors that become readable when a session ends.
  [[nodiscard]] std::vector<int> descriptors() const;
  // Returns whether to call count() every second. No event reports that a session has lost its
  // connection, and some sessions have no descriptor (before Linux 5.3, gVisor, or too many).
  [[nodiscard]] bool must_poll() const { return !sessions_.empty(); }

  // Removes sessions that have ended, and returns the number of sessions with a connection. If no
  // such session is left, returns the number of children that sessions left in the background,
  // without `listener`. SIGCHLD reports their ends.
  int count(pid_t listener);

 private:
  struct Session {
    pid_t pid = -1;
    std::uint64_t start_time = 0;  // start time in /proc: tells a reused pid apart
    sys::Fd fd;
  };
  static bool has_ended(const Session& session);

  std::vector<Session> sessions_;
};

// Returns field 22 of a text of /proc/<pid>/stat. Returns 0 for a zombie, and for any other text.
std::uint64_t start_time_in_stat(std::string_view stat);

}  // namespace sshd
