#pragma once
// A child that answers by its output and in time: a program, or a function of trainit's in a
// process of its own. The only home of what such a wait needs: the pipe, the deadline, the bound of
// bytes, EINTR, the end of the whole process group, and the child in D state, which is never waited
// for: the next reaper has it. For workers and commands, which may block. A loop that must not
// block polls fd() and calls step().

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
  std::int64_t time_ms = 0;             // from the start
  std::size_t most_bytes = 16UL << 20;  // of output: with more the run is over
  std::int64_t linger_ms = 500;         // from the end of the output to the child's exit
  bool keeps_group = false;             // processes that an exited child left are not killed
};

class ChildRun {
 public:
  // A worker (fork_worker) in which `body` gets the write end of the pipe, and `keep`.
  static envgen::Result<ChildRun> start(const RunLimits& limits,
                                        const std::function<int(int fd)>& body,
                                        std::span<const int> keep = {});
  // The program of `spec`, in a session of its own, without input; stdout and stderr are the pipe.
  // The program dies with this process. `saved`: nullptr where the caller has not taken over
  // signals.
  static envgen::Result<ChildRun> start(const RunLimits& limits, SpawnSpec spec,
                                        const SavedSignals* saved);
  // Takes over a child, which leads a process group, and the pipe that it writes to, if any.
  ChildRun(pid_t pid, sys::Fd output, const RunLimits& limits);

  ChildRun(ChildRun&& other) noexcept = default;
  ChildRun& operator=(ChildRun&&) = delete;
  ~ChildRun();  // as end()

  // Takes what there is, and never blocks. True when the run is over: the child has exited, did not
  // exit within linger_ms of the end of its output, or reached a limit.
  bool step();
  // Blocks until step() is true.
  void wait();
  // Kills the child if it runs, and its group. Blocks until it is reaped, `most_ms` at most.
  // Signals nobody if the child has been reaped elsewhere: its number may be a stranger's by then.
  void end(std::int64_t most_ms = 500);

  [[nodiscard]] int fd() const { return output_.get(); }  // -1: the output has ended
  [[nodiscard]] std::int64_t next_look_ms() const;  // when to call step() again, monotonic clock
  [[nodiscard]] const std::string& output() const { return bytes_; }
  [[nodiscard]] bool late() const { return late_; }  // the time was over before the output's end
  // Why the run is over although the child did not exit, in words; "" where it did.
  [[nodiscard]] std::string cut_short() const;
  // How it exited, unless by kill() of ours.
  [[nodiscard]] const std::optional<siginfo_t>& exited() const { return exited_; }
  [[nodiscard]] int exit_code() const;  // 128 + n for a signal; -1: it did not exit by itself
  // Why the program did not start.
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
  sys::Fd start_pipe_;  // of a program
  RunLimits limits_;
  std::int64_t deadline_ms_;
  std::int64_t pause_ms_ = 0;  // to the next look, longer each time
  std::string bytes_;
  std::optional<siginfo_t> exited_;
  bool late_ = false;
};

// The whole run of a tool, to its end within the limits. Fails when it cannot be started.
struct Captured {
  std::string output;          // of stdout and stderr, as it came
  int exit_code = -1;          // ChildRun::exit_code
  bool late = false;           // the time was over before its output was
  std::string cut_short = {};  // ChildRun::cut_short
};
std::expected<Captured, StartFailure> capture(const Tool& tool, std::vector<std::string> arguments,
                                              const RunLimits& limits,
                                              const SavedSignals* saved = nullptr);

}  // namespace proc
