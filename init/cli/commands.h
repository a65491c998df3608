#pragma once
// The subcommands. A command gets its parsed command line and returns the exit code. Results go to
// stdout, diagnostics to stderr.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/environ.h"
#include "init/cli/command.h"
#include "init/cli/invocation.h"
#include "init/early/early.h"
#include "init/proc/signals.h"

namespace cli {

// Runs a job. `saved` is the caller's signal state, because trainit has already taken the signals
// over. Unlike other commands it parses its arguments, because the log must be open before.
int run_command(Arguments arguments, const base::Environ& env, const proc::SavedSignals& saved,
                const early::Handover& early);
// Returns a hint for a command that is not found, or "". `arguments` ends with the command.
std::string command_hint(Arguments arguments, const std::vector<std::string>& command);
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

// Chooses the subcommand by `argv`, whose first element is the program. Without a subcommand, run
// is chosen. `early` is what init/early has already done.
int main(int argc, char** argv, const early::Handover& early);
// Runs any command but run. The first argument names it.
int run_tool(Arguments arguments, const base::Environ& env);

}  // namespace cli
