#pragma once
// The subcommands. Each one gets its parsed command line and returns the exit code; it prints its
// result on stdout and its diagnostics on stderr.

#include <span>
#include <string>
#include <string_view>

#include "base/environ.h"
#include "init/cli/command.h"
#include "init/cli/invocation.h"
#include "init/early/early.h"
#include "init/proc/signals.h"

namespace cli {

// `saved`: the signals as the caller had them; they have been taken over. Parses by itself: it has
// to be ready for the log by then.
int run_command(Arguments arguments, const envgen::Environ& env, const proc::SavedSignals& saved,
                const early::Handover& early);
int plan_command(Call& call);
int status_command(Call& call);
int stacks_command(Call& call);
int reference_command(Call& call);
int control_command(Call& call);
int ranktable_command(Call& call);
int hostfile_command(Call& call);
int peer_command(Call& call);
int environment_command(Call& call);
int copy_command(Call& call);
int doctor_command(Call& call);
int install_command(Call& call);
int cache_command(Call& call);
int snapshot_command(Call& call);
int report_command(Call& call);

// argv[0] and what follows. Chooses the subcommand; without one, run. `early`: what was done
// before.
int main(int argc, char** argv, const early::Handover& early);
// The same of all commands but run; the first argument names it.
int run_tool(Arguments arguments, const envgen::Environ& env);

}  // namespace cli
