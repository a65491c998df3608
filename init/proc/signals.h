#pragma once
// The signals of an init. Every signal that can be blocked is blocked, and a SignalSource reads it,
// so no call is interrupted and there are no races. Each child gets back the mask of the caller,
// and an ignored SIGCHLD if the caller had ignored it. Other dispositions do not change. The
// exception is a kernel that refuses a signalfd: all dispositions then change, and each child gets
// all of them back.

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

// The signal state of the caller. Bit n-1 is signal n, as in the kernel; glibc's sigset_t functions
// leave out 32 and 33.
struct SavedSignals {
  std::uint64_t mask = 0;
  bool child_ignored = false;  // SIGCHLD was ignored; other ignored signals stay ignored without
                               // help
};

// Blocks all 64 signals; an init calls it first. Resets SIGCHLD, which a caller may have left
// ignored: the kernel would then reap children automatically. Changes no other disposition: a
// blocked signal is queued even when it is ignored.
//
// Faults (SEGV, BUS, ...) are blocked too, so that those which other processes send are read and
// forwarded. The kernel still kills this process for a fault that it commits, without a line in the
// container's log. The exit code is then 139 or similar, and the kernel's log has the address. (A
// handler that reports the fault would need faults unblocked, and faults that other processes send
// would then interrupt this process.)
SavedSignals take_over_signals();

// Returns true if the caller ignored the signal, as `nohup` does with SIGHUP. Not for SIGCHLD.
bool caller_ignores(int signal);

// Restores the signal state in a child: the dispositions, also where a SignalSource has set
// handlers, then the mask. Call it last before exec or before the child's own work.
void restore_signals(const SavedSignals& saved);
// Resets the signal state in a child that does not need the caller's: blocks no signal, and ignores
// none except real-time signals that were ignored.
void reset_signals();

// Restores the signal state in a worker of trainit. The worker does not die of signals that are
// meant for the job (HUP, INT, QUIT, TERM, USR1, USR2), because Slurm and others signal each
// process of a container. Such a signal may end a wait in the worker early (EINTR). A program that
// the worker executes has the dispositions of `saved`. If all signals are in the mask, no handlers
// are set, because no signal reaches the worker.
void restore_signals_of_worker(const SavedSignals& saved);
// Returns true if this process does not die of the signal because of restore_signals_of_worker().
// The processes that it forks must not die of it either.
bool outlives(int signal);

struct Received {
  int signal = 0;
  int code = 0;             // si_code of siginfo_t
  pid_t sender = 0;         // 0: the kernel, or a process outside of this pid namespace
  uid_t uid = 0;            // user of the sender
  std::uint64_t value = 0;  // sigval of sigqueue; sival_int is the low half
};
Received from_siginfo(const siginfo_t& info);

// A source that reads the blocked signals: a signalfd. If the kernel or a seccomp profile refuses
// that, it uses handlers, which run only inside wait(). A handler stores its signal, and read()
// takes other pending signals from the queue. Allocates nothing. Only one may exist in a process,
// because handlers belong to the process. They stay when the source is destroyed.
class SignalSource {
 public:
  SignalSource();

  // Returns the entry for wait() by which signals wake it. poll ignores a descriptor of -1.
  [[nodiscard]] pollfd source() const { return {fd_.get(), POLLIN, 0}; }
  // Blocks until one of `sources` is ready, a signal has arrived, or the time is over. A negative
  // time-out means no limit. The process must wait only here, because a plain poll would not notice
  // a signal that a handler takes. If ppoll itself is refused, looks ten times a second and reports
  // each source as ready: the caller must read sources without blocking.
  void wait(std::span<pollfd> sources, std::int64_t timeout_ms);
  // Reads pending signals into `room` and returns the filled part. Signals that this process has
  // sent to itself (SIGPIPE) are left out. The next wait() reports the rest.
  std::span<Received> read(std::span<Received> room);
  // The room for the signals of one read(). It is limited, so that a storm of signals cannot starve
  // the other sources.
  using Room = std::array<Received, 64>;

 private:
  sys::Fd fd_;
};
// Returns the pending signals; bit n-1 is signal n.
std::uint64_t pending_signals();
// Removes one pending instance of the signal, if any.
void discard_signal(int signal);
// Lets a pending instance of the signal have its default action. For SIGTSTP, this process stops.
void let_signal_act(int signal);

// Sends the signal `received` to `pid`; with its value and sender if it came by sigqueue.
void forward_signal(pid_t pid, const Received& received);

using base::signal_name;
// Parses the name or number of a signal, 1 .. 64, of any case: "TERM", "SIGTERM", "15", "RTMIN+3",
// "RTMAX-1".
std::optional<int> parse_signal(std::string_view text);

}  // namespace proc
