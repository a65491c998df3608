#pragma once
// Job control, as users expect it from a command that they start by hand.
//
// Rule: a single main process stays in the caller's process group if all of these hold:
//   - this process is not PID 1                              getpid() != 1
//   - this process is not a session leader                   getsid(0) != getpid()
//   - 0, 1 or 2 is its controlling terminal                  ioctl(fd, TIOCGPGRP) succeeds
// Otherwise the main process gets a separate group. That becomes the terminal's foreground if
// trainit's group was.
//
// In the caller's group both processes are one job of the shell. The terminal's signals reach both,
// `&`, fg, bg and pipelines work, and only the shell changes the terminal's foreground. Only
// stopping together is left to do here. If trainit is PID 1 or a session leader, no process would
// continue it after a stop, so trainit treats a stopped task as a slow one.

#include <sys/types.h>

#include <cstdint>

#include "init/proc/signals.h"

namespace proc {

// Returns whether 0, 1 or 2 is the controlling terminal of this process. A child must then not
// share memory until its exec: ^Z may stop the child before that, and this process would wait for
// it.
bool has_terminal();
// Makes trainit's group the foreground after the main process has ended. The group of a dead main
// process keeps the terminal. No process would then get the interrupt key, and the next main
// process could not read. Keeps the foreground of the shell above trainit, or of another of its
// jobs. Signals must have been taken over (SIGTTOU).
void take_back_terminal(pid_t ended);
// Returns whether this child is stopped now. Leaves its state for the next question.
bool is_stopped(pid_t child);

// Returns whether the terminal sent the signal (^C, ^\, ^Z, input from the background, a hang-up, a
// new size). The terminal sends it to each member of a group at once.
bool sent_by_terminal(const Received& received);

// The job of a shell that has two processes: this one and the single main process.
class JobControl {
 public:
  JobControl() = default;  // no job of a shell
  // Applies the rule above. Call it when this process starts its main process.
  static JobControl at_start();

  // Returns the rule's answer at the start.
  [[nodiscard]] bool in_callers_group() const { return in_callers_group_; }
  // Records the start of the main process, and the signals (Spawned::pending) that came before it
  // existed. Signals that are pending now are different. The main process may already have reported
  // that it runs, and a key may have answered that report, before this process runs again under
  // load.
  void started(std::uint64_t pending);
  // Returns whether the caller has the signal ignored, as `nohup` and `&` without job control do.
  // The signal is then not for this job.
  [[nodiscard]] bool is_ignored(const Received& received) const;
  // Returns whether the main process has also got this signal. Sending it on would deliver it
  // twice.
  [[nodiscard]] bool has_reached(pid_t main, const Received& received) const;
  // Records a signal that was read. Call it for each one, after it was answered.
  void answered(const Received& received);
  // Stops this process if the main process has stopped and a shell waits for the job. Call it when
  // a child's state has changed. Stops by the same signal if possible, and returns after SIGCONT,
  // when the main process runs again too. Returns the milliseconds that this took, or 0 if this
  // process has not stopped.
  std::int64_t stop_with(pid_t main);

 private:
  bool shell_ = false;  // a shell may wait for this process
  bool in_callers_group_ = false;
  bool terminal_stop_ = false;  // ^Z has come, and the main process has a separate group
  std::uint64_t unsure_ = 0;    // signals that came before the main process existed
};

}  // namespace proc
