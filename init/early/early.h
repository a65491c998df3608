#pragma once
// Starts the command before libc is ready. If nothing has to be resolved, the command starts first,
// and libc and trainit start in parallel with it. (libc asks the processor 40 questions, each a
// trap to the hypervisor.) If the command soon exits with success, the program exits from here.
//
// A command is started here only if it certainly needs nothing of main(). The conditions are:
//
//   - The arguments are `trainit -- COMMAND`, or begin with an absolute path.
//   - No variable can affect the start (init/early/environment_prefixes.h). Exceptions are in
//     early_options.h.
//   - No hook applies (base/hook_condition.h), except hooks after a failure.
//   - The kernel refuses nothing.
//
// In all other cases, and after a start that failed, main() starts the command. Then this unit has
// changed only the signal mask.

#include <signal.h>
#include <sys/types.h>

#include <cstdint>

namespace early {

// The facts about the early start that main() needs.
struct Handover {
  bool blocked = false;     // all signals are blocked, and `mask` is the mask of the caller
  std::uint64_t mask = 0;   // bit n-1 stands for signal n
  pid_t parent = 0;         // parent of this process at its first instruction
  pid_t started = 0;        // pid of the command; 0 = not started
  bool hooks = false;       // only if `started`: there may be hooks that run after a failure
  bool ended_well = false;  // the command has exited with 0 and was reaped
  bool received = false;    // `signal` was taken from the queue: main() must handle it first
  siginfo_t signal{};
};
// Returns the state. It is all zero if the program was linked with libc's own entry point (for
// sanitizers).
const Handover& handover();

}  // namespace early
