#pragma once
// Reads the end of what a process has printed, from its file or from what the tee has seen of it. A
// file may lie on a mount that hangs, so a forked worker does it, and PID 1 waits for it no longer
// than it likes.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "envgen/plan/sandbox.h"
#include "init/engine/workers/messages.h"
#include "init/proc/signals.h"
#include "init/sys/fd.h"
#include "init/tee/shared.h"

namespace engine {

// The last lines (last_lines_of) of the file at `path`; none where it was not written since
// `since_ms` (wall clock), for then they are of an earlier process. None too where it is no regular
// file. A log that cannot be read, or that others may have put there (sys::open_to_read), is one
// line that says so. `job`: the job's user, where it is another. For a worker: it may hang.
std::vector<std::string> last_lines_in(const std::string& path, const envgen::Identity* job,
                                       std::int64_t since_ms);

// The last lines of a process that goes through the tee; waits a moment for the tee to have seen
// its end.
std::vector<std::string> last_lines_of_tee(const logtee::Shared& seen, std::size_t process);

class LastWords {
 public:
  // `read` may hang: it runs in the worker.
  static envgen::Result<LastWords> start(const std::function<std::vector<std::string>()>& read,
                                         const proc::SavedSignals& saved);

  // Of a worker that writes such a message into `pipe`, which does not block.
  LastWords(pid_t pid, sys::Fd pipe);

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] const sys::Fd& pipe() const { return messages_.pipe(); }
  // What it has read, when that has come; never blocks. An end without it is an empty list.
  std::optional<std::vector<std::string>> read();

 private:
  pid_t pid_;
  MessagePipe messages_;
};

}  // namespace engine
