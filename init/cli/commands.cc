#include "init/cli/commands.h"

#include <unistd.h>

#include <algorithm>

#include "base/constants/words.h"
#include "base/text.h"
#include "init/cli/help.h"
#include "init/dropin/dropin.h"
#include "init/sys/fd.h"

namespace cli {
namespace {

constexpr const char* kReading = "reading the command line";

envgen::Environ environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return envgen::Environ(std::move(entries));
}

bool is_help(std::string_view word) { return word == "--help" || word == "-h"; }

// Whether this names a command that is not run.
bool is_tool(std::string_view word) {
  static constexpr auto kOthers =
      envgen::words("help", "--help", "-h", "version", "--version", "-V");
  return std::ranges::find(kOthers, word) != std::end(kOthers) ||
         std::ranges::find(command_table(), word, first_word) != command_table().end();
}

// Neither a command nor one of its --help.
int refuse_verb(std::string_view word, Arguments rest) {
  WordList verbs;
  for (const Command& command : command_table()) {
    if (first_word(command) == word) verbs.push_back(second_word(command));
  }
  return complain({kReading, "trainit " + std::string(word),
                   rest.empty() ? "no action" : envgen::quoted(rest[0]),
                   with_guess("use " + either(verbs), rest.empty() ? "" : rest[0], verbs)});
}

int call_command(const Command& command, Arguments arguments, const envgen::Environ& env) {
  auto options = parse_options(arguments, env, command.bit);
  if (!options) return complain(options.error());
  if (options->help) return print(command_help(first_word(command)));
  if (options->version) return print(version());
  if (!command.operands && !options->operands.empty()) {
    return complain({kReading, options->operands[0], "an argument that is no option",
                     "see trainit " + std::string(command.name) + " --help"});
  }
  if ((command.bit & kJob) != 0) {
    for (const std::string& warning : variable_warnings(env)) warn(warning);
  }
  Call call{.arguments = arguments, .env = env, .options = std::move(*options)};
  return command.run(call);
}

}  // namespace

int run_tool(Arguments arguments, const envgen::Environ& env) {
  const std::string_view first = arguments[0];
  if (is_help(first)) return print(usage());
  if (first == "version" || first == "--version" || first == "-V") return print(version());
  const Arguments rest = arguments.subspan(1);
  if (first == "help") return help_command(rest);
  for (const Command& command : command_table()) {
    if (command.name == first) return call_command(command, rest, env);
    if (first_word(command) != first) continue;
    if (!rest.empty() && is_help(rest[0])) return print(command_help(first));
    if (!rest.empty() && second_word(command) == rest[0]) {
      return call_command(command, rest.subspan(1), env);
    }
  }
  return refuse_verb(first, rest);
}

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
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  const envgen::Environ env = environment();
  const std::string_view first = arguments.empty() ? std::string_view() : arguments[0];
  const bool runs = first == "run";
  if (runs && arguments.size() > 1 && is_help(arguments[1])) return print(command_help(first));
  if (runs || !is_tool(first)) {
    return run_command(Arguments(arguments).subspan(runs ? 1 : 0), env, saved, early);
  }
  proc::restore_signals(saved);
  return run_tool(arguments, env);
}

}  // namespace cli
