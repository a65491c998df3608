#pragma once
// Replacements for tini, docker-init, dumb-init and catatonit. If the binary is called by one of
// these names, it accepts that program's options and variables, and has its exit codes. Its
// behaviour, and the messages that other programs parse, are the same. A replacement writes no run
// directory and detects no platform.

#include <signal.h>
#include <sys/types.h>

#include <optional>
#include <string_view>

#include "init/dropin/init_flavour.h"
#include "init/dropin/loop.h"
#include "init/proc/signals.h"

namespace dropin {

// Returns the program that the last part of `argv0` names: "/usr/bin/docker-init" is kTini.
std::optional<Program> program_of(std::string_view argv0);

// Runs the program and returns its exit code. `saved` is the signal state of the caller, because
// this process has already blocked all signals. The elements of `argv` are reordered, as getopt
// does it.
int run(Program program, int argc, char** argv, const proc::SavedSignals& saved,
        const Begun& begun = {});

}  // namespace dropin
