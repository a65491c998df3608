#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "envgen/inputs.h"
#include "init/cli/commands.h"
#include "init/cli/options.h"
#include "init/sys/facts.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"

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
    Command{"release", "                               end the debug window", release_command},
    Command{"hold", "DURATION                          extend the debug window", hold_command},
    Command{"ranktable", "check|convert|generate ...   rank tables as files", ranktable_command},
    Command{"snapshot", "[OPTIONS] [--] COMMAND        save what plan sees, secrets masked",
            snapshot_command},
};

envgen::Environ environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return envgen::Environ(std::move(entries));
}

}  // namespace

std::string usage() {
  std::string text = "trainit [OPTIONS] [--] COMMAND [ARG...]\n";
  for (const Command& command : kCommands) {
    text += "trainit " + std::string(command.name) + " " + std::string(command.usage) + "\n";
  }
  text += "\nOptions, each also a variable TRAINIT_<OPTION>:\n" + option_help();
  return text;
}

void set_run_dir(envgen::Environ& env, const std::string& option) {
  constexpr const char* kVariable = "TRAINIT_RUN_DIR";
  const std::string given(option.empty() ? env.get_or(kVariable, "") : option);
  if (given.empty()) return;
  const bool relative = !given.starts_with('/');
  if (relative || !option.empty()) {
    env.set(kVariable, relative ? envgen::join_path(sys::gather_facts().cwd, given) : given);
  }
}

std::string version() { return "trainit " TRAINIT_VERSION "\n"; }

int write_to(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

int print(std::string_view text) {
  int error = write_to(STDOUT_FILENO, text);
  if (error == 0) return 0;
  return complain({"writing the result", "stdout", sys::errno_text(error), ""});
}

int complain(const envgen::Error& error) {
  write_to(STDERR_FILENO, "trainit: error: " + to_line(error) + "\n");
  return kFailed;
}

int main(int argc, char** argv) {
  // Before anything slow: a signal that comes from now on is kept for run.
  const proc::SavedSignals saved = proc::take_over_signals();
  sys::ensure_standard_fds();
  std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  envgen::Environ env = environment();
  const std::string_view first = arguments.empty() ? std::string_view() : arguments[0];
  const auto* command = std::ranges::find(kCommands, first, &Command::name);
  const bool named = command != kCommands.end();
  const bool help = first == "help" || first == "--help" || first == "-h";
  const bool versions = first == "version" || first == "--version" || first == "-V";
  if (!help && !versions && (!named || command->run == nullptr)) {
    return run_command(Arguments(arguments).subspan(named ? 1 : 0), env, saved);
  }
  proc::restore_signals(saved);
  if (help) return print(usage());
  if (versions) return print(version());
  return command->run(Arguments(arguments).subspan(1), env);
}

}  // namespace cli
