#pragma once
// The start of the command before libc is up. Where nothing has to be resolved, the first thing
// that this program does is what an init is there for; libc's own start (it asks the processor 40
// questions, each a trap to the hypervisor) and ours run while the command already does. A command
// that ends well at once ends the program from here.
//
// Only what certainly needs nothing else is started here: `trainit -- COMMAND` or an absolute path,
// no variable that a decision about the start could depend on (init/early/environment_prefixes.h;
// early_options.h has those that it cannot), no hook that applies (base/hook_condition.h) but those
// after a failure, nothing refused by the kernel. Whatever else it is, a start that fails included,
// is left to main(), untouched but for the signal mask.

#include <signal.h>
#include <sys/types.h>

#include <cstdint>

namespace early {

// What main() takes over.
struct Handover {
  bool blocked = false;     // all signals are blocked, and `mask` is what the caller had
  std::uint64_t mask = 0;   // bit n-1 stands for signal n
  pid_t parent = 0;         // our own, as the first instruction saw it
  pid_t started = 0;        // the command; 0: nothing was started
  bool hooks = false;       // with `started`: there may be some for after a failure
  bool ended_well = false;  // it has exited with 0 and was reaped
  bool received = false;    // `signal` was taken out of the queue, and is to be answered first
  siginfo_t signal{};
};
// All zero where the program was linked with libc's own entry (sanitizers).
const Handover& handover();

}  // namespace early
