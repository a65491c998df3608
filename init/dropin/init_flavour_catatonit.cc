// The options of catatonit 0.1.7.

#include <array>
#include <csignal>

#include "init/dropin/init_flavour.h"
#include "init/dropin/options.h"

namespace dropin {
namespace {

// The text is "tini version", because docker accepts no other text.
constexpr std::string_view kVersion = "tini version 0.1.7_catatonit\n";
constexpr std::string_view kUsage = "usage: catatonit [-ghLPV] [--] <progname> [<arguments>...]\n";
constexpr std::string_view kHelp =
    "\noptions:\n"
    "  -g              Forward signals to pid1's process group.\n"
    "  -h              Print this help page.\n"
    "  -L              Print license information.\n"
    "  -P              Run in pause mode (no program is run and quit on SIGINT).\n"
    "  -V, --version   Print version information.\n"
    "\nThis is trainit in catatonit's place.\n";
constexpr std::string_view kLicense =
    "This is trainit in catatonit's place: a program of its own, under trainit's licence.\n";
constexpr auto kLongOptions = std::to_array({LongOption{"version", false, 'V'}});

constexpr int kErrors = 1;
constexpr int kDebug = 4;

std::string complaint(const Input& input, std::string_view what) {
  return "ERROR (catatonit:" + std::to_string(input.pid) + "): " + std::string(what) + "\n";
}

InitFlavour as_catatonit(const Input& input) {
  InitFlavour catatonit;
  catatonit.program = Program::kCatatonit;
  catatonit.verbosity = variable(input, "CATATONIT_DEBUG") != nullptr ? kDebug : kErrors;
  catatonit.command_group = CommandGroup::kNewGroup;
  catatonit.terminal = Terminal::kDevTty;
  catatonit.move_listen_pid = true;
  catatonit.close_descriptors = true;
  catatonit.subreaper = input.pid != 1;
  for (const int stop : {SIGTSTP, SIGTTOU, SIGTTIN}) {
    catatonit.send_as[static_cast<std::size_t>(stop)] = 0;
  }
  return catatonit;
}

}  // namespace

std::expected<InitFlavour, Exit> parse_catatonit(const Input& input) {
  if (variable(input, "CATATONIT_LOG") != nullptr) {
    return std::unexpected(
        Exit{1, "", complaint(input, "CATATONIT_LOG is reserved for future use")});
  }
  const bool posix = variable(input, "POSIXLY_CORRECT") != nullptr;
  Options options({"ghLPV", kLongOptions, posix}, input.argc, input.argv);
  InitFlavour catatonit = as_catatonit(input);
  bool pause = false;
  for (int option = options.next(); option != Options::kEnd; option = options.next()) {
    switch (option) {
      case 'g':
        catatonit.signal_group = true;
        break;
      case 'P':
        pause = true;
        break;
      case 'h':
        return std::unexpected(Exit{0, "", std::string(kUsage) + std::string(kHelp)});
      case 'L':
        return std::unexpected(Exit{0, std::string(kLicense), ""});
      case 'V':
        return std::unexpected(Exit{0, std::string(kVersion), ""});
      default:
        return std::unexpected(Exit{1, "", options.error() + std::string(kUsage)});
    }
  }
  char** command = options.operands();
  if (!pause && *command == nullptr) {
    return std::unexpected(
        Exit{1, "", complaint(input, "missing program name") + std::string(kUsage)});
  }
  catatonit.command = pause ? nullptr : command;
  return catatonit;
}

}  // namespace dropin
