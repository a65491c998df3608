#include "envgen/plan/parsed_command.h"

#include <algorithm>
#include <array>

#include "base/constants/words.h"
#include "base/text.h"
#include "envgen/plan/command.h"
#include "envgen/plan/shell_text.h"

namespace envgen {
namespace {

using Words = std::span<const std::string>;
using ComesTo = ParsedCommand::ComesTo;

constexpr int kMaxDepth = 6;  // maximum nesting of shells and programs

// The description of a launcher that is not in the table. It is treated like torchrun, because
// programs that are derived from torchrun read the same variables.
constexpr Launcher kUnknownLauncher = {.program = "",
                                       .module = "",
                                       .argument = "",
                                       .framework = "pytorch",
                                       .reads = LauncherReads::kPet};

bool is_one_of(std::string_view word, const auto& words) {
  return std::ranges::find(words, word) != words.end();
}

// The following functions find the Python program.

struct Operand {
  std::size_t at = 0;        // index of its word
  std::size_t attached = 0;  // offset in that word, if it is in its option's word: "-mpdb"
  char letter = '\0';        // 'm' or 'c' for -m or -c; NUL for a script
  std::string letters = {};  // letters of the options before it
};

// Finds the script, or the name after -m or -c. A word may contain several option letters. The
// first letter that takes a value is the last letter: its value is the rest of the word, or the
// next word.
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

// The following functions find launchers.

struct Direct {
  Launcher launcher;
  std::string_view name;
  std::size_t arguments = 0;  // index of its first own argument
};

// Recognises a launcher at the beginning: "torchrun", "/opt/bin/torchrun",
// "python -m torch.distributed.run", "python /opt/bin/torchrun".
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
  static constexpr auto kAsking = base::words("--version", "-V", "--help", "-h", "env");
  if (arguments + 1 == command.size() && is_one_of(first, kAsking)) return std::nullopt;
  if (!launcher->argument.empty() && launcher->argument != first) return std::nullopt;
  return Direct{*launcher, name, arguments};
}

bool ends_in(std::string_view word, const auto& endings) {
  return !word.contains(' ') &&
         std::ranges::any_of(endings, [word](auto end) { return word.ends_with(end); });
}

// Returns whether --nproc_per_node is among the arguments. Only a launcher of a node's ranks has
// it.
bool is_told_ranks(Words arguments) {
  return std::ranges::any_of(arguments, [](std::string_view word) {
    const std::string_view name = word.substr(0, word.find('='));
    return name == "--nproc_per_node" || name == "--nproc-per-node";
  });
}

bool is_mpi(const Direct& direct) {
  return direct.launcher.framework == "mpi" || direct.launcher.framework == "horovod";
}

// Returns whether the launcher's name is only a word before a Python program:
// `gosu ds python train.py`.
bool names_only(const Direct& direct, Words command) {
  if (is_mpi(direct) || direct.arguments > 1) return false;
  const Words arguments = command.subspan(direct.arguments);
  const auto operand = std::ranges::find_if(
      arguments, [](const std::string& word) { return !word.starts_with('-'); });
  return find_operand(arguments.subspan(static_cast<std::size_t>(operand - arguments.begin())))
      .has_value();
}

// The evidence that a launcher is started, which the words after its name must contain.
enum class Evidence : unsigned char {
  kFile,   // a script, a module, a configuration
  kRanks,  // a number of ranks; needed in a shell's text, where most programs only name other ones
};

// Returns whether the launcher is started and not only named, as in `pip install deepspeed` or `-o
// /out/megatron python train.py`.
bool starts_something(const Direct& direct, Words command, Evidence needed) {
  if (direct.arguments > 1) return true;  // named by `python -m`, which always starts it
  const Words arguments = command.subspan(direct.arguments);
  if (names_only(direct, command)) return false;
  if (is_told_ranks(arguments)) return true;
  if (is_mpi(direct)) {
    static constexpr auto kRanks = base::words("-np", "-n", "--np", "-c", "-ppn");
    if (!arguments.empty() && is_one_of(arguments[0], kRanks)) return true;
    return needed == Evidence::kFile && !arguments.empty() &&
           (arguments[0].starts_with('-') || arguments[0].contains('/') ||
            find_operand(arguments).has_value());
  }
  if (needed == Evidence::kRanks) return false;
  if (!direct.launcher.argument.empty()) return true;
  static constexpr auto kFiles = base::words(".py", ".yaml", ".yml", ".json");
  static constexpr auto kOfScripts = base::words("-m", "--module", "--no-python", "--no_python");
  return std::ranges::any_of(arguments, [](const std::string& word) {
    return ends_in(word, kFiles) || is_one_of(word, kOfScripts) || is_shell(word);
  });
}

// Returns whether the launcher's name is only the value of an option, as in `--backend deepspeed`.
// If an argument of the launcher follows, the name is no value.
bool is_value(std::string_view before, const Direct& direct, Words command) {
  if (!before.starts_with("--") || before == "--" || before.contains('=')) return false;
  if (direct.arguments >= command.size()) return true;
  static constexpr auto kOwn = base::words("--n", "-n", "--m", "-m", "--standalone", "--rdzv");
  const std::string& next = command[direct.arguments];
  return std::ranges::none_of(kOwn, [&next](auto own) { return next.starts_with(own); });
}

// The following functions find launchers after other programs.

// Programs whose arguments are a command. A launcher's name among them needs no further evidence.
constexpr auto kWrappers =
    base::words("env", "nohup", "nice", "timeout", "numactl", "taskset", "stdbuf", "ionice", "chrt",
                "setsid", "time", "exec", "command", "sudo", "gosu", "su-exec", "tini", "setpriv",
                "prlimit", "unshare", "dumb-init", "catchsegv", "unbuffer");
// Programs that also install packages by name.
constexpr auto kManagers = base::words("conda", "mamba", "micromamba", "poetry", "pixi", "uv");
// Programs that start no other one: they print their arguments, or read a file in the same shell.
constexpr auto kNoStarters = base::words("echo", "printf", "which", "type", "source", ".");
// Reserved words of a shell before a command.
constexpr auto kReserved =
    base::words("if", "then", "else", "elif", "while", "do", "until", "!", "{");

// Returns whether the option's value is a name that the user gave to an environment:
// `conda run -n deepspeed`.
bool names_environment(std::string_view wrapper, std::string_view option) {
  static constexpr auto kNaming =
      base::words("-n", "--name", "-p", "--prefix", "-e", "--environment", "--with", "--extra",
                  "--group", "--project");
  return is_one_of(wrapper, kManagers) && is_one_of(option, kNaming);
}

// Returns whether -m is followed by a module's name, as in `uv run -m pkg.train`. A number follows
// numactl's -m.
bool names_module(Words command, std::size_t at) {
  if (command[at] != "-m" && command[at] != "--module") return false;
  if (at + 1 >= command.size() || command[at + 1].empty()) return false;
  const char first = command[at + 1][0];
  return first == '_' || (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
}

ComesTo found(const Direct& direct) { return {direct.launcher, std::string(direct.name)}; }

// NOLINTNEXTLINE(misc-no-recursion): by kMaxDepth
ComesTo unwrap(Words command, int depth, Evidence needed);

ComesTo in_text(std::string_view text, int depth) {  // NOLINT(misc-no-recursion)
  ComesTo first;
  for (const std::vector<std::string>& one : simple_commands(text)) {
    ComesTo inner = unwrap(one, depth - 1, Evidence::kRanks);
    if (inner.launcher) return inner;
    if (first.script.empty()) first.script = std::move(inner.script);
    if (first.doubt.empty()) first.doubt = std::move(inner.doubt);
    if (first.inner.empty()) first.inner = std::move(inner.inner);
  }
  return first;
}

// Finds a launcher in a quoted text that begins with it: `msprof --application="torchrun x.py"`,
// `script -c "torchrun x.py"`.
ComesTo in_quotes(std::string_view word) {
  if (word.starts_with("--")) word.remove_prefix(std::min(word.find('=') + 1, word.size()));
  if (!word.contains(' ')) return {};
  for (const std::vector<std::string>& one : simple_commands(word)) {
    const auto direct = launcher_of_words(one);
    if (direct && starts_something(*direct, one, Evidence::kFile)) return found(*direct);
  }
  return {};
}

// Returns whether the option has a text as its value: `su - user -c TEXT`, `script -qc TEXT`.
bool is_text_option(std::string_view word) {
  return word.size() > 1 && word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
}

struct CommandWords {
  std::size_t count = 0;  // number of words up to the script, module or text; 0: no command
  bool sure = false;      // false: the words may also be arguments
};

// Returns whether the words are a command with a script, a module or a text to run. A name alone is
// an argument: `translate.py python java`. After an option, which may have the first word as its
// value, only a script shows a command: `eval.py --lang python -c x`
CommandWords words_of_command(Words words, bool after_option) {
  const auto is_long = [](const std::string& word) { return word.starts_with("--"); };
  if (const auto python = find_operand(words)) {
    const std::string& operand = words[python->at];
    if (std::ranges::any_of(words.first(python->at), is_long)) return {};
    const bool script = python->letter == '\0' && operand.ends_with(".py");
    const bool named = python->letter != '\0' && !after_option;
    return {script || named ? python->at + 1 : 0, true};
  }
  if (is_shell(base_name(words[0]))) {
    const ShellOperand operand = operand_of_shell(words);
    const bool text = operand.text.contains(' ') && !after_option;
    if (!text && !operand.script.ends_with(".sh")) return {};
    const std::string_view last = text ? operand.text : operand.script;
    const auto at = std::ranges::find(words, last);
    return {static_cast<std::size_t>(at - words.begin()) + 1, true};
  }
  const auto direct = launcher_of_words(words);
  if (!direct || after_option || direct->launcher.framework == "single") return {};
  if (!starts_something(*direct, words, Evidence::kFile)) return {};
  static constexpr auto kScripts = base::words(".py");
  const auto script =
      std::ranges::find_if(words, [](const auto& word) { return ends_in(word, kScripts); });
  if (script == words.end()) return {};
  return {static_cast<std::size_t>(script - words.begin()) + 1,
          starts_something(*direct, words, Evidence::kRanks)};
}

// Notes the command among the arguments of the Python program `program`, up to its script. If its
// words may be arguments, as in `eval.py --lang python x.py`, the program is only in doubt.
void note_command_among(Words arguments, std::string_view program, ComesTo& result) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view before = i > 0 ? std::string_view(arguments[i - 1]) : "--";
    const bool option = before.starts_with('-') && before != "--" && !before.contains('=');
    const CommandWords command = words_of_command(arguments.subspan(i), option);
    if (command.count == 0) continue;
    const bool begins = before == "--" || is_assignment(before) || base_name(before) == "env";
    if (command.sure && begins) {
      const Words words = arguments.subspan(i, command.count);
      result.inner = base::joined({words.begin(), words.end()}, " ");
    } else if (result.doubt.empty()) {
      result.doubt = program;
    }
    return;
  }
}

