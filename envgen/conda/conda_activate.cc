// Plans what `conda activate` sets and sources, in conda's order.

#include <algorithm>
#include <array>
#include <charconv>

#include "base/constants/words.h"
#include "base/text.h"
#include "envgen/conda/conda.h"
#include "envgen/conda/environment.h"
#include "envgen/plan/command.h"

namespace envgen::conda {
namespace {

// Variables that the activation itself sets. If an environment defines one of them, it is ignored,
// because its value would break the next activation.
constexpr auto kReserved = base::words("PATH", "CONDA_PREFIX", "CONDA_SHLVL", "CONDA_DEFAULT_ENV",
                                       "CONDA_PROMPT_MODIFIER");

// The conda environment that is already active when trainit starts.
struct Active {
  int level = 0;
  std::string prefix;
};

Active active_in(const base::Environ& env) {
  constexpr int kMaxLevels = 1'000'000;
  Active active;
  std::string_view level = env.get_or("CONDA_SHLVL", "");
  level.remove_prefix(std::min(level.find_first_not_of(' '), level.size()));
  std::from_chars(level.data(), level.data() + level.size(), active.level);
  active.level = std::clamp(active.level, 0, kMaxLevels);
  if (active.level > 0) active.prefix = env.get_or("CONDA_PREFIX", "");
  return active;
}

// Returns the elements of PATH. If PATH is unset, uses conda's own default (conda/activate.py), so
// that the result is that of `conda activate`.
std::vector<std::string> path_elements(const base::Environ& env) {
  std::vector<std::string> elements;
  for (const std::string_view element : base::split(env.get("PATH").value_or("/usr/bin"), ':')) {
    elements.push_back(normal_path(element));
  }
  return elements;
}

std::string list_of(const std::vector<std::string>& elements) {
  std::string list;
  for (const std::string& element : elements) {
    if (&element != elements.data()) list += ':';
    list += element;
  }
  return list;
}

// Returns PATH in which the environment's programs replace those of the previous environment.
std::string path_with(const base::Environ& env, const Active& active,
                      const CondaEnvironment& environment) {
  std::vector<std::string> elements = path_elements(env);
  auto at = elements.begin();
  if (active.level > 0) {
    const auto old = active.prefix.empty()
                         ? elements.end()
                         : std::ranges::find(elements, normal_path(active.prefix + "/bin"));
    if (old != elements.end()) at = elements.erase(old);
  } else if (environment.root_has_conda &&
             std::ranges::none_of(
                 elements, [](const std::string& each) { return each.ends_with("condabin"); })) {
    at = elements.insert(at, environment.root + "/condabin");
  }
  elements.insert(at, environment.prefix + "/bin");
  return list_of(elements);
}

std::string name_of(const CondaEnvironment& environment, const std::string& prefix) {
  if (!environment.root.empty() && prefix == environment.root) return "base";
  if (base_name(parent_path(prefix)) == "envs") return std::string(base_name(prefix));
  return prefix;
}

// Converts a name to capitals, as conda exports it (envvars_force_uppercase).
std::string upper(std::string_view name) {
  std::string result(name);
  std::ranges::transform(result, result.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c; });
  return result;
}

void set(Plan& plan, std::string name, std::string value) {
  plan.env.push_back({base::EnvEdit::Kind::kSet, std::move(name), std::move(value)});
}

// Sets variables. As conda does, keeps an overwritten value for a later deactivation, in a variable
// named after the previous level.
void set_variables(const Variables& variables, const base::Environ& env, int level, Plan& plan) {
  std::string overwritten;
  for (const auto& [name, value] : variables) {
    const std::string exported = upper(name);
    if (std::ranges::find(kReserved, exported) != kReserved.end() || !is_shell_name(name)) {
      plan.warnings.push_back("the conda environment's variable " + name +
                              " is left out: conda does not set it either");
      continue;
    }
    set(plan, exported, value.value_or(""));
    const auto before = env.get(name);
    if (!before) continue;
    set(plan, "__CONDA_SHLVL_" + std::to_string(level) + "_" + exported, std::string(*before));
    if (before != value) overwritten += (overwritten.empty() ? "" : ", ") + name;
  }
  if (!overwritten.empty()) {
    plan.warnings.push_back("the conda environment overwrites " + overwritten);
  }
}

void set_conda_itself(const CondaEnvironment& environment, Plan& plan) {
  if (!environment.root_has_conda) return;
  set(plan, "CONDA_EXE", environment.root + "/bin/conda");
  set(plan, "_CE_M", "");
  set(plan, "_CE_CONDA", "");
  set(plan, "CONDA_PYTHON_EXE", environment.root + "/bin/python");
}

// Returns <prefix>/etc/conda/<directory>/*.sh in the order of their names; nullopt while the
// snapshot lacks the directory.
std::optional<std::vector<std::string>> scripts_in(Inputs& inputs, const std::string& prefix,
                                                   const char* directory) {
  const std::string path = prefix + "/etc/conda/" + directory;
  const PathState* state = inputs.content(path);
  if (state == nullptr) return std::nullopt;
  std::vector<std::string> scripts;
  for (const std::string& name : state->entries) {
    if (name.ends_with(".sh")) scripts.push_back(path + "/" + name);
  }
  return scripts;
}

void add_libraries(const CondaEnvironment& environment, const Inputs& inputs, Plan& plan) {
  if (!inputs.request().conda_lib) return;
  const base::Environ env = planned_environ(inputs, plan);
  set(plan, "LD_LIBRARY_PATH",
      with_library_dirs(env.get_or("LD_LIBRARY_PATH", ""), {environment.prefix + "/lib"}));
}

}  // namespace

base::Status activate(Inputs& inputs, const CondaEnvironment& environment, Plan& plan) {
  const base::Environ env = planned_environ(inputs, plan);
  const Active active = active_in(env);
  const bool again = active.level > 0 && active.prefix == environment.prefix;

  auto variables = read_variables(inputs, environment.prefix);
  auto leave = active.prefix.empty() ? std::vector<std::string>{}
                                     : scripts_in(inputs, active.prefix, "deactivate.d");
  auto scripts = scripts_in(inputs, environment.prefix, "activate.d");
  if (!variables) return std::unexpected(variables.error());
  if (!*variables || !leave || !scripts) return {};

  set(plan, "PATH", path_with(env, active, environment));
  if (again) {
    const std::string name(
        env.get_or("CONDA_DEFAULT_ENV", name_of(environment, environment.prefix)));
    set(plan, "CONDA_SHLVL", std::to_string(active.level));
    set(plan, "CONDA_PROMPT_MODIFIER", "(" + name + ") ");
  } else {
    const std::string name = name_of(environment, environment.prefix);
    set(plan, "CONDA_PREFIX", environment.prefix);
    set(plan, "CONDA_SHLVL", std::to_string(active.level + 1));
    set(plan, "CONDA_DEFAULT_ENV", name);
    set(plan, "CONDA_PROMPT_MODIFIER", "(" + name + ") ");
    set_variables(**variables, env, active.level, plan);
    if (active.level > 0) {
      set(plan, "CONDA_PREFIX_" + std::to_string(active.level), active.prefix);
    }
  }
  set_conda_itself(environment, plan);
  add_libraries(environment, inputs, plan);
  std::ranges::reverse(*leave);
  add_scripts(inputs, *leave, *scripts, plan);
  return {};
}

}  // namespace envgen::conda
