#pragma once
// The init that a Personality describes: starts the command, sends signals on, reaps, ends with the
// command. No poller and no engine: it waits in sigwaitinfo, where all signals are blocked, and
// reaps when one comes.

#include "init/dropin/dropin.h"
#include "init/dropin/personality.h"
#include "init/proc/signals.h"

namespace dropin {

// The exit code. `saved`: the signals as the caller had them; they have been taken over.
int run_loop(const Personality& self, const proc::SavedSignals& saved, const Begun& begun = {});

}  // namespace dropin
