#pragma once
// tini, docker-init, dumb-init and catatonit: called by one of these names, the binary takes that
// program's options, variables and exit codes, prints the messages that others parse, and behaves
// as it does. It writes no run directory and knows no platform.

#include <signal.h>
#include <sys/types.h>

#include <optional>
#include <string_view>

#include "init/dropin/init_flavour.h"
#include "init/dropin/loop.h"
#include "init/proc/signals.h"

namespace dropin {

// By the last part of argv[0]: "/usr/bin/docker-init" is kTini.
std::optional<Program> program_of(std::string_view argv0);

// `saved`: the signals as the caller had them; they have been taken over. The elements of `argv`
// are moved, as getopt does it. Returns the exit code.
int run(Program program, int argc, char** argv, const proc::SavedSignals& saved,
        const Begun& begun = {});

}  // namespace dropin
