#pragma once
// A child process that answers with its output within a time limit: a program, or a function of
// trainit in a forked worker. All code that waits for such an answer uses this unit: it handles the
// pipe, the deadline, the limit of bytes, EINTR, and the end of the whole process group. A child in
// D state is never waited for; the next reaper reaps it. Workers and commands use it, as they may
// block. A loop that must not block polls fd() and calls step().

#include <sys/types.h>
#include <sys/wait.h>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "init/proc/privileged.h"
#include "init/proc/signals.h"
#include "init/proc/spawn.h"
#include "init/sys/fd.h"

namespace proc {

struct RunLimits {
  std::int64_t time_ms = 0;             // time limit from the start of the child
  std::size_t most_bytes = 16UL << 20;  // the run ends when the output has this size
  std::int64_t linger_ms = 500;  // time limit from the end of the output to the exit of the child
  bool keeps_group = false;  // true = processes that the exited child left running are not killed
};

class ChildRun {
 public:
  // Starts a worker (fork_worker) that runs `body` with the write end of the pipe. The descriptors
  // in `keep` stay open in it.
  static base::Result<ChildRun> start(const RunLimits& limits,
                                      const std::function<int(int fd)>& body,
                                      std::span<const int> keep = {});
  // Starts the program of `spec` in a new session, without input. stdout and stderr are the pipe.
  // The program dies with this process. `saved` is nullptr if the caller has not taken over
  // signals.
  static base::Result<ChildRun> start(const RunLimits& limits, SpawnSpec spec,
                                      const SavedSignals* saved);
  // Takes over a child, which must lead a process group, and the pipe that it writes to, if there
  // is one.
  ChildRun(pid_t pid, sys::Fd output, const RunLimits& limits);

  ChildRun(ChildRun&& other) noexcept = default;
  ChildRun& operator=(ChildRun&&) = delete;
  ~ChildRun();  // calls end()

  // Reads the available output; never blocks. Returns true when the run is over. The child has then
  // exited, did not exit within linger_ms of the end of its output, or reached a limit.
  bool step();
  // Blocks until the run is over (step()).
  void wait();
  // Kills the child if it runs, and its group. Blocks until it is reaped, at most `most_ms`. Sends
  // no signal if the child has been reaped elsewhere: its pid may then belong to another process.
  void end(std::int64_t most_ms = 500);

  [[nodiscard]] int fd() const { return output_.get(); }  // -1: the output has ended
  [[nodiscard]] std::int64_t next_look_ms() const;  // time of the next step(), monotonic clock
  [[nodiscard]] const std::string& output() const { return bytes_; }
  // Returns true if the time limit was reached before the output ended.
  [[nodiscard]] bool late() const { return late_; }
  // Returns a text about the limit that ended the run. Returns "" if the child exited, and its
  // output is smaller than most_bytes.
  [[nodiscard]] std::string cut_short() const;
  // Returns how the child exited. Returns nullopt if it has not exited, or if end() killed it.
  [[nodiscard]] const std::optional<siginfo_t>& exited() const { return exited_; }
  [[nodiscard]] int exit_code() const;  // 128 + n for signal n; -1 if no exit was seen
  // Returns why the program did not start; nullopt for a program that did.
  [[nodiscard]] std::optional<StartFailure> start_failure() const;

 private:
  struct Pid {
    pid_t value = -1;
    Pid(pid_t pid) : value(pid) {}
    Pid(Pid&& other) noexcept : value(std::exchange(other.value, -1)) {}
  };
  void look_for_exit();
  void read_some();

  Pid pid_;
  sys::Fd output_;
  sys::Fd start_pipe_;  // only for a program
  RunLimits limits_;
  std::int64_t deadline_ms_;
  std::int64_t pause_ms_ = 0;  // time until the next look for an exit; grows with each look
  std::string bytes_;
  std::optional<siginfo_t> exited_;
  bool late_ = false;
};

// The result of capture(), which runs a tool until it exits or reaches a limit. capture() blocks.
// It fails if the tool cannot be started.
struct Captured {
  std::string output;          // stdout and stderr, in one text
  int exit_code = -1;          // ChildRun::exit_code
  bool late = false;           // ChildRun::late
  std::string cut_short = {};  // ChildRun::cut_short
};
std::expected<Captured, StartFailure> capture(const Tool& tool, std::vector<std::string> arguments,
                                              const RunLimits& limits,
                                              const SavedSignals* saved = nullptr);

}  // namespace proc
