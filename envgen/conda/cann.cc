#include "envgen/conda/cann.h"

// Plans CANN's set_env.sh, and the paths of the driver's libraries, which the container runtime
// mounts.

#include <array>

#include "envgen/conda/environment.h"

namespace envgen {
namespace {

struct Toolkit {
  const char* script;
  const char* variable;  // variable that the script sets
};

constexpr auto kToolkits = std::to_array({
    Toolkit{"/usr/local/Ascend/ascend-toolkit/set_env.sh", "ASCEND_TOOLKIT_HOME"},
    Toolkit{"/usr/local/Ascend/nnal/atb/set_env.sh", "ATB_HOME_PATH"},
});

constexpr auto kDriverDirs = std::to_array({
    "/usr/local/Ascend/driver/lib64",
    "/usr/local/Ascend/driver/lib64/common",
    "/usr/local/Ascend/driver/lib64/driver",
});

bool is(Inputs& inputs, const char* path, PathState::Kind kind) {
  const PathState* state = inputs.kind(path);
  return state != nullptr && state->kind == kind;
}

}  // namespace

base::Status apply_cann(Inputs& inputs, Plan& plan) {
  const base::Environ env = planned_environ(inputs, plan);
  std::vector<std::string> scripts;
  for (const Toolkit& toolkit : kToolkits) {
    if (!env.get_or(toolkit.variable, "").empty()) continue;
    if (is(inputs, toolkit.script, PathState::Kind::kFile)) scripts.emplace_back(toolkit.script);
  }
  std::vector<std::string> dirs;
  for (const char* dir : kDriverDirs) {
    if (is(inputs, dir, PathState::Kind::kDirectory)) dirs.emplace_back(dir);
  }
  if (!dirs.empty()) {
    const std::string_view before = env.get_or("LD_LIBRARY_PATH", "");
    std::string after = with_library_dirs(before, dirs);
    if (after != before) {
      plan.env.push_back({base::EnvEdit::Kind::kSet, "LD_LIBRARY_PATH", std::move(after)});
    }
  }
  add_scripts(inputs, {}, scripts, plan);
  return {};
}

}  // namespace envgen
