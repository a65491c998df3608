#pragma once
// The start of a program: fork, or vfork with share_memory, then ordinary code in the child, which
// is legal in a process with one thread. The function run_child is the checklist of the child's
// steps.

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
  // The file to which stdout and stderr are appended, with stdin from /dev/null; all three are
  // inherited if it is "".
  std::string log_path;
  // Keeps a person's input from the program: a stdin that is a terminal becomes /dev/null, and
  // output to a terminal becomes write-only.
  bool no_terminal = false;
  bool no_input = false;  // stdin is /dev/null even if the output is inherited
  // The descriptor for stdout and stderr, instead of log_path; error_fd >= 0 replaces it for
  // stderr.
  int output_fd = -1;
  int error_fd = -1;
  // The process group of the child: new_session calls setsid, callers_group keeps trainit's group.
  // If both are false, the child gets a new group.
  bool new_session = false;
  bool callers_group = false;
  // Gives the child the terminal, if trainit's group has it.
  bool foreground = false;
  // LISTEN_FDS: descriptors 3 .. 3+n-1 are passed, and LISTEN_PID is set. A descriptor among them
  // that has CLOEXEC belongs to trainit and is not passed.
  int inherited_fds = 0;
  int channel_fd = -1;  // a descriptor that the program gets too, by its number
  // Passes all descriptors that the caller passed in, as exec would, instead of LISTEN_FDS only.
  bool callers_fds = false;
  bool die_with_parent = false;  // PR_SET_PDEATHSIG SIGKILL: for an init that is not PID 1
  // The CPUs that the child may use, "0-7,16-23", or "" for trainit's. If the kernel refuses them,
  // a warning is logged and the program runs unbound.
  std::string cpus;
  // Uses vfork: faster, but trainit waits until the program runs. Ignored with a sandbox or a
  // terminal.
  bool share_memory = false;
  // The confinement of the program, or nullptr. trainit opens the output before; the confined user
  // enters the working directory.
  const envgen::Sandbox* sandbox = nullptr;
};
// Paths: a relative log_path starts at trainit's directory, a relative argv[0] at `cwd`. The child
// sees descriptors 0, 1, 2 and those of the spec, and no other descriptor of trainit.

struct Spawned {
  pid_t pid = -1;
  // Non-blocking. End of file: the program runs, or was killed before it did. A StartFailure: the
  // program does not run.
  sys::Fd start_pipe;
  // The signals that were pending right before the fork (bit n-1: signal n). The child has not got
  // them.
  std::uint64_t pending = 0;
};

// Starts a program. Signals must have been taken over. Fails if fork fails (EAGAIN: a pids limit),
// which means exit code 125. Any other failure is a StartFailure in the pipe; the child then exits
// with its exit_code.
base::Result<Spawned> spawn(const SpawnSpec& spec, const SavedSignals& saved);

// The result of hand_over(), which turns a ready spare process into the program of `spec` without
// fork and exec. The spare waits at the other end of `channel`. hand_over() sends it `message`,
// descriptors 0, 1 and 2 as `spec` describes them, and a fourth one. The spare closes that when it
// runs, so that read_start() works as for a program.
//
// A child, the messenger, opens the descriptors as it would for itself, which may take long, and
// exits when it has sent them. If the messenger fails, read_start() returns a failure: the spare
// still waits, and the caller must end it. `spawned` has the pid of the spare.
struct HandedOver {
  Spawned spawned;
  pid_t messenger = -1;
};
base::Result<HandedOver> hand_over(const SpawnSpec& spec, const SavedSignals& saved, pid_t pid,
                                   int channel, std::string_view message);

enum class StartState : unsigned char { kPending, kRunning, kFailed };
StartState read_start(const sys::Fd& start_pipe, StartFailure* failure);

// Reopens stdout and stderr write-only if they are terminals, so that the job cannot read what a
// person types. A terminal that cannot be reopened stays.
void write_terminals_only();

// Makes `who` the owner of the container's output pipes, as runc does for its own user. Root owns
// them; another user could write to them, but not open /dev/stdout. Changes a terminal too if
// `pid1`. Otherwise a terminal may be a person's, who gets it back.
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
