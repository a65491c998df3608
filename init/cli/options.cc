#include "init/cli/options.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "base/constants/packed_texts.h"
#include "base/nearest.h"
#include "base/text.h"

namespace cli {
namespace {

constexpr const char* kReading = "reading the options";

constexpr std::string_view kVariablePrefix = "TRAINIT_";

std::string variable_of(std::string_view name) {
  std::string variable(kVariablePrefix);
  for (const char c : name) {
    variable += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return variable;
}

bool is_named(const Option& option, std::string_view flag) {
  const bool by_name = flag.starts_with("--") && is_called(option, flag.substr(2));
  return by_name || (flag.size() == 2 && flag[0] == '-' && flag[1] == option.letter);
}

std::optional<Option> find_option(std::string_view flag, Commands command) {
  for (const Option& option : option_table()) {
    if ((option.commands & command) != 0 && is_named(option, flag)) return option;
  }
  return std::nullopt;
}

std::string called(Commands command) { return concat({"trainit ", name_of(command)}); }

// Returns the commands that have the option `flag` ("trainit status, trainit stacks"), or "".
std::string owners_of(std::string_view flag) {
  Commands owners = 0;
  for (const Option& option : option_table()) {
    if (is_named(option, flag)) owners |= option.commands;
  }
  // An option of all jobs is listed as run's.
  if ((owners & kRun) != 0) owners = kRun;
  std::string text;
  for (Commands bit = 1; bit != 0 && bit <= owners; bit <<= 1U) {
    if ((owners & bit) != 0) text += (text.empty() ? "" : ", ") + called(bit);
  }
  return text;
}

// Names that options have in other tools, separated by blanks, and the name or the hint for them.
struct Elsewhere {
  std::string_view names;
  std::string_view here;
};
constexpr Elsewhere kElsewhere[] = {
    {"nproc-per-node np n npernode ppn ntasks ntasks-per-node gpus-per-node num-gpus device-num "
     "worker-num local-worker-num num-processes",
     "slots"},
    {"nnodes num-nodes num-machines N", "nodes"},
    {"machine-rank", "node-rank"},
    {"rdzv-endpoint main-process-ip", "master-addr"},
    {"main-process-port", "master-port"},
    {"hostfile machinefile host H", "hosts"},
    {"rank-table-file", "rank-table"},
    {"tee tag-output", "output"},
    {"bind-to cpu-bind", "bind"},
    {"stop-timeout grace-period", "grace"},
    {"stop-signal", "signal"},
    {"time active-deadline-seconds", "max-duration"},
    {"restart restart-policy backoff-limit", "max-restarts"},
    {"cap-add cap-drop", "caps"},
    {"security-opt", "seccomp"},
    {"ulimit", "rlimit"},
    {"u", "user"}};
constexpr Elsewhere kForeign[] = {
    {"rm it i t d e v w gpus entrypoint env env-file volume mount shm-size ipc network net name "
     "privileged memory cpus init workdir publish detach interactive tty",
     "put it before the image: it is an option of docker run"},
    {"standalone rdzv-backend rdzv-id rdzv-conf monitor-interval start-method role no-python "
     "run-path redirects local-ranks-filter local-addr",
     "leave it out, or put it behind torchrun in the command: it is an option of torchrun"},
    {"m module", "start a module by its interpreter: trainit -- python3 -m MODULE"},
    {"x", "leave it out: the job has all variables that trainit has"},
    {"mca map-by allow-run-as-root oversubscribe wdir",
     "leave it out, or put it behind mpirun in the command: it is an option of mpirun"},
    {"launcher no-ssh-check enable-each-rank-log",
     "leave it out, or put it behind deepspeed in the command: it is an option of that launcher"},
    {"deepspeed deepspeed-config", "put it behind the script: it is an option of the script"},
    {"multi-gpu mixed-precision",
     "put it behind `accelerate launch` in the command: it is an option of that launcher"},
    {"join cluster-time-out",
     "leave it out, or put it behind msrun in the command: it is an option of msrun"},
    {"gres job-name partition kill-on-bad-exit requeue exclusive cpus-per-task",
     "put it before trainit: it is an option of srun and sbatch"}};

// Tables without the addresses of their texts.
constexpr base::PackedTable<kElsewhere, &Elsewhere::names, &Elsewhere::here> kPackedElsewhere;
constexpr base::PackedTable<kForeign, &Elsewhere::names, &Elsewhere::here> kPackedForeign;

// Returns what a table has for `name`, in which '_' equals '-'; "" if it does not have it.
template <class Table>
std::string_view find_elsewhere(const Table& table, std::string_view name) {
  std::string wanted(name);
  std::ranges::replace(wanted, '_', '-');
  for (const Elsewhere& row : table.all()) {
    for (const std::string_view known : base::words_of(row.names)) {
      if (known == wanted) return row.here;
    }
  }
  return "";
}

base::Error unknown_option(const std::string& flag, const Options& options) {
  const std::string help = concat({"see ", called(options.command), " --help"});
  if (const std::string owners = owners_of(flag); !owners.empty()) {
    return {kReading, flag,
            concat({"an option of ", owners, ", which means nothing to ", called(options.command)}),
            concat({"leave it out, or ", help})};
  }
  const std::size_t dashes = std::min(flag.find_first_not_of('-'), flag.size());
  std::string typed = flag.substr(dashes);
  const bool takes_job = (options.command & kJob) != 0;
  const std::string_view foreign = foreign_option_hint(typed);
  if (takes_job && !foreign.empty()) {
    return {kReading, flag, "no option of trainit", std::string(foreign)};
  }
  WordList known;
  for (const Option& option : option_table()) {
    if ((option.commands & options.command) == 0) continue;
    known.push_back(option.name);
    if (!option.earlier.empty()) known.push_back(option.earlier);
  }
  const std::string_view here = name_here(typed);
  if (std::ranges::find(known, here) != known.end()) typed = here;
  const std::string_view guess = base::nearest(typed, known);
  std::string fix = help;
  if (!guess.empty()) {
    fix = concat({"did you mean --", guess, "? ", help});
  } else if (takes_job) {
    fix += "; put -- before a command that starts with a dash";
  }
  return {kReading, flag, "no such option", std::move(fix)};
}

// Adds a guess for `value`, or for the first part of a list, that is not one of the words.
std::string with_word_guess(std::string fix, const Option& option, std::string_view value) {
  const WordList words = option.kind().words();
  if (!option.kind().many) return with_guess(std::move(fix), value, words);
  for (const std::string_view part : base::split(value, ',')) {
    if (std::ranges::find(words, base::trimmed(part)) != words.end()) continue;
    return with_guess(std::move(fix), part, words);
  }
  return fix;
}

// Refuses two values of an option that was given by its name and by an earlier one. Neither is
// clearly the later one, as a wrapper script or an image may have added either.
base::Status check_earlier_name(const Option& option, const Options& options,
                                std::string_view value, const std::string& where) {
  const auto other = std::ranges::find_if(options.given, [&](const Given& one) {
    return one.name == option.name && one.layer == options.layers && one.where != where &&
           one.value != value;
  });
  if (other == options.given.end()) return {};
  return base::fail(
      kReading, where,
      concat({base::quoted(value), ", but ", other->where, " is ", base::quoted(other->value)}),
      concat({"give one of them: both are names of --", option.name}));
}

base::Status apply_option(const Option& option, Options& options, std::string_view value,
                          const std::string& where) {
  TRY(check_earlier_name(option, options, value, where));
  const bool again = std::ranges::any_of(options.given, [&](const Given& one) {
    return one.name == option.name && one.layer == options.layers;
  });
  if (const auto done = option.kind().set(options, value, again); !done) {
    std::string found = base::quoted(value);
    if (!done.error().empty()) found += ", where " + done.error();
    std::string fix = "give " + option.accepts();
    if (option.kind().words != nullptr) fix = with_word_guess(std::move(fix), option, value);
    return base::fail(kReading, where, std::move(found), std::move(fix));
  }
  options.given.push_back({option.name, where, std::string(value), options.layers});
  return {};
}

// Returns only trainit's variables, because each option searches them.
base::Environ own_part(const base::Environ& env) {
  std::vector<std::string> own;
  for (const std::string& entry : env.entries()) {
    if (entry.starts_with(kVariablePrefix)) own.push_back(entry);
  }
  return base::Environ(std::move(own));
}

base::Status apply_variables(const base::Environ& all, Options& options) {
  if (options.command == kCopy) return {};  // the variables are for a job's datasets
  const base::Environ env = own_part(all);
  if (env.entries().empty()) return {};
  for (const Option& option : option_table()) {
    if (!has_variable(option) || (option.commands & options.command) == 0) continue;
    for (const std::string& name : variable_names(option)) {
      const std::string_view value = env.get_or(name, "");
      if (!value.empty()) TRY(apply_option(option, options, value, name));
    }
  }
  return {};
}

// Applies the option at arguments[at] and moves `at` after it.
base::Status apply_argument(std::span<const std::string> arguments, std::size_t& at,
                            Options& options) {
  const std::string_view argument = arguments[at];
  const std::size_t equals = argument.find('=');
  const std::string name(argument.substr(0, equals));
  const std::optional<Option> option = find_option(name, options.command);
  if (!option) return std::unexpected(unknown_option(name, options));
  ++at;
  const bool is_letter = !name.starts_with("--");
  const std::string where = is_letter ? "--" + std::string(option->name) : name;
  if (equals != std::string_view::npos) {
    return apply_option(*option, options, argument.substr(equals + 1), where);
  }
  if (option->value.empty()) return apply_option(*option, options, "1", where);
  if (at == arguments.size()) {
    return base::fail(kReading, where, "no value", "give " + option->accepts());
  }
  return apply_option(*option, options, arguments[at++], where);
}

// Returns a warning for each variable whose name would be an option's with the prefix spelt right:
// TRANIT_SLOTS, trainit_slots.
std::vector<std::string> misspelt_prefixes(const base::Environ& env) {
  constexpr std::size_t kEdits = 1;  // TRAINER_ is two edits away, and another tool's
  constexpr std::string_view kRight = "trainit";
  std::vector<std::string> warnings;
  for (const std::string_view entry : env.entries()) {
    const std::string_view name = entry.substr(0, entry.find('='));
    const std::size_t end = name.find('_');
    if (end == std::string_view::npos || name.starts_with(kVariablePrefix)) continue;
    if (end + kEdits < kRight.size() || end > kRight.size() + kEdits) continue;
    const std::string prefix = base::lowercased(name.substr(0, end));
    if (base::edit_distance(prefix, kRight, kEdits) > kEdits) continue;
    const std::string typed = base::lowercased(name.substr(end + 1));
    for (const Option& option : option_table()) {
      if (!has_variable(option)) continue;
      for (const std::string& variable : variable_names(option)) {
        if (base::lowercased(variable.substr(kVariablePrefix.size())) != typed) continue;
        warnings.push_back(
            concat({"ignoring ", name, ": there is no such option; did you mean ", variable, "?"}));
      }
    }
  }
  return warnings;
}

}  // namespace

std::string Option::accepts() const {
  const OptionKind of = kind();
  std::string text(of.accepts);
  if (of.list != nullptr) text += of.list();
  if (of.words != nullptr) text += either(of.words());
  return text;
}

std::string_view name_here(std::string_view name) { return find_elsewhere(kPackedElsewhere, name); }

std::string_view foreign_option_hint(std::string_view name) {
  return find_elsewhere(kPackedForeign, name);
}

std::string variable_name(const Option& option) { return variable_of(option.name); }

bool is_called(const Option& option, std::string_view name) {
  return name == option.name || (!option.earlier.empty() && name == option.earlier);
}

std::vector<std::string> variable_names(const Option& option) {
  std::vector<std::string> names;
  if (!has_variable(option)) return names;
  if (!option.earlier.empty()) names.push_back(variable_of(option.earlier));
  names.push_back(variable_name(option));
  return names;
}

bool has_variable(const Option& option) { return !option.flag_only; }

std::vector<std::string> variable_warnings(const base::Environ& env) {
  // Variables without an option, which trainit sets for hooks and jobs and their child processes.
  constexpr std::string_view kEndedWith = "TRAINIT_EXIT_CODE";
  constexpr std::string_view kCopied = "TRAINIT_DATASET_";
  constexpr std::size_t kEditEvery = 4;
  const base::Environ own = own_part(env);
  std::vector<std::string> warnings = misspelt_prefixes(env);
  if (own.entries().empty()) return warnings;
  std::vector<std::string> names;
  for (const Option& option : option_table()) {
    std::ranges::move(variable_names(option), std::back_inserter(names));
  }
  const WordList known(names.begin(), names.end());
  for (const std::string_view entry : own.entries()) {
    const std::string_view name = entry.substr(0, entry.find('='));
    const bool is_option = std::ranges::find(known, name) != known.end();
    if (std::string link = ignored_link(own, name); !link.empty()) {
      if (is_option) warnings.push_back(std::move(link));
      continue;
    }
    const bool is_set = entry.size() > name.size() + 1;
    const bool is_ours = name == kEndedWith || name.starts_with(kCopied);
    if (!is_set || is_ours || is_option) continue;
    const std::size_t length = name.size() - kVariablePrefix.size();
    const std::string_view guess =
        base::nearest_within(name, known, std::clamp<std::size_t>(length / kEditEvery, 1, 2));
    if (guess.empty()) continue;
    warnings.push_back(
        concat({"ignoring ", name, ": there is no such option; did you mean ", guess, "?"}));
  }
  return warnings;
}

base::Status parse_arguments(std::span<const std::string> arguments, Options& options) {
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

const Given* find_given(const Options& options, std::string_view name) {
  const auto found = std::find_if(options.given.rbegin(), options.given.rend(),
                                  [name](const Given& one) { return one.name == name; });
  return found == options.given.rend() ? nullptr : &*found;
}

base::Result<Options> parse_options(std::span<const std::string> arguments,
                                    const base::Environ& env, Commands command) {
  Options options;
  options.command = command;
  TRY(apply_variables(env, options));
  TRY(parse_arguments(arguments, options));
  return options;
}

}  // namespace cli
