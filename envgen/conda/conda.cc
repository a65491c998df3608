// Decides which conda environment the job asks for.

#include "envgen/conda/conda.h"

#include <algorithm>
#include <span>

#include "base/text.h"
#include "envgen/conda/environment.h"
#include "envgen/plan/command.h"
#include "envgen/plan/parsed_command.h"
#include "envgen/plan/shell_text.h"

namespace envgen {
namespace conda {

std::optional<std::string> prefix_of_program(std::string_view program) {
  if (!program.starts_with('/')) return std::nullopt;
  const std::string path = normal_path(program);
  const std::string_view bin = parent_path(path);
  const std::string_view prefix = parent_path(bin);
  if (base_name(bin) != "bin" || base_name(parent_path(prefix)) != "envs") return std::nullopt;
  return std::string(prefix);
}

namespace {

// Replaces `conda run` by its command, because `conda run` loses TERM and delays the output.
std::optional<Wish> unwrap(const Inputs& inputs, PlatformFacts& platform, Plan& plan) {
  std::optional<RunCommand> run = parse_run(platform.command);
  if (!run) return std::nullopt;
  const std::string program = platform.command[0];
  if (!run->obstacle.empty()) {
    plan.warnings.push_back(program + " run stays in the command, because of " + run->obstacle +
                            ": it keeps the output back and does not pass SIGTERM on; use " +
                            "--conda-env instead of it");
    return std::nullopt;
  }
  if (!run->cwd.empty()) {
    platform.cwd = join_path(platform.cwd.empty() ? inputs.facts().cwd : platform.cwd, run->cwd);
  }
  platform.command = std::move(run->command);
  Wish wish{run->environment, program + " run " + run->option, program, false};
  if (wish.environment.empty()) {
    const std::string_view active = inputs.variable("CONDA_PREFIX");
    wish.environment = active.empty() ? "base" : active;
    wish.source = program + " run";
  }
  const std::string& option = inputs.request().conda_env;
  if (!option.empty() && option != wish.environment) {
    plan.warnings.push_back("--conda-env " + option + " gives way to " + wish.source + " " +
                            wish.environment);
  }
  return wish;
}

// Warns about `conda activate` in a shell that has read no startup file. The function `conda` does
// not exist there: the program fails, and the following commands may run with a different python.
void warn_of_activation(const Inputs& inputs, const std::vector<std::string>& command, Plan& plan) {
  std::string line;
  if (command.size() > 1 && command[1] == "activate") line = base::joined(command, " ");
  const auto shell = std::ranges::find_if(command, is_shell);
  if (shell != command.end() && inputs.variable("BASH_ENV").empty()) {
    const ShellOperand operand = operand_of_shell(std::span(shell, command.end()));
    if (!operand.profile) line = operand.text;
  }
  if (!conda_activation(line)) return;
  const std::string& option = inputs.request().conda_env;
  plan.warnings.push_back(
      "the command's `conda activate` fails, as its shell has not read conda.sh: " +
      (option.empty() ? "what follows runs without the environment; use " + advice_for_line(line)
                      : "leave it out of the command; --conda-env " + option +
                            " has activated the environment"));
}

// Returns true for a Python with something to run. Returns false for the value of an option, as in
// `--src /work/python3`.
bool runs_python(const std::vector<std::string>& command, std::size_t at) {
  if (!is_python(base_name(command[at]))) return false;
  return at == 0 || (at + 1 < command.size() && !command[at - 1].starts_with("--"));
}

// Returns true if a simple command starts an interpreter by its path, or a program of a virtual
// environment. Returns false for an interpreter without a path. Returns nullopt for other commands,
// which do not show which Python is used.
std::optional<bool> chooses_python(Inputs& inputs, const std::vector<std::string>& command) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (runs_python(command, i)) return command[i].contains('/');
  }
  const auto program = std::ranges::find_if_not(
      command, [](const std::string& word) { return is_assignment(word) || word == "exec"; });
  const std::string_view directory = program == command.end() ? "" : parent_path(*program);
  if (base_name(directory) != "bin") return std::nullopt;
  const PathState* venv = inputs.kind(std::string(parent_path(directory)) + "/pyvenv.cfg");
  if (venv == nullptr || venv->kind != PathState::Kind::kFile) return std::nullopt;
  return true;
}

// Returns true if the job uses its own Python. An environment whose name the image has set is then
// not activated.
bool has_own_python(Inputs& inputs, const std::vector<std::string>& command) {
  // VIRTUAL_ENV may be left from the machine that built the image, so the directory must exist.
  const std::string venv(inputs.variable("VIRTUAL_ENV"));
  const PathState* python = venv.empty() ? nullptr : inputs.kind(venv + "/bin/python");
  if (python != nullptr && python->kind == PathState::Kind::kFile) return true;
  const auto shell = std::ranges::find_if(command, is_shell);
  if (shell == command.end()) return chooses_python(inputs, command).value_or(false);
  bool chosen = false;
  for (const auto& one : simple_commands(operand_of_shell(std::span(shell, command.end())).text)) {
    const auto by_path = chooses_python(inputs, one);
    if (by_path == false) return false;  // this command would use the Python of the environment
    chosen = chosen || by_path == true;
  }
  return chosen;
}

std::vector<Wish> wishes(Inputs& inputs, PlatformFacts& platform, Plan& plan) {
  if (auto run = unwrap(inputs, platform, plan)) return {std::move(*run)};
  if (!inputs.request().conda_env.empty())
    return {{inputs.request().conda_env, "--conda-env", "", false}};
  std::vector<Wish> result;
  auto inferred = platform.command.empty() ? std::nullopt : prefix_of_program(platform.command[0]);
  if (inferred) result.push_back({*inferred, platform.command[0], "", true});
  const std::string_view name = inputs.variable("DEFAULT_CONDA_ENV_NAME");
  const bool has_root =
      !inputs.variable("ANACONDA_DIR").empty() || !inputs.request().conda_dir.empty();
  if (!name.empty() && has_root && !has_own_python(inputs, platform.command)) {
    result.push_back({std::string(name), "DEFAULT_CONDA_ENV_NAME", "", false});
  }
  return result;
}

}  // namespace
}  // namespace conda

base::Status apply_conda(Inputs& inputs, PlatformFacts& platform, Plan& plan) {
  conda::warn_of_activation(inputs, platform.command, plan);
  for (const conda::Wish& wish : conda::wishes(inputs, platform, plan)) {
    const std::size_t wanted = inputs.wants().size();
    TRY_ASSIGN(auto environment, conda::locate(inputs, wish));
    if (environment) return conda::activate(inputs, *environment, plan);
    if (inputs.wants().size() > wanted) return {};
  }
  return {};
}

}  // namespace envgen
