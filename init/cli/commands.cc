#include "init/cli/commands.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/constants/words.h"
#include "base/text.h"
#include "init/cli/help.h"
#include "init/cli/values/values.h"
#include "init/dropin/dropin.h"
#include "init/proc/spawn.h"
#include "init/sandbox/give_up.h"
#include "init/sys/fd.h"

namespace cli {
namespace {

constexpr const char* kReading = "reading the command line";

base::Environ environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return base::Environ(std::move(entries));
}

bool is_help(std::string_view word) { return word == "--help" || word == "-h"; }

// Returns true if `word` is the name of a command other than run.
bool is_tool(std::string_view word) {
  static constexpr auto kOthers = base::words("help", "--help", "-h", "version", "--version", "-V");
  return std::ranges::find(kOthers, word) != std::end(kOthers) ||
         std::ranges::find(command_table(), word, first_word) != command_table().end();
}

// Reports a first word without a valid second word, which is neither a command nor --help.
int refuse_verb(std::string_view word, Arguments rest) {
  WordList verbs;
  for (const Command& command : command_table()) {
    if (first_word(command) == word) verbs.push_back(second_word(command));
  }
  return complain({kReading, "trainit " + std::string(word),
                   rest.empty() ? "no action" : base::quoted(rest[0]),
                   with_guess("use " + either(verbs), rest.empty() ? "" : rest[0], verbs)});
}

int call_command(const Command& command, Arguments arguments, const base::Environ& env) {
  ImageTrust trust;
  auto options = take_options(arguments, env, command.bit, trust);
  if (!options) return complain(options.error());
  if (options->help) return print_as_is(command_help(first_word(command)));
  if (options->version) return print_as_is(version());
  if (!command.operands && !options->operands.empty()) {
    return complain({kReading, options->operands[0], "an argument that is no option",
                     "see trainit " + std::string(command.name) + " --help"});
  }
  if ((command.bit & kJob) != 0) {
    for (const std::string& warning : variable_warnings(env)) warn(warning);
  }
  for (const std::string& line : trust.lines) warn(line);
  Call call{.arguments = arguments, .env = env, .options = std::move(*options)};
  return command.run(call);
}

}  // namespace

base::Result<Options> take_options(Arguments arguments, const base::Environ& env, Commands command,
                                   ImageTrust& trust) {
  Options flags;
  flags.command = command;
  const base::Status parsed = parse_arguments(arguments, flags);
  const bool by_variable = parse_switch(env.get_or("TRAINIT_UNTRUSTED_IMAGE", "")).value_or(false);
  trust.untrusted = (command & kJob) != 0 && (flags.untrusted_image || by_variable);
  if (!parsed) {  // the option may be after the error
    trust.untrusted |= std::ranges::find(arguments, "--untrusted-image") != arguments.end();
    return std::unexpected(parsed.error());
  }
  if (!trust.untrusted || flags.help || flags.version) {
    return parse_options(arguments, env, command);
  }
  const envgen::SandboxRequest& rights = flags.request.sandbox;
  TRY_ASSIGN(const std::string lost, sandbox::give_up_rights(rights, [](const auto& who) {
               const bool pid1 = ::getpid() == 1;
               if (!pid1) proc::write_terminals_only();  // the job's user may lack access
               proc::give_standard_fds(who, pid1);
             }));
  if (!lost.empty()) trust.lines.push_back(lost);
  TRY_ASSIGN(auto options, parse_options(arguments, env, command));
  for (const std::string_view name : {"user", "caps", "ambient"}) {
    const Given* given = find_given(options, name);
    if (given == nullptr || given->layer > 0) continue;
    trust.lines.push_back(
        base::concat({"ignoring ", given->where, ": with --untrusted-image, trainit reads --", name,
                      " from the command line only"}));
  }
  envgen::SandboxRequest& left = options.request.sandbox;  // the steps that are left for a child
  left.user = rights.user;
  left.caps.clear();
  left.ambient = rights.ambient;
  left.settings.no_new_privs = left.settings.given_up = true;
  return options;
}

int run_tool(Arguments arguments, const base::Environ& env) {
  const std::string_view first = arguments[0];
  if (is_help(first)) return print_as_is(usage());
  if (first == "version" || first == "--version" || first == "-V") return print_as_is(version());
  const Arguments rest = arguments.subspan(1);
  if (first == "help") return help_command(rest);
  for (const Command& command : command_table()) {
    if (command.name == first) return call_command(command, rest, env);
    if (first_word(command) != first) continue;
    if (!rest.empty() && is_help(rest[0])) return print_as_is(command_help(first));
    if (!rest.empty() && second_word(command) == rest[0]) {
      return call_command(command, rest.subspan(1), env);
    }
  }
  return refuse_verb(first, rest);
}

int main(int argc, char** argv, const early::Handover& early) {
  // Take the signals over before any slow step, so that run gets each signal from now on.
  proc::SavedSignals saved = proc::take_over_signals();
  if (early.blocked) saved.mask = early.mask;
  if (const auto program = dropin::program_of(argc > 0 ? argv[0] : "")) {
    return dropin::run(
        *program, argc, argv, saved,
        {.command = early.started, .received = early.received ? &early.signal : nullptr});
  }
  sys::ensure_standard_fds();
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  const base::Environ env = environment();
  const std::string_view first = arguments.empty() ? std::string_view() : arguments[0];
  const bool runs = first == "run";
  if (runs && arguments.size() > 1 && is_help(arguments[1]))
    return print_as_is(command_help(first));
  if (runs || !is_tool(first)) {
    return run_command(Arguments(arguments).subspan(runs ? 1 : 0), env, saved, early);
  }
  proc::restore_signals(saved);
  return run_tool(arguments, env);
}

}  // namespace cli
