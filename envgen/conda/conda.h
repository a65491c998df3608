#pragma once
// conda's rules, from conda/activate.py and conda/base/context.py: which environment is meant,
// where it lies, what activating it sets. Nothing outside of this
// folder needs more of it than apply_conda().
//
// A prefix is an environment's directory, the root the one of an installation: the environment
// "base". A directory is an environment when it has conda-meta/.

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

// The environment that was asked for.
struct Wish {
  std::string environment;  // a name, or a prefix when it has a '/'
  std::string source;       // "--conda-env", "conda run -n": for messages
  std::string program;      // the conda that was called, "" = none
  bool inferred = false;    // from a program's path: it may be no conda environment at all
};

// `conda run`, taken apart. Also mamba's and micromamba's.
struct RunCommand {
  std::string environment;  // "" = the active one, else base
  std::string option;       // that named it: "-n"
  std::string cwd;          // --cwd
  std::vector<std::string> command;
  std::string obstacle;  // an option that cannot be taken over: the command stays as it is
};
// Nothing when it is no `conda run` of a command.
std::optional<RunCommand> parse_run(const std::vector<std::string>& command);

// The prefix of .../envs/NAME/bin/program.
std::optional<std::string> prefix_of_program(std::string_view program);

// The lists `envs_dirs:` (or envs_path) of a .condarc. Not a YAML reader: it knows one list in
// either form, plain and quoted scalars, comments, and looks at nothing else.
std::vector<std::string> condarc_envs_dirs(std::string_view text);

struct CondaEnvironment {
  std::string prefix;
  std::string root;             // "" when no installation is known
  bool root_has_conda = false;  // bin/conda is there: micromamba's and packed ones have none
};
// Nothing while paths have to be looked at, and for an inferred one that is no environment. An
// Error says which environments exist.
Result<std::optional<CondaEnvironment>> locate(Inputs& inputs, const Wish& wish);

// One variable of env_vars.d or conda-meta/state. No value: it is exported empty.
using Variables = std::map<std::string, std::optional<std::string>, std::less<>>;

// An object of names and values. ***unset*** drops what an earlier file has set.
Status add_package_variables(std::string_view text, std::string_view where, Variables& variables);
// conda-meta/state: the object `env_vars` in it.
Status add_state_variables(std::string_view text, std::string_view where, Variables& variables);
// The variables of the environment. Nothing while files have to be looked at.
Result<std::optional<Variables>> read_variables(Inputs& inputs, const std::string& prefix);

// Appends what activating does to the plan: edits, scripts, warnings.
Status activate(Inputs& inputs, const CondaEnvironment& environment, Plan& plan);

}  // namespace envgen::conda

namespace envgen {

// Takes a conda environment by --conda-env, by `conda run -n NAME cmd`, which is unwrapped
// (platform.command, platform.cwd), by an absolute .../envs/NAME/bin/program, or by ANACONDA_DIR
// and DEFAULT_CONDA_ENV_NAME, which an image inherits: these give way to VIRTUAL_ENV and to a
// Python that the command names by its path. Adds to plan.env what `conda activate` would set, to
// plan.leave_scripts and plan.scripts what it would source. Nothing to do is no error, and wants no
// path.
Status apply_conda(Inputs& inputs, PlatformFacts& platform, Plan& plan);

}  // namespace envgen
