#pragma once
// The rules of conda, from conda/activate.py and conda/base/context.py: which environment is meant,
// where it is, what its activation sets. Outside of this folder only apply_conda() is needed.
//
// A prefix is the directory of an environment. The root is the prefix of an installation, which is
// the environment "base". A directory is an environment if it has conda-meta/.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "envgen/conda/paths.h"
#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/platform_facts.h"

namespace envgen::conda {

// The conda environment that the job should run in.
struct Wish {
  std::string environment;  // a name, or a prefix if it has a '/'
  std::string source;       // where it was requested, for messages: "--conda-env", "conda run -n"
  std::string program;      // the conda program of a `conda run`; "": no such command
  bool inferred = false;    // taken from a program's path, which may not be in a conda environment
};

// A parsed `conda run`, also mamba's and micromamba's.
struct RunCommand {
  std::string environment;  // "": the active environment, otherwise base
  std::string option;       // option that names the environment: "-n"
  std::string cwd;          // --cwd
  std::vector<std::string> command;
  std::string obstacle;  // an unsupported option: the command stays unchanged
};
// Returns nullopt if the command is not a `conda run` with a command.
std::optional<RunCommand> parse_run(const std::vector<std::string>& command);

// Returns the prefix of a program's path of the form .../envs/NAME/bin/program; nullopt for any
// other path.
std::optional<std::string> prefix_of_program(std::string_view program);

// Returns the entries of `envs_dirs:` (or envs_path) in a .condarc. Understands only a part of
// YAML: a list in either of its two forms, plain and quoted scalars, and comments. Ignores
// everything else.
std::vector<std::string> condarc_envs_dirs(std::string_view text);

struct CondaEnvironment {
  std::string prefix;
  std::string root;             // "": no installation is known
  bool root_has_conda = false;  // bin/conda exists; micromamba's and packed roots have none
};
// Finds the environment. Returns nullopt while the snapshot lacks a path, and for an inferred
// environment that does not exist. If a requested environment does not exist, the error lists the
// existing ones.
base::Result<std::optional<CondaEnvironment>> locate(Inputs& inputs, const Wish& wish);

// Variables of env_vars.d or of conda-meta/state, by name. The value nullopt becomes "" in the
// environment.
using Variables = std::map<std::string, std::optional<std::string>, std::less<>>;

// Adds the variables of a JSON object of names and values. The value ***unset*** removes a variable
// that an earlier file has set.
base::Status add_package_variables(std::string_view text, std::string_view where,
                                   Variables& variables);
// Adds the variables in the object `env_vars` of a conda-meta/state file.
base::Status add_state_variables(std::string_view text, std::string_view where,
                                 Variables& variables);
// Returns the variables that the environment at `prefix` defines; nullopt while the snapshot lacks
// a file.
base::Result<std::optional<Variables>> read_variables(Inputs& inputs, const std::string& prefix);

// Adds what the activation changes to the plan: edits of variables, scripts, warnings.
base::Status activate(Inputs& inputs, const CondaEnvironment& environment, Plan& plan);

}  // namespace envgen::conda

namespace envgen {

// Activates the conda environment that the job asks for. The first of these that is present names
// it:
// - `conda run -n NAME cmd`, which is replaced by its command (platform.command, platform.cwd)
// - --conda-env
// - an absolute path .../envs/NAME/bin/program
// - ANACONDA_DIR and DEFAULT_CONDA_ENV_NAME, which an image may inherit. VIRTUAL_ENV, or a Python
//   that
// the command names by its path, takes precedence over these two
//
// Adds to plan.env what `conda activate` would set, and to plan.leave_scripts and plan.scripts what
// it would source. If no environment is named, returns success and reads no path.
base::Status apply_conda(Inputs& inputs, PlatformFacts& platform, Plan& plan);

}  // namespace envgen
