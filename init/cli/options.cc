#include "init/cli/options.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace cli {
namespace {

constexpr const char* kReading = "reading the options";

// Commands beside a job may be given the options of that job, which mean nothing to them.
constexpr Commands kBesideJob = kInstance | kCache;

const Option* find_option(std::string_view flag, Commands command) {
  for (const Option& option : option_table()) {
    if ((option.commands & command) == 0) continue;
    const bool by_name = flag.starts_with("--") && flag.substr(2) == option.name;
    const bool by_letter = flag.size() == 2 && flag[0] == '-' && flag[1] == option.letter;
    if (by_name || by_letter) return &option;
  }
  return (command & kBesideJob) != 0 ? find_option(flag, kRun) : nullptr;
}

envgen::Status apply_option(const Option& option, Options& options, std::string_view value,
                            const std::string& where) {
  const bool again = std::ranges::any_of(options.given, [&](const Given& one) {
    return one.name == option.name && one.layer == options.layers;
  });
  if (const auto done = option.set(options, value, again); !done) {
    std::string found = envgen::quoted(value);
    if (!done.error().empty()) found += ", where " + done.error();
    return envgen::fail(kReading, where, std::move(found), "give " + option.accepts());
  }
  options.given.push_back({option.name, where, std::string(value), options.layers});
  return {};
}

envgen::Status apply_variables(const envgen::Environ& env, Options& options) {
  if (options.command == kCopy) return {};  // they are of a job's datasets
  for (const Option& option : option_table()) {
    if (!has_variable(option) || (option.commands & options.command) == 0) continue;
    std::string name = variable_name(option);
    std::string_view value = env.get_or(name, "");
    if (value.empty()) continue;
    TRY(apply_option(option, options, value, name));
  }
  return {};
}

// One option at arguments[at]; moves `at` behind it.
envgen::Status apply_argument(std::span<const std::string> arguments, std::size_t& at,
                              Options& options) {
  const std::string_view argument = arguments[at];
  const std::size_t equals = argument.find('=');
  const std::string name(argument.substr(0, equals));
  const Option* option = find_option(name, options.command);
  if (option == nullptr) {
    return envgen::fail(
        kReading, name, "no such option",
        (options.command & kJob) == 0
            ? "see trainit " + std::string(options.name) + " --help"
            : "see trainit --help; put -- before a command that starts with a dash");
  }
  ++at;
  const std::string where = "--" + std::string(option->name);
  if (equals != std::string_view::npos) {
    return apply_option(*option, options, argument.substr(equals + 1), where);
  }
  if (option->value.empty()) return apply_option(*option, options, "1", where);
  if (at == arguments.size()) {
    return envgen::fail(kReading, where, "no value", "give " + option->accepts());
  }
  return apply_option(*option, options, arguments[at++], where);
}

}  // namespace

std::string Option::accepts() const {
  return std::string(kind) + (list != nullptr ? list() : std::string());
}

std::string variable_name(const Option& option) {
  std::string name = "TRAINIT_";
  for (char c : option.name) {
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

bool has_variable(const Option& option) { return !option.flag_only; }

envgen::Status parse_arguments(std::span<const std::string> arguments, Options& options) {
  ++options.layers;
  const bool takes_job = (options.command & kJob) != 0;
  std::size_t at = 0;
  while (at < arguments.size() && arguments[at] != "--") {
    if (arguments[at].starts_with('-') && arguments[at] != "-") {
      TRY(apply_argument(arguments, at, options));
    } else if (takes_job) {
      break;
    } else {
      options.operands.push_back(arguments[at++]);
    }
  }
  if (at < arguments.size() && arguments[at] == "--") ++at;
  const auto rest = arguments.subspan(at);
  if (!takes_job) {
    options.operands.insert(options.operands.end(), rest.begin(), rest.end());
  } else if (!rest.empty()) {
    options.request.command.assign(rest.begin(), rest.end());
  }
  return {};
}

envgen::Result<Options> parse_options(std::span<const std::string> arguments,
                                      const envgen::Environ& env, Commands command,
                                      std::string_view name) {
  Options options;
  options.command = command;
  options.name = name;
  TRY(apply_variables(env, options));
  TRY(parse_arguments(arguments, options));
  return options;
}

std::string option_help(Commands commands, Commands but) {
  constexpr std::size_t kColumn = 33;
  std::string text;
  for (const Option& option : option_table()) {
    if ((option.commands & commands) == 0 || (option.commands & but) != 0) continue;
    std::string flag = "  --" + std::string(option.name);
    if (!option.value.empty()) flag += " " + std::string(option.value);
    if (flag.size() < kColumn) flag.append(kColumn - flag.size(), ' ');
    text += flag + std::string(option.help) + "\n";
  }
  return text;
}

}  // namespace cli
