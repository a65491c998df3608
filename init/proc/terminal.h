#pragma once
// Job control, as users expect it from a command that they start by hand.
//
// A single main process stays in the caller's process group if all of these hold:
//   - this process is not PID 1                              getpid() != 1
//   - this process is not a session leader                   getsid(0) != getpid()
//   - 0, 1 or 2 is its controlling terminal                  ioctl(fd, TIOCGPGRP) succeeds
// Otherwise the main process gets its own group. If trainit's group was the terminal's foreground,
// that group becomes the foreground.
//
// In the caller's group, both processes are one job of the shell. The terminal's signals reach
// both, `&`, fg, bg and pipelines work, and only the shell changes the terminal's foreground.
// trainit only has to stop together with the main process. If trainit is PID 1 or a session leader,
// no process would continue it after a stop, so trainit treats a stopped task as a slow one.

#include <sys/types.h>

#include <cstdint>

#include "init/proc/signals.h"

namespace proc {

// Returns true if 0, 1 or 2 is the controlling terminal of this process. Children must then not be
// started by vfork: ^Z may stop the child before its exec, and this process would wait for it.
bool has_terminal();
// Makes trainit's group the foreground after the main process has ended. Otherwise the group of the
// dead process would keep the terminal: no process would get the interrupt key, and the next main
// process could not read. The foreground does not change if it is that of the shell above trainit,
// or of another job of that shell. All signals must be blocked (SIGTTOU).
void take_back_terminal(pid_t ended);
// Returns true if this child is stopped now. Does not change the state that a later wait reports.
bool is_stopped(pid_t child);

// Returns true if the terminal sent the signal (^C, ^\, ^Z, input from the background, a hang-up, a
// new size). The terminal sends it to each member of a group at once.
bool sent_by_terminal(const Received& received);

// The job of a shell that has two processes: this one and the single main process.
class JobControl {
 public:
  JobControl() = default;  // no job of a shell
  // Applies the rule above. Call it directly before the start of the main process.
  static JobControl at_start();

  // Returns true if the main process is in the caller's group, as the rule decided at the start.
  [[nodiscard]] bool in_callers_group() const { return in_callers_group_; }
  // Records the start of the main process. `pending` (Spawned::pending) are the signals that came
  // before the main process existed. Signals that are pending by now can be others: the main
  // process may already have printed something, and the user may have answered with a key, before
  // this process runs again.
  void started(std::uint64_t pending);
  // Returns true if the caller ignores the signal, as `nohup` and `&` without job control do. The
  // signal is then not meant for this job.
  [[nodiscard]] bool is_ignored(const Received& received) const;
  // Returns true if the main process has also received this signal. It must then not be sent again.
  [[nodiscard]] bool has_reached(pid_t main, const Received& received) const;
  // Records that a signal was read and handled. Call it for each signal, afterwards.
  void answered(const Received& received);
  // If the main process has stopped and a shell waits for this job, stops this process too, by the
  // same signal if possible. Call it when the state of a child has changed. After SIGCONT, returns
  // the milliseconds that this took; the main process runs again then. Returns 0 if this process
  // has not stopped.
  std::int64_t stop_with(pid_t main);

 private:
  bool shell_ = false;  // a shell may wait for this process
  bool in_callers_group_ = false;
  bool terminal_stop_ = false;  // ^Z was received, and the main process has its own group
  std::uint64_t unsure_ = 0;    // signals from before the main process existed: it may not have
                                // received them
};

}  // namespace proc
