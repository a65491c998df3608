#include "init/cli/commands.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "init/cli/options.h"
#include "init/dropin/dropin.h"
#include "init/sys/fd.h"

namespace cli {
namespace {

struct Command {
  std::string_view name;
  std::string_view usage;
  int (*run)(Arguments arguments, const envgen::Environ& env);
};

constexpr std::array kCommands = {
    Command{"run", "[OPTIONS] [--] COMMAND [ARG...]   the default", nullptr},
    Command{"plan", "[OPTIONS] [--] COMMAND [ARG...]  print what run would do", plan_command},
    Command{"status", "[--json] [--watch]              phase, ranks, first failure",
            status_command},
    Command{"checkpoint", "[--keep-running]            save, then end with exit code 75",
            checkpoint_command},
    Command{"extend", "--for DURATION                  more time before --max-duration",
            extend_command},
    Command{"hold", "--for DURATION                    the debug window ends so long from now",
            hold_command},
    Command{"release", "                               end the debug window", release_command},
    Command{"ranktable", "check|convert|generate ...   rank tables as files", ranktable_command},
    Command{"hostfile", "check|convert ...             hostfiles as files", hostfile_command},
    Command{"copy", "[OPTIONS] SRC DST                 a copy that is complete or not there",
            copy_command},
    Command{"snapshot", "[OPTIONS] [--] COMMAND        save what plan sees, secrets masked",
            snapshot_command},
    Command{"doctor", "[--only CHECK,...] [OPTIONS]    what is wrong with this machine",
            doctor_command},
    Command{"install", "DIR                            put this program there, for other images",
            install_command},
    Command{"cache", "ls|gc [OPTIONS]                  the node's cache of datasets",
            cache_command},
    Command{"peer", "serve|session|end ...             sshd between nodes; plans start it",
            peer_command},
    Command{"reference", "man|markdown|bash            the manual page, the options, completion",
            reference_command},
    Command{"print-environment", "", environment_command},
};

envgen::Environ environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return envgen::Environ(std::move(entries));
}

}  // namespace

// In the table arguments and help stand as --help shows them, with two spaces or more between.
std::vector<CommandHelp> command_help() {
  std::vector<CommandHelp> all;
  all.reserve(kCommands.size());
  for (const Command& command : kCommands) {
    if (command.usage.empty()) continue;
    const std::size_t end = command.usage.find("  ");
    std::string_view help = command.usage.substr(end);
    help.remove_prefix(help.find_first_not_of(' '));
    all.push_back({command.name, command.usage.substr(0, end), help});
  }
  return all;
}

std::string usage() {
  std::string text = "trainit [OPTIONS] [--] COMMAND [ARG...]\n";
  for (const Command& command : kCommands) {
    if (command.usage.empty()) continue;
    text += "trainit " + std::string(command.name) + " " + std::string(command.usage) + "\n";
  }
  text += "\nOptions, each also a variable TRAINIT_<OPTION>:\n" + option_help();
  return text;
}

std::string version() { return "trainit " TRAINIT_VERSION "\n"; }

int main(int argc, char** argv, const early::Handover& early) {
  // Before anything slow: a signal that comes from now on is kept for run.
  proc::SavedSignals saved = proc::take_over_signals();
  if (early.blocked) saved.mask = early.mask;
  if (const auto program = dropin::program_of(argc > 0 ? argv[0] : "")) {
    return dropin::run(
        *program, argc, argv, saved,
        {.command = early.started, .received = early.received ? &early.signal : nullptr});
  }
  sys::ensure_standard_fds();
  std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  envgen::Environ env = environment();
  const std::string_view first = arguments.empty() ? std::string_view() : arguments[0];
  const auto* command = std::ranges::find(kCommands, first, &Command::name);
  const bool named = command != kCommands.end();
  const bool help = first == "help" || first == "--help" || first == "-h";
  const bool versions = first == "version" || first == "--version" || first == "-V";
  if (!help && !versions && (!named || command->run == nullptr)) {
    return run_command(Arguments(arguments).subspan(named ? 1 : 0), env, saved, early);
  }
  proc::restore_signals(saved);
  if (help) return print(usage());
  if (versions) return print(version());
  return command->run(Arguments(arguments).subspan(1), env);
}

}  // namespace cli
