#include "envgen/plan/typed_launcher.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/constants/packed_texts.h"
#include "base/constants/words.h"
#include "envgen/plan/command.h"

namespace envgen {
namespace {

using Reads = LauncherReads;

constexpr Launcher kRows[] = {
    {"torchrun", "torch.distributed.run", "", "pytorch", Reads::kPet},
    {"torch-run", "torch.distributed.launch", "", "pytorch", Reads::kPet},
    {"", "torch.distributed.elastic", "", "pytorch", Reads::kPet},
    {"tune", "", "run", "pytorch", Reads::kPet},  // torchtune's
    {"dlrover-run", "dlrover.trainer.torch.elastic_run", "", "pytorch", Reads::kPet},
    {"accelerate", "accelerate", "", "pytorch"},
    {"colossalai", "colossalai", "", "pytorch"},
    {"composer", "composer.cli", "", "pytorch"},
    {"llamafactory-cli", "llamafactory.cli", "", "pytorch", Reads::kNodeVariables},
    {"swift", "swift.cli.main", "", "pytorch", Reads::kNodeVariables},
    {"megatron", "swift.cli._megatron.main", "", "pytorch", Reads::kNodeVariables},
    {"xtuner", "xtuner", "", "pytorch", Reads::kNodeVariables},
    {"deepspeed", "deepspeed", "", "deepspeed"},
    {"ds", "deepspeed.launcher", "", "deepspeed"},
    {"deepspeed.pt", "", "", "deepspeed"},
    {"horovodrun", "horovod.runner", "", "horovod"},
    // mpirun.openmpi, mpiexec.hydra: by the beginning of the name
    {"mpirun", "", "", "mpi"},
    {"mpiexec", "", "", "mpi"},
    {"msrun", "mindspore.parallel.cluster", "", "ascend"},
    {"fleetrun", "paddle.distributed.launch", "", "paddle"},
    {"", "paddle.distributed.fleet.launch", "", "paddle"},
    {"srun", "", "", "single"},
    {"ray", "ray.scripts.scripts", "start", "single"},
    {"vllm", "vllm.entrypoints", "", "single"},
    {"sglang", "sglang.launch_server", "", "single"},
    {"lmdeploy", "lmdeploy", "", "single"},
};
constexpr PackedTable<kRows, &Launcher::program, &Launcher::module, &Launcher::argument,
                      &Launcher::framework>
    kLaunchers;

// Other modules of these packages are programs of their own.
bool is_library(std::string_view module) { return module == "deepspeed" || module == "xtuner"; }

std::optional<Launcher> launcher_of_module(std::string_view module) {
  for (const Launcher& known : kLaunchers.all()) {
    if (known.module.empty() || !module.starts_with(known.module)) continue;
    const bool below = module.size() > known.module.size() && module[known.module.size()] == '.';
    if (module.size() == known.module.size() || (below && !is_library(known.module))) return known;
  }
  return std::nullopt;
}

// --- What stands before a launcher ---

// They start the command behind their own options.
constexpr auto kWrappers = words(
    "env", "nohup", "nice", "timeout", "numactl", "taskset", "stdbuf", "ionice", "chrt", "setsid",
    "time", "exec", "command", "sudo", "gosu", "su-exec", "tini", "setpriv", "prlimit", "unshare",
    "dumb-init", "conda", "mamba", "micromamba", "poetry", "pixi", "uv", "catchsegv", "unbuffer");
// Words of a shell behind which a command stands.
constexpr auto kReserved = words("if", "then", "else", "elif", "while", "do", "until", "!", "{");

constexpr std::array<std::string_view, 2> kAsking = {"-v", "-V"};  // of `command`

constexpr std::size_t kMostWrapperWords = 24;  // of one, its options' values among them
constexpr int kMostDepth = 6;                  // of shells and wrappers inside of each other

bool is_one_of(std::string_view word, const auto& words) {
  return std::ranges::find(words, word) != words.end();
}

bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == 0 || equals == std::string_view::npos) return false;
  return word.substr(0, equals).find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
         std::string_view::npos;
}

// --- A shell's text ---

