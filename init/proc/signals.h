#pragma once
// Signals of an init: everything that can be blocked is blocked and read by a SignalSource, so
// nothing is interrupted and no race exists. What the caller had is given back in every child: the
// mask, and SIGCHLD where it was ignored; no other disposition is changed, but without a signalfd
// all of them are, which are given back as well.

#include <poll.h>
#include <signal.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/signal_name.h"
#include "init/sys/fd.h"

namespace proc {

// Bit n-1 stands for signal n, as in the kernel; glibc's sigset_t functions leave out 32 and 33.
struct SavedSignals {
  std::uint64_t mask = 0;
  bool child_ignored = false;  // SIGCHLD; whatever else the caller ignored stays so by itself
};

// The first thing an init does. Blocks all 64, the faults (SEGV, BUS, ...) too: those that others
// send are then read and forwarded, and the kernel still kills us for one that we commit, without a
// word in the container's log: the exit code is 139 and its like, and the kernel's log has the
// address. (A handler that reports it would need the faults unblocked, and then those that others
// send would interrupt us.) Resets SIGCHLD, which a caller may have left ignored: the kernel would
// then reap by itself. No other disposition is touched, here or later: a blocked signal is queued
// even when it is ignored.
SavedSignals take_over_signals();

// Whether the caller had it ignored, as `nohup` has SIGHUP: not to be asked of SIGCHLD.
bool caller_ignores(int signal);

// In a child, last before exec or before its own work: the dispositions, those of a SignalSource's
// handlers included, then the mask.
void restore_signals(const SavedSignals& saved);
// Instead, where the caller's do not matter: nothing is blocked, and but for real-time signals
// nothing ignored.
void reset_signals();

// The same in a worker of ours: a signal that is meant for the job (HUP, INT, QUIT, TERM, USR1,
// USR2) does not end it. Slurm and others signal each process of a container. What it executes has
// the dispositions of `saved`; a wait of its own may end early (EINTR). With a mask of all signals
// it is left as it is: none reaches it.
void restore_signals_of_worker(const SavedSignals& saved);
// Whether this process outlives the signal by that: what it forks has to as well.
bool outlives(int signal);

struct Received {
  int signal = 0;
  int code = 0;             // si_code
  pid_t sender = 0;         // 0: the kernel, or a process outside of our pid namespace
  uid_t uid = 0;            // of the sender
  std::uint64_t value = 0;  // of sigqueue: the whole sigval, whose sival_int is the low half
};
Received from_siginfo(const siginfo_t& info);

// Where signals that were taken over are read: a signalfd. Where the kernel or a seccomp profile
// refuses that, handlers, which run only inside wait(): one of them stores its signal, and what
// else is pending is taken from the queue. Allocates nothing. One for a process: handlers are the
// process's, and stay when the source goes.
class SignalSource {
 public:
  SignalSource();

  // What wait() is to be given for signals; poll leaves out its descriptor where that is -1.
  [[nodiscard]] pollfd source() const { return {fd_.get(), POLLIN, 0}; }
  // Until one of `sources` is ready, a signal came, or the time is over; without a limit when it is
  // negative. The only place to wait in: a plain poll would not see a signal that handlers take.
  // Where ppoll itself is refused it looks ten times a second, and calls each source ready: read
  // them without blocking.
  void wait(std::span<pollfd> sources, std::int64_t timeout_ms);
  // What is pending, as much as `room` takes; the part of it that was filled. Signals we sent
  // ourselves (SIGPIPE) are left out, so fewer may come than were read: wait() tells of the rest.
  std::span<Received> read(std::span<Received> room);
  // For one look: a storm of signals must not starve what else is waited for.
  using Room = std::array<Received, 64>;

 private:
  sys::Fd fd_;
};
// Bit n-1: signal n waits to be read.
std::uint64_t pending_signals();
// Takes one that waits, if there is one.
void discard_signal(int signal);
// Lets one that waits do what it does by default, which for SIGTSTP is to stop this process.
void let_signal_act(int signal);

// Sends `received` on: with sigqueue's value and sender where it came by sigqueue.
void forward_signal(pid_t pid, const Received& received);

using envgen::signal_name;
// Its reverse: "TERM", "SIGTERM", "15", "RTMIN+3", "RTMAX-1", of any case; 1 .. 64.
std::optional<int> parse_signal(std::string_view text);

}  // namespace proc
