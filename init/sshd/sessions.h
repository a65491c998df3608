#pragma once
// The open sessions: processes that have registered at serve, and processes that these left in the
// background. A launcher's daemon may leave its ssh session and continue (orted --daemonize).
// Without this unit, the end of the ssh session would look like the end of the job on this node.

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

  // Returns descriptors; each becomes readable when a session ends.
  [[nodiscard]] std::vector<int> descriptors() const;
  // Returns true if count() must be called every second. Reason: no event reports that a session
  // has lost its connection, and some sessions have no descriptor (before Linux 5.3, on gVisor, or
  // if there are too many).
  [[nodiscard]] bool must_poll() const { return !sessions_.empty(); }

  // Removes sessions that have ended. Returns the number of sessions that have a connection. If
  // none has, returns the number of children that sessions left in the background, without
  // `listener`. SIGCHLD reports the ends of these.
  int count(pid_t listener);

 private:
  struct Session {
    pid_t pid = -1;
    std::uint64_t start_time = 0;  // start time in /proc, by which a reused pid is recognised
    sys::Fd fd;
  };
  static bool has_ended(const Session& session);

  std::vector<Session> sessions_;
};

// Returns the start time, field 22, in a text of /proc/<pid>/stat. Returns 0 for a zombie and for
// any other text.
std::uint64_t start_time_in_stat(std::string_view stat);

}  // namespace sshd