// Returns whether the word is a variable that only the shell knows, such as $CMD, so that it may be
// a launcher. A name such as $PYTHON shows that it is not.
bool may_be_launcher(std::string_view word) {
  return word.starts_with('$') && !base::lowercased(word).contains("python");
}

// Finds the launcher that another program starts: the first known word decides. No word is skipped
// as an option's value, because it is not known which options take values.
// NOLINTNEXTLINE(misc-no-recursion)
ComesTo behind_program(Words command, int depth, Evidence needed) {
  const std::string_view program = base_name(command[0]);
  const bool wrapper = is_one_of(program, kWrappers);
  const bool trusted = wrapper || is_one_of(program, kManagers);
  if (is_one_of(program, kNoStarters)) return {};
  // `command -v torchrun` asks only for the path of torchrun.
  static constexpr auto kAsking = base::words("-v", "-V");
  if (program == "command" && command.size() > 1 && is_one_of(command[1], kAsking)) return {};
  ComesTo result;
  for (std::size_t i = 1; i < command.size(); ++i) {
    const std::string& word = command[i];
    if (names_environment(program, command[i - 1])) continue;
    const bool text = is_text_option(command[i - 1]) && word.contains(' ');
    ComesTo quoted = text ? in_text(word, depth - 1) : in_quotes(word);
    if ((text || needed == Evidence::kFile) && quoted.launcher) return quoted;
    if (word.starts_with('-') && !names_module(command, i)) continue;
    if (is_assignment(word)) continue;
    const Words rest = command.subspan(i);
    const std::string_view name = base_name(word);
    if (const auto direct = launcher_of_words(rest)) {
      const bool named = names_only(*direct, rest);
      const bool starts = (wrapper && !named) || starts_something(*direct, rest, needed);
      if (starts && !is_value(command[i - 1], *direct, rest)) return found(*direct);
      if (result.doubt.empty() && !named && needed == Evidence::kFile) result.doubt = direct->name;
      continue;
    }
    const bool script = name.ends_with(".sh");
    const bool known = is_shell(name) || is_one_of(name, kWrappers) || is_one_of(name, kManagers) ||
                       (script && trusted);
    if (known || find_operand(rest)) {
      ComesTo inner = unwrap(rest, depth - 1, trusted ? needed : Evidence::kFile);
      inner.wraps_python = inner.wraps_python || find_operand(rest).has_value();
      if (inner.doubt.empty()) inner.doubt = std::move(result.doubt);
      return inner;
    }
    if (script && result.doubt.empty() && needed == Evidence::kFile) result.doubt = word;
    if (names_module(command, i)) {
      const auto launcher = launcher_of_module(command[i + 1]);
      if (launcher) return {launcher, command[i + 1]};
    }
    if (name.ends_with(".py") || names_module(command, i)) {
      if (is_told_ranks(command.subspan(1, i))) break;
      result.wraps_python = true;
      if (is_told_ranks(rest) && result.doubt.empty()) result.doubt = word;
      if (wrapper && may_be_launcher(command[i - 1])) result.doubt = command[i - 1];
      note_command_among(rest.subspan(1), names_module(command, i) ? command[i + 1] : word, result);
      return result;  // this program is known, so further words are its arguments
    }
  }
  if (is_told_ranks(command.subspan(1))) return {kUnknownLauncher, std::string(program)};
  // A program that gets a file with its task may start ranks: `axolotl train job.yml`
  static constexpr auto kFiles = base::words(".yaml", ".yml", ".toml");
  for (const std::string& word : command.subspan(1)) {
    const bool told = needed == Evidence::kFile && ends_in(word, kFiles);
    const bool doubtful = wrapper ? may_be_launcher(word) : told;
    if (doubtful && result.doubt.empty()) result.doubt = word;
  }
  return result;
}

