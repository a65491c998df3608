#pragma once
// The init that an InitFlavour describes: starts the command, sends signals on, reaps, ends with
// the command. No poller and no engine: it waits in sigwaitinfo, where all signals are blocked, and
// reaps when one comes.

#include <signal.h>
#include <sys/types.h>

#include "init/dropin/init_flavour.h"
#include "init/proc/signals.h"

namespace dropin {

// What init/early did already.
struct Begun {
  pid_t command = 0;                    // runs, or has ended and is not reaped; 0: not started
  const siginfo_t* received = nullptr;  // taken out of the queue, not answered yet
};

// The exit code. `saved`: the signals as the caller had them; they have been taken over.
int run_loop(const InitFlavour& flavour, const proc::SavedSignals& saved, const Begun& begun = {});

}  // namespace dropin
