#pragma once
// The init that an InitFlavour describes: it starts the command, forwards signals, reaps, and exits
// with the command. The loop uses no poller and no engine. With all signals blocked, the loop waits
// in sigwaitinfo and reaps when a signal arrives.

#include <signal.h>
#include <sys/types.h>

#include "init/dropin/init_flavour.h"
#include "init/proc/signals.h"

namespace dropin {

// The steps that init/early has already done.
struct Begun {
  pid_t command = 0;                    // runs, or has exited and is not reaped; 0 = not started
  const siginfo_t* received = nullptr;  // taken from the queue, but not handled yet
};

// Runs until the command exits and returns the exit code. `saved` is the caller's signal state,
// because the signals have already been taken over.
int run_loop(const InitFlavour& flavour, const proc::SavedSignals& saved, const Begun& begun = {});

}  // namespace dropin
