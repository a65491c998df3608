#include <array>

#include "envgen/framework.h"

namespace envgen {
namespace {

constexpr std::array<FrameworkLauncher, 2> kLaunchers = {{
    {"ascend", launch_ascend},
    {"single", launch_single},
}};

}  // namespace

std::span<const FrameworkLauncher> framework_launchers() { return kLaunchers; }

Status launch_single(Inputs& inputs, const Located& located, Plan& plan) {
  Process process;
  process.name = "main";
  process.argv = inputs.request().command;
  process.cwd = inputs.facts().cwd;
  if (inputs.request().output == Output::kFiles) {
    const std::string& directory = located.site.log_dir;
    plan.directories.push_back({directory});
    process.log = join_path(directory, "main" + located.site.log_suffix);
    process.env_file = join_path(directory, "main.env");
  }
  plan.processes.push_back(std::move(process));
  return {};
}

}  // namespace envgen
