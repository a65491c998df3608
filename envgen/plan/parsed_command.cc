#include "envgen/plan/parsed_command.h"

#include <algorithm>
#include <array>

#include "base/constants/words.h"
#include "envgen/plan/command.h"
#include "envgen/plan/shell_text.h"

namespace envgen {
namespace {

using Words = std::span<const std::string>;
using ComesTo = ParsedCommand::ComesTo;

constexpr int kMostDepth = 6;  // of shells and programs inside of each other

// torchrun's like: what it reads is the same in all that grew from it.
constexpr Launcher kUnknownLauncher = {.program = "",
                                       .module = "",
                                       .argument = "",
                                       .framework = "pytorch",
                                       .reads = LauncherReads::kPet};

bool is_one_of(std::string_view word, const auto& words) {
  return std::ranges::find(words, word) != words.end();
}

// --- Python ---

bool is_python(std::string_view program) {
  constexpr std::string_view kPython = "python";
  if (!program.starts_with(kPython)) return false;
  program.remove_prefix(kPython.size());
  return program.find_first_not_of("0123456789.") == std::string_view::npos;
}

struct Operand {
  std::size_t at = 0;        // the word that it is in
  std::size_t attached = 0;  // where in that word it begins, behind its option: "-mpdb"
  char letter = '\0';        // 'm' or 'c'; of a script, none
  std::string letters = {};  // of the options before it
};

// Letters stand in one word up to one that takes a value, which is the rest of the word, or the
// next one.
std::optional<Operand> find_operand(Words command) {
  if (command.empty() || !is_python(base_name(command[0]))) return std::nullopt;
  Operand operand;
  std::size_t at = 1;
  for (; at < command.size() && command[at].starts_with('-') && command[at] != "-"; ++at) {
    const std::string& option = command[at];
    if (option == "--") {
      ++at;
      break;
    }
    if (option == "--check-hash-based-pycs") ++at;
    if (option.starts_with("--")) continue;
    const std::size_t valued = option.find_first_of("mcWX");
    operand.letters += option.substr(1, valued - 1);
    if (valued == std::string::npos) continue;
    const char letter = option[valued];
    const bool last = valued + 1 == option.size();
    if (letter == 'm' || letter == 'c') {
      operand.letter = letter;
      if (!last) operand.attached = valued + 1;
      if (last) ++at;
      break;
    }
    operand.letters += letter;
    if (last) ++at;
  }
  if (at >= command.size()) return std::nullopt;
  operand.at = at;
  return operand;
}

// --- Launchers ---

struct Direct {
  Launcher launcher;
  std::string_view name;
  std::size_t arguments = 0;  // where its own begin
};

// "torchrun", "/opt/bin/torchrun", "python -m torch.distributed.run", "python /opt/bin/torchrun".
std::optional<Direct> launcher_of_words(Words command) {
  if (command.empty()) return std::nullopt;
  std::string_view name = base_name(command[0]);
  std::size_t arguments = 1;
  std::optional<Launcher> launcher = launcher_of_program(name);
  if (const auto python = launcher ? std::nullopt : find_operand(command)) {
    if (python->letter == 'c') return std::nullopt;
    name = std::string_view(command[python->at]).substr(python->attached);
    if (python->letter == '\0') name = base_name(name);
    launcher = python->letter == 'm' ? launcher_of_module(name) : launcher_of_program(name);
    arguments = python->at + 1;
  }
  if (!launcher) return std::nullopt;
  std::string_view first;
  if (arguments < command.size()) first = command[arguments];
  if (!launcher->argument.empty() && launcher->argument != first) return std::nullopt;
  return Direct{*launcher, name, arguments};
}

bool ends_like_a_file(std::string_view word) {
  static constexpr auto kEndings = words(".py", ".yaml", ".yml", ".json");
  return std::ranges::any_of(kEndings, [word](auto end) { return word.ends_with(end); });
}

// Only who starts a node's ranks asks for their number.
bool is_told_ranks(Words arguments) {
  return std::ranges::any_of(arguments, [](std::string_view word) {
    const std::string_view name = word.substr(0, word.find('='));
    return name == "--nproc_per_node" || name == "--nproc-per-node";
  });
}

// Whether what stands behind a launcher's name is what launchers are told: `pip install deepspeed`
// only names one.
bool starts_something(const Direct& direct, Words command) {
  const Words arguments = command.subspan(direct.arguments);
  if (arguments.empty()) return false;
  // `python -m` says that it is started.
  if (!direct.launcher.argument.empty() || direct.arguments > 1) return true;
  if (direct.launcher.framework == "mpi" || direct.launcher.framework == "horovod") {
    return arguments[0].starts_with('-') || arguments[0].contains('/') ||
           find_operand(arguments).has_value();
  }
  static constexpr auto kOfScripts = words("-m", "--module", "--no-python", "--no_python");
  return is_told_ranks(arguments) || std::ranges::any_of(arguments, [](const std::string& word) {
           return ends_like_a_file(word) || is_one_of(word, kOfScripts) || is_shell(word);
         });
}

// `--backend deepspeed`: a value, unless what follows is a launcher's.
bool is_value(std::string_view before, const Direct& direct, Words command) {
  if (!before.starts_with("--") || before == "--" || before.contains('=')) return false;
  if (direct.arguments >= command.size()) return true;
  static constexpr auto kOwn = words("--n", "-n", "--m", "-m", "--standalone", "--rdzv");
  const std::string& next = command[direct.arguments];
  return std::ranges::none_of(kOwn, [&next](auto own) { return next.starts_with(own); });
}

// --- What stands before a launcher ---

// Their arguments are a command, so that a launcher's name among them needs nothing behind it.
constexpr auto kWrappers =
    words("env", "nohup", "nice", "timeout", "numactl", "taskset", "stdbuf", "ionice", "chrt",
          "setsid", "time", "exec", "command", "sudo", "gosu", "su-exec", "tini", "setpriv",
          "prlimit", "unshare", "dumb-init", "catchsegv", "unbuffer");
// They also install what they name.
constexpr auto kManagers = words("conda", "mamba", "micromamba", "poetry", "pixi", "uv");
// They print their arguments, or look for them.
constexpr auto kPrinters = words("echo", "printf", "which", "type");
// Words of a shell behind which a command stands.
constexpr auto kReserved = words("if", "then", "else", "elif", "while", "do", "until", "!", "{");

bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == 0 || equals == std::string_view::npos) return false;
  return word.substr(0, equals).find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
         std::string_view::npos;
}

