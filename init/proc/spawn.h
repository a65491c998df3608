#pragma once
// Starts a program: with fork, or with vfork if share_memory is set. The child then runs ordinary
// code, which is allowed because the process has one thread. The function run_child is the
// checklist of the child's steps.

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
  base::Environ env;              // the complete environment
  std::string cwd;                // "": unchanged
  // The file to which stdout and stderr are appended; stdin is then /dev/null. If it is "", all
  // three are inherited.
  std::string log_path;
  // Keeps what a person types from the program: a stdin that is a terminal becomes /dev/null, and a
  // terminal for output becomes write-only.
  bool no_terminal = false;
  bool no_input = false;  // stdin is /dev/null, even if the output is inherited
  // The descriptor for stdout and stderr, used instead of log_path if >= 0. If error_fd >= 0, that
  // is the one for stderr.
  int output_fd = -1;
  int error_fd = -1;
  // The process group of the child: new_session calls setsid, callers_group keeps trainit's group.
  // If both are false, the child gets a new group.
  bool new_session = false;
  bool callers_group = false;
  // Makes the child's group the foreground group of the terminal, if trainit's group is.
  bool foreground = false;
  // Number of descriptors that are passed on from socket activation: 3 .. 3+n-1. LISTEN_PID is set.
  // A descriptor among them that has CLOEXEC is trainit's own, and is not passed.
  int inherited_fds = 0;
  int channel_fd = -1;  // a further descriptor that the program gets, with the same number
  // Passes all descriptors that the caller passed in, as exec would, and not only those of
  // LISTEN_FDS.
  bool callers_fds = false;
  bool die_with_parent = false;  // SIGKILL when trainit dies (PR_SET_PDEATHSIG); for an init that
                                 // is not PID 1
  // The CPUs that the child may use, "0-7,16-23", or "" for trainit's. If the kernel refuses them,
  // a warning is logged and the program runs unbound.
  std::string cpus;
  // Uses vfork, which is faster, but trainit waits until the program runs. Ignored with a sandbox
  // or a terminal.
  bool share_memory = false;
  // The sandbox of the program; nullptr: none. The output is opened with trainit's rights before,
  // the working directory is entered with those of the sandbox.
  const envgen::Sandbox* sandbox = nullptr;
};
// Paths of a SpawnSpec: a relative log_path starts at trainit's directory, a relative argv[0] at
// `cwd`. The child sees the descriptors 0, 1, 2 and those of the spec, and no other one of trainit.

struct Spawned {
  pid_t pid = -1;
  // A pipe that does not block. It ends when the program runs, or was killed before it ran. It
  // contains a StartFailure if the program did not start.
  sys::Fd start_pipe;
  // The signals that were pending directly before the fork (bit n-1 stands for signal n). The child
  // has not received them.
  std::uint64_t pending = 0;
};

// Starts a program. All signals must be blocked (take_over_signals()). Fails if fork fails (EAGAIN:
// a limit of pids), which means exit code 125. Any other failure is a StartFailure in the pipe, and
// the child exits with its exit_code.
base::Result<Spawned> spawn(const SpawnSpec& spec, const SavedSignals& saved);

// The result of hand_over(), which turns a spare process into the program of `spec` without fork
// and exec. The spare process waits at the other end of `channel`. hand_over() sends it `message`,
// the descriptors 0, 1 and 2 that `spec` describes, and a fourth one. The spare closes that fourth
// one when it runs, so that read_start() works as for a program.
//
// A child, the messenger, opens the descriptors as it would for itself, which may take long. It
// exits when it has sent them. If the messenger fails, read_start() returns a failure: the spare
// still waits, and the caller must end it. `spawned` contains the pid of the spare.
struct HandedOver {
  Spawned spawned;
  pid_t messenger = -1;
};
base::Result<HandedOver> hand_over(const SpawnSpec& spec, const SavedSignals& saved, pid_t pid,
                                   int channel, std::string_view message);

enum class StartState : unsigned char { kPending, kRunning, kFailed };
StartState read_start(const sys::Fd& start_pipe, StartFailure* failure);

// If stdout or stderr is a terminal, opens it again write-only, so that the job cannot read what a
// person types. A terminal that cannot be opened again stays as it is.
void write_terminals_only();

// Makes `who` the owner of the container's output pipes, as runc does for its own user. Otherwise
// root owns them, and another user could write to them, but not open /dev/stdout. With `pid1`, the
// owner of a terminal changes too. Without it, a terminal may belong to a person, who continues to
// use it.
void give_standard_fds(const envgen::Identity& who, bool pid1);

// Forks a child that runs `body` and exits with its result, for work that PID 1 must not do itself.
// The child has the saved signals, but survives those that are meant for the job
// (restore_signals_of_worker). The child has its own process group, dies with its parent, and keeps
// only descriptors 0, 1, 2, the log's and `keep`. The child ends by _exit, so `body` must flush
// what it printed. If the C++ library throws, the child logs it and exits with 125.
base::Result<pid_t> fork_worker(const SavedSignals& saved, std::span<const int> keep,
                                const std::function<int()>& body);
inline base::Result<pid_t> fork_worker(const SavedSignals& saved, int keep,
                                       const std::function<int()>& body) {
  return fork_worker(saved, {&keep, 1}, body);
}

}  // namespace proc