// `$(which torchrun)` stands for the program that it finds.
std::string with_lookups_done(std::string_view text) {
  constexpr std::array<std::string_view, 4> kLookups = {"$(which ", "$(command -v ", "`which ",
                                                        "`command -v "};
  std::string done;
  while (!text.empty()) {
    const auto* lookup = std::ranges::find_if(
        kLookups, [text](std::string_view some) { return text.starts_with(some); });
    const std::size_t end = lookup == kLookups.end() ? std::string_view::npos
                                                     : text.find(text[0] == '$' ? ')' : '`', 1);
    if (end == std::string_view::npos) {
      done += text[0];
      text.remove_prefix(1);
      continue;
    }
    done += text.substr(lookup->size(), end - lookup->size());
    text.remove_prefix(end + 1);
  }
  return done;
}

// The simple commands of a text, as far as words, quotes and operators tell them: what expansions
// give stays as it was typed. Redirections are dropped.
class ShellText {
 public:
  explicit ShellText(std::string_view text) : text_(text) {}

  std::vector<std::vector<std::string>> commands() && {
    while (at_ < text_.size()) step();
    end_command();
    return std::move(commands_);
  }

 private:
  void step() {
    const char c = text_[at_++];
    switch (c) {
      case '\\':
        if (at_ < text_.size() && text_[at_] != '\n') add(text_[at_]);
        ++at_;
        break;
      case '\'':
      case '"':
        quoted(c);
        break;
      case '\n':
      case ';':
      case '|':
      case '(':
      case ')':
        end_command();
        break;
      case '&':
        // "2>&1", "&>log"
        if (redirected_ || (at_ < text_.size() && text_[at_] == '>')) break;
        end_command();
        break;
      case '<':
      case '>':
        // The number before it is a descriptor.
        if (word_.find_first_not_of("0123456789") == std::string::npos) drop_word();
        end_word();
        redirected_ = true;
        break;
      case '#':
        if (!in_word_) at_ = std::min(text_.find('\n', at_), text_.size());
        if (in_word_) add(c);
        break;
      case ' ':
      case '\t':
      case '\r':
        end_word();
        break;
      default:
        add(c);
    }
  }

  void quoted(char quote) {
    in_word_ = true;
    for (; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      word_ += text_[at_];
    }
    ++at_;
  }