// Finds the launcher that a module starts, by its module or its file:
// `python -m cProfile -m torch.distributed.run`, `python -m debugpy /opt/bin/torchrun x.py`.
ComesTo behind_python(Words command, const Operand& python) {
  const Words arguments = command.subspan(python.at + 1);
  const std::string_view operand = std::string_view(command[python.at]).substr(python.attached);
  const bool told_ranks = is_told_ranks(arguments);
  if (python.letter != 'm') {
    const bool script = python.letter == '\0';
    ComesTo result{.doubt = script && told_ranks ? std::string(operand) : ""};
    if (script) note_command_among(arguments, operand, result);
    return result;
  }
  static constexpr auto kScripts = base::words(".py");
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (names_module(arguments, i)) {
      const auto launcher = launcher_of_module(arguments[i + 1]);
      if (launcher) return {launcher, arguments[i + 1]};
    }
    const Words rest = arguments.subspan(i);
    const auto direct = launcher_of_words(rest);
    if (!direct || !word.contains('/') || word.contains('=')) continue;
    const bool script =
        std::ranges::any_of(rest, [](const auto& one) { return ends_in(one, kScripts); });
    const bool value = i > 0 && is_value(arguments[i - 1], *direct, rest);
    if (script && !value) return found(*direct);
  }
  if (told_ranks) return {kUnknownLauncher, std::string(operand)};
  const bool called_so = operand.ends_with(".launch") || operand.ends_with(".launcher");
  ComesTo result{.doubt = called_so ? std::string(operand) : ""};
  note_command_among(arguments, operand, result);
  return result;
}

// NOLINTNEXTLINE(misc-no-recursion)
ComesTo unwrap(Words command, int depth, Evidence needed) {
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
  if (may_be_launcher(command[0])) return {.doubt = command[0]};
  if (const auto python = find_operand(command)) return behind_python(command, *python);
  if (name.ends_with(".py")) {
    ComesTo result{.doubt = is_told_ranks(command) ? command[0] : ""};
    note_command_among(command.subspan(1), name, result);
    return result;
  }
  return behind_program(command, depth, needed);
}

}  // namespace

bool is_python(std::string_view name) {
  constexpr std::string_view kPython = "python";
  if (!name.starts_with(kPython)) return false;
  name.remove_prefix(kPython.size());
  return name.find_first_not_of("0123456789.") == std::string_view::npos;
}

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
  comes_to_ = unwrap(words_, kMaxDepth, Evidence::kFile);
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
