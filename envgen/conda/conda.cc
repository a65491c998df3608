// Which conda environment is asked for.

#include "envgen/conda/conda.h"

#include "envgen/conda/environment.h"
#include "envgen/plan/command.h"

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

// `conda run` loses TERM and keeps the output back, so its command is run instead of it.
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

std::vector<Wish> wishes(const Inputs& inputs, PlatformFacts& platform, Plan& plan) {
  if (auto run = unwrap(inputs, platform, plan)) return {std::move(*run)};
  if (!inputs.request().conda_env.empty())
    return {{inputs.request().conda_env, "--conda-env", "", false}};
  std::vector<Wish> result;
  auto inferred = platform.command.empty() ? std::nullopt : prefix_of_program(platform.command[0]);
  if (inferred) result.push_back({*inferred, platform.command[0], "", true});
  const std::string_view name = inputs.variable("DEFAULT_CONDA_ENV_NAME");
  const bool has_root =
      !inputs.variable("ANACONDA_DIR").empty() || !inputs.request().conda_dir.empty();
  if (!name.empty() && has_root) {
    result.push_back({std::string(name), "DEFAULT_CONDA_ENV_NAME", "", false});
  }
  return result;
}

}  // namespace
}  // namespace conda

Status apply_conda(Inputs& inputs, PlatformFacts& platform, Plan& plan) {
  for (const conda::Wish& wish : conda::wishes(inputs, platform, plan)) {
    const std::size_t wanted = inputs.wants().size();
    TRY_ASSIGN(auto environment, conda::locate(inputs, wish));
    if (environment) return conda::activate(inputs, *environment, plan);
    if (inputs.wants().size() > wanted) return {};
  }
  return {};
}

}  // namespace envgen
