#pragma once
// The start of the command before libc is ready. If nothing has to be resolved, the command starts
// first, and the start of libc and of trainit runs in parallel. (libc asks the processor 40
// questions, each a trap to the hypervisor.) If the command soon exits with success, the program
// exits from here.
//
// Only a command that certainly needs nothing else is started here. The conditions are:
//
//   - The arguments are `trainit -- COMMAND`, or begin with an absolute path.
//   - No variable can affect the start (init/early/environment_prefixes.h). Exceptions are in
//     early_options.h.
//   - No hook applies (base/hook_condition.h), except hooks after a failure.
//   - The kernel refuses nothing.
//
// Otherwise, and after a start that failed, main() starts the command. Only the signal mask is then
// changed.

#include <signal.h>
#include <sys/types.h>

#include <cstdint>

namespace early {

// The state that main() takes over.
struct Handover {
  bool blocked = false;     // all signals are blocked; `mask` is the caller's mask
  std::uint64_t mask = 0;   // bit n-1 is signal n
  pid_t parent = 0;         // this process's parent at the first instruction
  pid_t started = 0;        // the command; 0 = not started
  bool hooks = false;       // if `started`: there may be hooks for a failure
  bool ended_well = false;  // the command exited with 0 and was reaped
  bool received = false;    // `signal` was taken from the queue and must be handled first
  siginfo_t signal{};
};
// Returns the state; all zero if the program was linked with libc's own entry (sanitizers).
const Handover& handover();

}  // namespace early
