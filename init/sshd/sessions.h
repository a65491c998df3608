#pragma once
// The sessions that are open: processes that said they are one, and what they left running in the
// background. A launcher's daemon may leave its ssh session and work on (orted --daemonize), and
// the end of the ssh session alone would then look like the end of the job here.

#include <sys/types.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "init/sys/fd.h"

namespace sshd {

class Sessions {
 public:
  // The process `pid` is a session until it ends.
  void add(pid_t pid);

  // Becomes readable when one ends.
  [[nodiscard]] std::vector<int> descriptors() const;
  // Count again every second: nothing tells that one has lost its connection, and some have no
  // descriptor (before Linux 5.3, gVisor, or too many).
  [[nodiscard]] bool must_poll() const { return !sessions_.empty(); }

  // Forgets those that have ended, then counts those with a connection: with none left, those of
  // our children but `listener` that sessions left in the background. Their ends come as SIGCHLD.
  int count(pid_t listener);

 private:
  struct Session {
    pid_t pid = -1;
    std::uint64_t start_time = 0;  // as /proc has it, so that a reused pid is not taken for it
    sys::Fd fd;
  };
  static bool has_ended(const Session& session);

  std::vector<Session> sessions_;
};

// Field 22 of a text of /proc/<pid>/stat; 0: not such a text, or a zombie's.
std::uint64_t start_time_in_stat(std::string_view stat);

}  // namespace sshd
