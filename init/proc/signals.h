#pragma once
// Signals of an init: everything that can be blocked is blocked and read from a signalfd, so no
// handler runs and no race exists. What the caller had (mask, ignored signals) is saved first and
// given back in every child.

#include <signal.h>

#include <cstdint>
#include <string>
#include <vector>

#include "init/sys/fd.h"

namespace proc {

// Bit n-1 stands for signal n, as in the kernel; glibc's sigset_t functions leave out 32 and 33.
struct SavedSignals {
  std::uint64_t mask = 0;
  std::uint64_t ignored = 0;
};

// The first thing an init does. Blocks all 64, the faults (SEGV, BUS, ...) too: those that others
// send are then read and forwarded, and the kernel still kills us for one that we commit. Resets
// SIGCHLD, which a caller may have left ignored: the kernel would then reap by itself. No other
// disposition is touched, here or later: a blocked signal is queued even when it is ignored.
SavedSignals take_over_signals();

// In a child, last before exec: the dispositions, then the mask.
void restore_signals(const SavedSignals& saved);

// Non-blocking; not valid where the kernel refuses.
sys::Fd open_signal_fd();

struct Received {
  int signal = 0;
  int code = 0;             // si_code
  pid_t sender = 0;         // 0: the kernel, or a process outside of our pid namespace
  uid_t uid = 0;            // of the sender
  std::uint64_t value = 0;  // of sigqueue: the whole sigval, whose sival_int is the low half
};
// What is pending, at most `limit`. Signals we sent ourselves (SIGPIPE) are left out, so fewer may
// come than were read: ask again until the answer is empty, or wait for the descriptor.
std::vector<Received> read_signals(const sys::Fd& signal_fd, int limit);

// Sends `received` on: with sigqueue's value and sender where it came by sigqueue.
void forward_signal(pid_t pid, const Received& received);

// "SIGTERM", "SIGRTMIN+3"; "signal 99" for none.
std::string signal_name(int signal);

}  // namespace proc
