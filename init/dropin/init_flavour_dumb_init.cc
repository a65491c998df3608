// The options of dumb-init 1.2.5.

#include <array>
#include <csignal>
#include <cstdlib>

#include "init/dropin/init_flavour.h"
#include "init/dropin/options.h"

namespace dropin {
namespace {

constexpr int kLastRewritten = 31;  // dumb-init rewrites no real-time signals
constexpr std::string_view kVersion = "dumb-init v1.2.5\n";

constexpr auto kLongOptions = std::to_array({
    LongOption{"help", false, 'h'},
    LongOption{"single-child", false, 'c'},
    LongOption{"rewrite", true, 'r'},
    LongOption{"verbose", false, 'v'},
    LongOption{"version", false, 'V'},
});

std::string help(const std::string& name) {
  return std::string(kVersion) + "Usage: " + name +
         " [option] command [[arg] ...]\n\n"
         "dumb-init is a simple process supervisor that forwards signals to children.\n"
         "It is designed to run as PID1 in minimal container environments.\n\n"
         "Optional arguments:\n"
         "   -c, --single-child   Run in single-child mode.\n"
         "                        In this mode, signals are only proxied to the\n"
         "                        direct child and not any of its descendants.\n"
         "   -r, --rewrite s:r    Rewrite received signal s to new signal r before proxying.\n"
         "                        To ignore (not proxy) a signal, rewrite it to 0.\n"
         "                        This option can be specified multiple times.\n"
         "   -v, --verbose        Print debugging information to stderr.\n"
         "   -h, --help           Print this help message and exit.\n"
         "   -V, --version        Print the current version and exit.\n\n"
         "Full help is available online at https://github.com/Yelp/dumb-init\n";
}

constexpr std::string_view kRewriteHelp =
    "Usage: -r option takes <signum>:<signum>, where <signum> is between 1 and 31.\n"
    "This option can be specified multiple times.\n"
    "Use --help for full usage.\n";

// Reads like scanf's "%d:%d": blanks and signs before a number, and any text after the second, are
// accepted.
bool rewrite(const char* text, InitFlavour* dumb_init) {
  char* end = nullptr;
  const long from = std::strtol(text, &end, 10);
  if (end == text || *end != ':') return false;
  const char* second = end + 1;
  const long to = std::strtol(second, &end, 10);
  if (end == second || from < 1 || from > kLastRewritten || to < 0 || to > kLastRewritten) {
    return false;
  }
  dumb_init->send_as[static_cast<std::size_t>(from)] = static_cast<std::uint8_t>(to);
  return true;
}

bool is_set_to(const Input& input, std::string_view name, std::string_view value) {
  const char* found = variable(input, name);
  return found != nullptr && found == value;
}

void lead_a_session(InitFlavour* dumb_init) {
  dumb_init->command_group = CommandGroup::kNewSession;
  dumb_init->terminal = Terminal::kNewSession;
  dumb_init->signal_group = true;
  for (const int stop : {SIGTSTP, SIGTTOU, SIGTTIN}) {
    std::uint8_t& sent = dumb_init->send_as[static_cast<std::size_t>(stop)];
    if (sent == InitFlavour::kAsItIs) sent = SIGSTOP;
  }
}

InitFlavour as_dumb_init() {
  InitFlavour dumb_init;
  dumb_init.program = Program::kDumbInit;
  dumb_init.command_group = CommandGroup::kOurGroup;
  dumb_init.callers_signals = false;
  dumb_init.leave_directory = true;
  dumb_init.stop_like_command = true;
  dumb_init.term_group_at_end = true;
  return dumb_init;
}

}  // namespace

std::expected<InitFlavour, Exit> parse_dumb_init(const Input& input) {
  const std::string name(input.argv[0]);
  Options options({"hvVcr:", kLongOptions, true}, input.argc, input.argv);
  InitFlavour dumb_init = as_dumb_init();
  bool single = false;
  for (int option = options.next(); option != Options::kEnd; option = options.next()) {
    switch (option) {
      case 'h':
        return std::unexpected(Exit{0, "", help(name)});
      case 'V':
        return std::unexpected(Exit{0, "", std::string(kVersion)});
      case 'v':
        dumb_init.verbosity = 1;
        break;
      case 'c':
        single = true;
        break;
      case 'r':
        if (!rewrite(options.argument(), &dumb_init)) {
          return std::unexpected(Exit{1, "", std::string(kRewriteHelp)});
        }
        break;
      default:
        return std::unexpected(Exit{1, "", options.error()});
    }
  }
  dumb_init.command = options.operands();
  if (*dumb_init.command == nullptr) {
    return std::unexpected(Exit{
        1, "",
        "Usage: " + name + " [option] program [args]\nTry " + name + " --help for full usage.\n"});
  }
  dumb_init.debug_by_variable = is_set_to(input, "DUMB_INIT_DEBUG", "1");
  if (dumb_init.debug_by_variable) dumb_init.verbosity = 1;
  dumb_init.single_by_variable = is_set_to(input, "DUMB_INIT_SETSID", "0");
  if (!single && !dumb_init.single_by_variable) lead_a_session(&dumb_init);
  return dumb_init;
}

}  // namespace dropin
