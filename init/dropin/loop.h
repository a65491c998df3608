#pragma once
// The init that an InitFlavour describes. It starts the command, forwards signals, reaps children,
// and exits with the command. It uses neither the poller nor the engine of `trainit run`: all
// signals are blocked, the loop waits in sigwaitinfo, and reaps when a signal arrives.

#include <signal.h>
#include <sys/types.h>

#include "init/dropin/init_flavour.h"
#include "init/proc/signals.h"

namespace dropin {

// The work that init/early has already done.
struct Begun {
  pid_t command = 0;  // runs, or has exited and is not reaped yet; 0 = not started
  const siginfo_t* received = nullptr;  // a signal that was taken from the queue, but not handled
                                        // yet; nullptr: none
};

// Runs until the command has exited and returns the exit code. `saved` is the signal state of the
// caller, because this process has already blocked all signals.
int run_loop(const InitFlavour& flavour, const proc::SavedSignals& saved, const Begun& begun = {});

}  // namespace dropin
