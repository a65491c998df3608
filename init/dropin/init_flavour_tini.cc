// The options of tini 0.19, which Docker calls docker-init.

#include <array>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "init/dropin/init_flavour.h"
#include "init/dropin/options.h"

namespace dropin {
namespace {

// Docker's daemon reads "tini version VERSION - git.COMMIT" and shows the commit in `docker info`.
// When called docker-init, the commit is "trainit". When called tini, it is left out, because
// scripts compare the text.
constexpr std::string_view kVersion = "tini version 0.19.0";
constexpr std::string_view kCommit = " - git.trainit";

std::string version(std::string_view name) {
  return std::string(kVersion) + (name == "docker-init" ? std::string(kCommit) : "");
}

std::string usage(std::string_view called) {
  const std::string name(last_part(called));
  return name + " (" + version(name) + ")\nUsage: " + name +
         " [OPTIONS] PROGRAM -- [ARGS] | --version\n\n"
         "Execute a program under the supervision of a valid init process (" +
         name +
         ")\n\n"
         "Command line options:\n\n"
         "  --version: Show version and exit.\n"
         "  -h: Show this help message and exit.\n"
         "  -s: Register as a process subreaper (requires Linux >= 3.4).\n"
         "  -p SIGNAL: Trigger SIGNAL when parent dies, e.g. \"-p SIGKILL\".\n"
         "  -v: Generate more verbose output. Repeat up to 3 times.\n"
         "  -w: Print a warning when processes are getting reaped.\n"
         "  -g: Send signals to the child's process group.\n"
         "  -e EXIT_CODE: Remap EXIT_CODE (from 0 to 255) to 0.\n"
         "  -l: Show license and exit.\n\n"
         "Environment variables:\n\n"
         "  TINI_SUBREAPER: Register as a process subreaper (requires Linux >= 3.4).\n"
         "  TINI_VERBOSITY: Set the verbosity level (default: 1).\n"
         "  TINI_KILL_PROCESS_GROUP: Send signals to the child's process group.\n\n";
}

constexpr std::string_view kLicense =
    "This is trainit in tini's place: a program of its own, under trainit's licence.\n";

// The only names that tini accepts: not "TERM", "15" or "SIGPWR".
constexpr auto kSignalNames = std::to_array({
    std::pair{"SIGHUP", SIGHUP},       std::pair{"SIGINT", SIGINT},
    std::pair{"SIGQUIT", SIGQUIT},     std::pair{"SIGILL", SIGILL},
    std::pair{"SIGTRAP", SIGTRAP},     std::pair{"SIGABRT", SIGABRT},
    std::pair{"SIGBUS", SIGBUS},       std::pair{"SIGFPE", SIGFPE},
    std::pair{"SIGKILL", SIGKILL},     std::pair{"SIGUSR1", SIGUSR1},
    std::pair{"SIGSEGV", SIGSEGV},     std::pair{"SIGUSR2", SIGUSR2},
    std::pair{"SIGPIPE", SIGPIPE},     std::pair{"SIGALRM", SIGALRM},
    std::pair{"SIGTERM", SIGTERM},     std::pair{"SIGCHLD", SIGCHLD},
    std::pair{"SIGCONT", SIGCONT},     std::pair{"SIGSTOP", SIGSTOP},
    std::pair{"SIGTSTP", SIGTSTP},     std::pair{"SIGTTIN", SIGTTIN},
    std::pair{"SIGTTOU", SIGTTOU},     std::pair{"SIGURG", SIGURG},
    std::pair{"SIGXCPU", SIGXCPU},     std::pair{"SIGXFSZ", SIGXFSZ},
    std::pair{"SIGVTALRM", SIGVTALRM}, std::pair{"SIGPROF", SIGPROF},
    std::pair{"SIGWINCH", SIGWINCH},   std::pair{"SIGSYS", SIGSYS},
});

int signal_of(std::string_view name) {
  for (const auto& [known, number] : kSignalNames) {
    if (name == known) return number;
  }
  return 0;
}

bool expect_code(const char* text, std::bitset<256>* codes) {
  char* end = nullptr;
  const long code = std::strtol(text, &end, 10);
  if (*end != '\0' || code < 0 || code > 255) return false;
  codes->set(static_cast<std::size_t>(code));
  return true;
}

Exit bad_value(const Input& input, char option, const char* value) {
  return {1, "",
          "[FATAL tini (" + std::to_string(input.pid) + ")] Not a valid option for -" + option +
              ": " + value + "\n"};
}

InitFlavour as_tini() {
  InitFlavour tini;
  tini.program = Program::kTini;
  tini.verbosity = 1;
  tini.command_group = CommandGroup::kNewGroup;
  tini.terminal = Terminal::kStdin;
  tini.warn_if_no_reaper = true;
  tini.send_as[SIGTTIN] = 0;
  tini.send_as[SIGTTOU] = 0;
  return tini;
}

// Reads the variables, which have priority over the options.
void take_variables(const Input& input, InitFlavour* tini) {
  if (variable(input, "TINI_SUBREAPER") != nullptr) tini->subreaper = true;
  if (variable(input, "TINI_KILL_PROCESS_GROUP") != nullptr) tini->signal_group = true;
  if (const char* level = variable(input, "TINI_VERBOSITY"); level != nullptr) {
    tini->verbosity = std::atoi(level);
    // tini reads the number as unsigned, so a negative one is very large.
    if (tini->verbosity < 0) tini->verbosity = INT_MAX;
  }
}

}  // namespace

std::expected<InitFlavour, Exit> parse_tini(const Input& input) {
  const std::string_view called = input.argv[0];
  if (input.argc == 2 && std::string_view(input.argv[1]) == "--version") {
    return std::unexpected(Exit{0, version(last_part(called)) + "\n", ""});
  }
  const bool posix = variable(input, "POSIXLY_CORRECT") != nullptr;
  Options options({"p:hvwgle:s", {}, posix}, input.argc, input.argv);
  InitFlavour tini = as_tini();
  for (int option = options.next(); option != Options::kEnd; option = options.next()) {
    switch (option) {
      case 'h':
        return std::unexpected(Exit{0, usage(called), ""});
      case 'l':
        return std::unexpected(Exit{0, std::string(kLicense), ""});
      case 's':
        tini.subreaper = true;
        break;
      case 'v':
        ++tini.verbosity;
        break;
      case 'w':
        tini.warn_on_reap = true;
        break;
      case 'g':
        tini.signal_group = true;
        break;
      case 'p':
        tini.parent_death_signal = signal_of(options.argument());
        if (tini.parent_death_signal == 0) {
          return std::unexpected(bad_value(input, 'p', options.argument()));
        }
        break;
      case 'e':
        if (!expect_code(options.argument(), &tini.success)) {
          return std::unexpected(bad_value(input, 'e', options.argument()));
        }
        break;
      default:
        return std::unexpected(Exit{1, "", options.error() + usage(called)});
    }
  }
  tini.command = options.operands();
  if (*tini.command == nullptr) return std::unexpected(Exit{1, "", usage(called)});
  take_variables(input, &tini);
  return tini;
}

}  // namespace dropin