// `conda run -n deepspeed`: a name that the user gave to an environment.
bool names_environment(std::string_view wrapper, std::string_view option) {
  static constexpr auto kNaming = words("-n", "--name", "-p", "--prefix", "-e", "--environment",
                                        "--with", "--extra", "--group", "--project");
  return is_one_of(wrapper, kManagers) && is_one_of(option, kNaming);
}

// `uv run -m pkg.train`: a module's name, where numactl's -m has a number.
bool names_module(Words command, std::size_t at) {
  if (command[at] != "-m" && command[at] != "--module") return false;
  if (at + 1 >= command.size() || command[at + 1].empty()) return false;
  const char first = command[at + 1][0];
  return first == '_' || (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
}

ComesTo found(const Direct& direct) { return {direct.launcher, std::string(direct.name)}; }

ComesTo unwrap(Words command, int depth);  // NOLINT(misc-no-recursion): by kMostDepth

ComesTo in_text(std::string_view text, int depth) {  // NOLINT(misc-no-recursion)
  ComesTo first;
  for (const std::vector<std::string>& one : simple_commands(text)) {
    ComesTo inner = unwrap(one, depth - 1);
    if (inner.launcher) return inner;
    if (first.script.empty()) first.script = std::move(inner.script);
  }
  return first;
}

// `msprof --application="torchrun x.py"`, `script -c "torchrun x.py"`: a text that begins with a
// launcher.
ComesTo in_quotes(std::string_view word) {
  if (word.starts_with("--")) word.remove_prefix(std::min(word.find('=') + 1, word.size()));
  if (!word.contains(' ')) return {};
  for (const std::vector<std::string>& one : simple_commands(word)) {
    const auto direct = launcher_of_words(one);
    if (direct && starts_something(*direct, one)) return found(*direct);
  }
  return {};
}

// The first word that is known counts. Options may take values, so that none is skipped.
ComesTo behind_program(Words command, int depth) {  // NOLINT(misc-no-recursion)
  const std::string_view program = base_name(command[0]);
  const bool wrapper = is_one_of(program, kWrappers);
  if (is_one_of(program, kPrinters)) return {};
  // `command -v torchrun` asks where it is.
  static constexpr auto kAsking = words("-v", "-V");
  if (program == "command" && command.size() > 1 && is_one_of(command[1], kAsking)) return {};
  ComesTo result;
  for (std::size_t i = 1; i < command.size(); ++i) {
    if (names_environment(program, command[i - 1])) continue;
    const Words rest = command.subspan(i);
    const std::string_view name = base_name(command[i]);
    if (const auto direct = launcher_of_words(rest)) {
      const bool starts = wrapper || starts_something(*direct, rest);
      if (starts && !is_value(command[i - 1], *direct, rest)) return found(*direct);
      if (result.doubt.empty()) result.doubt = direct->name;
      continue;
    }
    const bool known = is_shell(name) || is_one_of(name, kWrappers) || is_one_of(name, kManagers) ||
                       name.ends_with(".sh");
    if (known || find_operand(rest)) {
      ComesTo inner = unwrap(rest, depth - 1);
      inner.wraps_python = inner.wraps_python || find_operand(rest).has_value();
      if (inner.doubt.empty()) inner.doubt = std::move(result.doubt);
      return inner;
    }
    if (ComesTo quoted = in_quotes(command[i]); quoted.launcher) return quoted;
    if (name.ends_with(".py") || names_module(command, i)) {
      result.wraps_python = true;
      // The rest is the program's own.
      if (is_told_ranks(command.subspan(1, i))) break;
      return result;
    }
  }
  if (is_told_ranks(command.subspan(1))) return {kUnknownLauncher, std::string(program)};
  return result;
}

// `python -m cProfile -m torch.distributed.run`, `python -m debugpy /opt/bin/torchrun x.py`: a
// module that starts another program is told its module or its file.
ComesTo behind_python(Words command, const Operand& python) {
  const Words arguments = command.subspan(python.at + 1);
  const std::string_view operand = std::string_view(command[python.at]).substr(python.attached);
  const bool told_ranks = is_told_ranks(arguments);
  if (python.letter != 'm') {
    const bool script = python.letter == '\0';
    return {.doubt = script && told_ranks ? std::string(operand) : ""};
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (names_module(arguments, i)) {
      const auto launcher = launcher_of_module(arguments[i + 1]);
      if (launcher) return {launcher, arguments[i + 1]};
    }
    const auto direct = launcher_of_words(arguments.subspan(i));
    if (direct && word.contains('/') && starts_something(*direct, arguments.subspan(i))) {
      return found(*direct);
    }
  }
  if (told_ranks) return {kUnknownLauncher, std::string(operand)};
  const bool called_so = operand.ends_with(".launch") || operand.ends_with(".launcher");
  return {.doubt = called_so ? std::string(operand) : ""};
}

ComesTo unwrap(Words command, int depth) {  // NOLINT(misc-no-recursion)
  while (!command.empty() && (is_assignment(command[0]) || is_one_of(command[0], kReserved))) {
    command = command.subspan(1);
  }
  if (command.empty() || depth == 0) return {};
  const std::string_view name = base_name(command[0]);
  if (name == "eval") {
    std::string text;
    for (const std::string& word : command.subspan(1)) text += word + " ";
    return in_text(text, depth);
  }
  if (const auto direct = launcher_of_words(command)) return found(*direct);
  if (is_shell(name)) {
    const ShellOperand operand = operand_of_shell(command);
    if (operand.text.empty()) return {.script = std::string(operand.script)};
    return in_text(operand.text, depth);
  }
  if (name.ends_with(".sh")) return {.script = command[0]};
  if (const auto python = find_operand(command)) return behind_python(command, *python);
  return behind_program(command, depth);
}

}  // namespace

ParsedCommand::ParsedCommand(std::vector<std::string> words) : words_(std::move(words)) {
  if (const auto python = find_operand(words_)) {
    attached_ = python->attached > 0;
    if (attached_) {
      const auto word = words_.begin() + static_cast<std::ptrdiff_t>(python->at);
      std::string operand = word->substr(python->attached);
      word->resize(python->attached);
      words_.insert(word + 1, std::move(operand));
    }
    python_ = PythonCommand{.operand = python->at + (attached_ ? 1 : 0),
                            .module = python->letter == 'm',
                            .text = python->letter == 'c',
                            .letters = python->letters};
  }
  if (const auto direct = launcher_of_words(words_)) arguments_ = direct->arguments;
  comes_to_ = unwrap(words_, kMostDepth);
  if (!words_.empty() && words_[0].ends_with(".py")) comes_to_.wraps_python = true;
}

std::vector<std::string> ParsedCommand::typed() const {
  std::vector<std::string> words = words_;
  if (!attached_) return words;
  const auto operand = words.begin() + static_cast<std::ptrdiff_t>(python_->operand);
  *(operand - 1) += *operand;
  words.erase(operand);
  return words;
}

}  // namespace envgen