  void add(char c) {
    in_word_ = true;
    word_ += c;
  }
  void drop_word() {
    in_word_ = false;
    word_.clear();
  }
  void end_word() {
    if (in_word_ && !redirected_) words_.push_back(word_);
    if (in_word_) redirected_ = false;
    drop_word();
  }
  void end_command() {
    end_word();
    redirected_ = false;
    if (!words_.empty()) commands_.push_back(std::move(words_));
    words_.clear();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string word_;
  bool in_word_ = false;
  bool redirected_ = false;  // the next word is a file's name
  std::vector<std::string> words_;
  std::vector<std::vector<std::string>> commands_;
};

// Of `bash OPTIONS...`: the text behind -c, or the script; both empty where it reads its stdin.
struct ShellOperand {
  std::string_view text;
  std::string_view script;
};
ShellOperand operand_of_shell(std::span<const std::string> command) {
  bool text = false;
  std::size_t at = 1;
  for (; at < command.size(); ++at) {
    const std::string& option = command[at];
    if (option.size() < 2 || (option[0] != '-' && option[0] != '+')) break;
    if (option == "--") {
      ++at;
      break;
    }
    if (option == "--rcfile" || option == "--init-file") ++at;
    if (option.starts_with("--")) continue;
    text = text || option.contains('c');
    if (option.ends_with('o') || option.ends_with('O')) ++at;
  }
  if (at >= command.size()) return {};
  if (text) return {command[at], ""};
  return {"", command[at]};
}

using Words = std::span<const std::string>;

// What a command comes to behind its wrappers.
struct Unwrapped {
  std::optional<Launcher> launcher;
  std::string script;  // of a shell
};

Unwrapped unwrap(Words command, int depth);  // NOLINT(misc-no-recursion): by kMostDepth

// `conda run -n deepspeed`: a name that the user gave to an environment.
bool names_environment(std::string_view wrapper, std::string_view option) {
  static constexpr auto kManagers = words("conda", "mamba", "micromamba", "poetry", "pixi", "uv");
  static constexpr auto kNaming = words("-n", "--name", "-p", "--prefix", "-e", "--environment",
                                        "--with", "--extra", "--group", "--project");
  return is_one_of(wrapper, kManagers) && is_one_of(option, kNaming);
}

// Options of a wrapper may take values, so that the first word behind it which is known counts.
Unwrapped behind_wrapper(Words command, int depth) {  // NOLINT(misc-no-recursion)
  const std::string_view wrapper = base_name(command[0]);
  const std::size_t end = std::min(command.size(), kMostWrapperWords);
  // `command -v torchrun` asks where it is.
  if (wrapper == "command" && end > 1 && is_one_of(command[1], kAsking)) return {};
  for (std::size_t i = 1; i < end; ++i) {
    if (names_environment(wrapper, command[i - 1])) continue;
    const std::string_view name = base_name(command[i]);
    const Words rest = command.subspan(i);
    const bool known = is_shell(name) || is_one_of(name, kWrappers) || name.ends_with(".sh") ||
                       python_command({rest.begin(), rest.end()}) ||
                       launcher_of_command({rest.begin(), rest.end()});
    if (known) return unwrap(rest, depth - 1);
  }
  return {};
}

Unwrapped in_text(std::string_view text, int depth) {  // NOLINT(misc-no-recursion)
  Unwrapped found;
  const std::string done = with_lookups_done(text);
  for (const std::vector<std::string>& one : ShellText(done).commands()) {
    Unwrapped inner = unwrap(one, depth - 1);
    if (inner.launcher) return inner;
    if (found.script.empty()) found.script = std::move(inner.script);
  }
  return found;
}

Unwrapped in_shell(Words command, int depth) {  // NOLINT(misc-no-recursion)
  const ShellOperand operand = operand_of_shell(command);
  if (operand.text.empty()) return {std::nullopt, std::string(operand.script)};
  return in_text(operand.text, depth);
}

Unwrapped unwrap(Words command, int depth) {  // NOLINT(misc-no-recursion)
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
  if (const auto direct = launcher_of_command({command.begin(), command.end()})) {
    return {direct, ""};
  }
  if (is_shell(name)) return in_shell(command, depth);
  if (is_one_of(name, kWrappers)) return behind_wrapper(command, depth);
  if (name.ends_with(".sh")) return {std::nullopt, command[0]};
  return {};
}

}  // namespace

std::optional<Launcher> launcher_of_program(std::string_view program) {
  for (const Launcher& known : kLaunchers.all()) {
    if (known.program.empty()) continue;
    if (program == known.program) return known;
    if (known.framework != "mpi" || !program.starts_with(known.program)) continue;
    const std::string_view rest = program.substr(known.program.size());
    static constexpr auto kKinds = words("openmpi", "mpich", "hydra", "intel", "mvapich");
    const bool is_kind = std::ranges::any_of(
        kKinds, [rest](std::string_view kind) { return rest.substr(1).starts_with(kind); });
    if ((rest[0] == '.' || rest[0] == '-') && is_kind) return known;
  }
  return std::nullopt;
}

std::optional<Launcher> launcher_of_command(const std::vector<std::string>& typed) {
  if (typed.empty()) return std::nullopt;
  const auto called = [](std::optional<Launcher> launcher, std::string_view argument) {
    const bool is_it = launcher && (launcher->argument.empty() || launcher->argument == argument);
    return is_it ? launcher : std::nullopt;
  };
  const std::vector<std::string> command = with_operand_apart(typed);
  if (const auto named = launcher_of_program(base_name(command[0]))) {
    return called(named, command.size() > 1 ? command[1] : "");
  }
  const auto python = python_command(command);
  if (!python || python->text) return std::nullopt;
  const std::string& operand = command[python->operand];
  const std::size_t next = python->operand + 1;
  return called(
      python->module ? launcher_of_module(operand) : launcher_of_program(base_name(operand)),
      next < command.size() ? command[next] : "");
}

std::optional<Launcher> typed_launcher(const std::vector<std::string>& command) {
  return unwrap(command, kMostDepth).launcher;
}

std::string_view framework_typed(const std::vector<std::string>& command) {
  const std::optional<Launcher> typed = typed_launcher(command);
  return !typed ? "" : typed->framework;
}

std::string shell_script(const std::vector<std::string>& command) {
  return unwrap(command, kMostDepth).script;
}

}  // namespace envgen
