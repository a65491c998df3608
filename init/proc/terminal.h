#pragma once
// Job control, as a command that is started by hand is used to it.
//
// The rule: a single main process stays in the caller's process group where all of these hold,
//   - this process is not PID 1                              getpid() != 1
//   - it is no session leader                                getsid(0) != getpid()
//   - 0, 1 or 2 is its controlling terminal                  ioctl(fd, TIOCGPGRP) succeeds
// and otherwise gets a group of its own, which is made the terminal's foreground if ours was.
//
// In the caller's group the two are one job of the shell: the terminal's signals reach both, `&`,
// fg, bg and pipelines work, and nobody touches the terminal's foreground but the shell. What is
// left to do is to stop together. As PID 1 or a session leader there is nobody who would go on when
// we stop, so a stopped task is nothing but a task that takes its time.

#include <sys/types.h>

#include <cstdint>

#include "init/proc/signals.h"

namespace proc {

// 0, 1 or 2 is our controlling terminal. Then a child must not share our memory until its exec: ^Z
// may stop it before that, and would hold us as long.
bool has_terminal();
// To be called when the main process has ended: its group has the terminal even when it is dead,
// so that nobody would have the interrupt key, and the next main process could not read. Makes our
// group the foreground, unless that is the shell's, below which we run, or another of its jobs'.
// Signals must have been taken over (SIGTTOU).
void take_back_terminal(pid_t ended);
// This child is stopped now. Leaves its state there for the next question.
bool is_stopped(pid_t child);

// Sent by the terminal to each member of a group at once (^C, ^\, ^Z, input from the background, a
// hang-up, a new size).
bool sent_by_terminal(const Received& received);

// A shell's job of two: this process and the single main process.
class JobControl {
 public:
  JobControl() = default;  // there is none
  // By the rule, to be asked when this process starts its main one.
  static JobControl at_start();

  // The rule's answer at the start.
  [[nodiscard]] bool in_callers_group() const { return in_callers_group_; }
  // The main process was started, and these signals (Spawned::pending) came before it was there.
  // Not what waits now: under load it may have said that it is up, and a key may have answered
  // that, before we run again.
  void started(std::uint64_t pending);
  // The caller has it ignored, as `nohup` and `&` without job control do: it is not for this job.
  [[nodiscard]] bool is_ignored(const Received& received) const;
  // The main process has had it when we read it, so sending it on would make two of one.
  [[nodiscard]] bool has_reached(pid_t main, const Received& received) const;
  // To be told of each signal that was read, after it was answered.
  void answered(const Received& received);
  // When a child's state has changed. Where the main process stopped, and a shell waits for the
  // job, this process stops as it did, and returns when it is continued: the main process runs
  // again too. The milliseconds that this took; 0: it has not stopped.
  std::int64_t stop_with(pid_t main);

 private:
  bool shell_ = false;  // there may be one that waits for us
  bool in_callers_group_ = false;
  bool terminal_stop_ = false;  // ^Z has come, and the main process has a group of its own
  std::uint64_t unsure_ = 0;    // those that came before the main process was there
};

}  // namespace proc
