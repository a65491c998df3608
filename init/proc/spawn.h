#pragma once
// The start of a program: fork, then ordinary code in the child, legal because there is one thread.
// The child's steps stand in one function as a checklist, run_child.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/environ.h"
#include "base/result.h"
#include "envgen/plan/sandbox.h"
#include "init/proc/exec.h"
#include "init/proc/signals.h"
#include "init/sys/fd.h"

namespace proc {

struct SpawnSpec {
  std::vector<std::string> argv;  // argv[0] without '/' is looked up in the child's PATH
  envgen::Environ env;            // complete
  std::string cwd;                // "" = keep
  std::string log_path;           // stdout and stderr go there, appended, and stdin is /dev/null;
                                  // "" = inherit all three
  bool no_terminal = false;  // stdin is /dev/null where it is a terminal, and output to one can
                             // only be written: what somebody types is not for the program
  bool no_input = false;     // stdin is /dev/null also where the output is inherited
  int output_fd = -1;        // instead of log_path: stdout and stderr are this descriptor,
  int error_fd = -1;         // or stderr this one
  // setsid; our own process group; neither: a process group of its own.
  bool new_session = false;
  bool callers_group = false;
  bool foreground = false;   // hand it the terminal, where we have it
  int inherited_fds = 0;     // LISTEN_FDS: descriptors 3 .. 3+n-1 are passed, LISTEN_PID set;
                             // those among them that have CLOEXEC are ours and are not passed
  int channel_fd = -1;       // of ours, and the program's too, by its number
  bool callers_fds = false;  // all that the caller passed in, as exec would; not LISTEN_FDS only
  bool die_with_parent = false;  // PR_SET_PDEATHSIG SIGKILL: for an init that is not PID 1
  std::string cpus;              // those it may use, "0-7,16-23"; "" = ours. What the kernel
                                 // refuses is a warning, and it runs as it is
  bool share_memory = false;     // vfork: faster, and we stand still until the program runs; not
                                 // with a sandbox
  // What the program is confined to; nullptr = nothing. The output is opened by us before, the
  // working directory is entered by the confined user.
  const envgen::Sandbox* sandbox = nullptr;
};
// A relative log_path counts from our directory, a relative argv[0] from `cwd`. The
// child sees no descriptor but 0, 1, 2 and those: never one of ours.

struct Spawned {
  pid_t pid = -1;
  // End of file: the program runs, or was killed before it did. A StartFailure: it does not run.
  // Non-blocking.
  sys::Fd start_pipe;
  // What waited for us right before the fork, as bits (n-1 stands for signal n): the child has not
  // had it.
  std::uint64_t pending = 0;
};

// Fails when fork does (EAGAIN: a pids limit), which stands for exit code 125. Signals must have
// been taken over. What else goes wrong is a StartFailure in the pipe; the child then exits with
// its exit_code.
envgen::Result<Spawned> spawn(const SpawnSpec& spec, const SavedSignals& saved);

// A program that stands by at the other end of `channel` is handed what `spec` says of standard
// descriptors, and `message` with them, instead of a fork and an exec. The descriptors 0, 1 and 2
// come, and one that it closes when it runs: by that read_start tells as of a program. A child
// opens them, as it would for itself: that may take long. It is the messenger, and ends by itself.
// Where it cannot, read_start has a failure: the program still stands by, and is the caller's to
// end. Spawned has its pid.
struct HandedOver {
  Spawned spawned;
  pid_t messenger = -1;
};
envgen::Result<HandedOver> hand_over(const SpawnSpec& spec, const SavedSignals& saved, pid_t pid,
                                     int channel, std::string_view message);

enum class StartState : unsigned char { kPending, kRunning, kFailed };
StartState read_start(const sys::Fd& start_pipe, StartFailure* failure);

// Reopens stdout and stderr write-only if they are terminals, so that the job cannot read what a
// person types. A terminal that cannot be reopened stays.
void write_terminals_only();

// The pipes of the container's output are root's; another user could write to them, but not open
// /dev/stdout. They become `who`'s, as runc does for its own user. A terminal too, below a `pid1`:
// otherwise it may be a person's, who gets it back.
void give_standard_fds(const envgen::Identity& who, bool pid1);

// Forks a child that runs `body` and exits with its result; for work that PID 1 must not do itself.
// The child has the saved signals, but does not end by those that are meant for the job
// (restore_signals_of_worker), has an own process group, dies with its parent, and keeps no
// descriptor of ours but 0, 1, 2, the log's and `keep`. It ends by _exit: `body` flushes what it
// printed. If the C++ library throws, the child logs it and exits with 125.
envgen::Result<pid_t> fork_worker(const SavedSignals& saved, std::span<const int> keep,
                                  const std::function<int()>& body);
inline envgen::Result<pid_t> fork_worker(const SavedSignals& saved, int keep,
                                         const std::function<int()>& body) {
  return fork_worker(saved, {&keep, 1}, body);
}

}  // namespace proc
