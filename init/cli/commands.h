#pragma once
// The subcommands. Each one takes the arguments behind its name and returns the exit code; it
// prints its result on stdout and its diagnostics on stderr.

#include <string>
#include <string_view>
#include <vector>

#include "base/environ.h"
#include "init/cli/invocation.h"
#include "init/early/early.h"
#include "init/proc/signals.h"

namespace cli {

// `saved`: the signals as the caller had them; they have been taken over.
int run_command(Arguments arguments, const envgen::Environ& env, const proc::SavedSignals& saved,
                const early::Handover& early);
int plan_command(Arguments arguments, const envgen::Environ& env);
int status_command(Arguments arguments, const envgen::Environ& env);
int reference_command(Arguments arguments, const envgen::Environ& env);
int release_command(Arguments arguments, const envgen::Environ& env);
int hold_command(Arguments arguments, const envgen::Environ& env);
int extend_command(Arguments arguments, const envgen::Environ& env);
int checkpoint_command(Arguments arguments, const envgen::Environ& env);
int ranktable_command(Arguments arguments, const envgen::Environ& env);
int hostfile_command(Arguments arguments, const envgen::Environ& env);
int peer_command(Arguments arguments, const envgen::Environ& env);
int environment_command(Arguments arguments, const envgen::Environ& env);
int copy_command(Arguments arguments, const envgen::Environ& env);
int doctor_command(Arguments arguments, const envgen::Environ& env);
int install_command(Arguments arguments, const envgen::Environ& env);
int cache_command(Arguments arguments, const envgen::Environ& env);
int snapshot_command(Arguments arguments, const envgen::Environ& env);

// argv[0] and what follows. Chooses the subcommand; without one, run. `early`: what was done
// before.
int main(int argc, char** argv, const early::Handover& early);

// A subcommand that --help names.
struct CommandHelp {
  std::string_view name;
  std::string_view arguments;  // "[--json] [--watch]"
  std::string_view help;
};
std::vector<CommandHelp> command_help();
// The texts of --help and --version.
std::string usage();
std::string version();
}  // namespace cli
