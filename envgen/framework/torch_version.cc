#include "envgen/framework/torch_version.h"

#include <algorithm>
#include <string_view>

#include "base/search_path.h"
#include "base/text.h"
#include "envgen/plan/launch.h"

namespace envgen {
namespace {

// Versions of Python that are searched: 3.6 to 3.11, for which PyTorch before 2.2 was built.
constexpr int kFirstMinor = 6;
constexpr int kLastMinor = 11;

// Returns true for a version before 2.2, as in "__version__ = '2.1.2+cu121'".
bool is_before_2_2(std::string_view text) {
  constexpr std::string_view kName = "__version__";
  text.remove_prefix(std::min(text.find(kName), text.size()));
  text.remove_prefix(std::min(text.find_first_of("0123456789"), text.size()));
  const auto major = base::parse_count<int>(base::take_part(text, '.'));
  const auto minor = base::parse_count<int>(base::take_part(text, '.'));
  return major && minor && (*major < 2 || (*major == 2 && *minor < 2));
}

}  // namespace

bool has_torch_before_2_2(Inputs& inputs, const Plan& plan, const std::string& python) {
  const base::Environ env = planned_environment(inputs, plan);
  const std::string interpreter = find_program(inputs, base::search_path_of(env), python).path;
  if (interpreter.empty()) return false;
  bool old = false;
  bool whole = true;
  const auto look_in = [&](std::string_view base, std::string_view version, std::string_view kind) {
    if (!base.starts_with('/')) return;
    const PathState* state =
        inputs.content(base::concat({base, version, kind, "/torch/version.py"}));
    whole = whole && state != nullptr;
    if (state == nullptr || state->kind != PathState::Kind::kFile) return;
    old = true;
    whole = whole && is_before_2_2(state->content);
  };
  // Directories where pip, conda and Debian install packages of an interpreter, and those of
  // PYTHONPATH.
  std::string_view listed = env.get_or("PYTHONPATH", "");
  while (!listed.empty()) look_in(base::take_part(listed, ':'), "", "");
  std::string_view prefix(interpreter);
  for (int i = 0; i < 2; ++i) prefix = prefix.substr(0, prefix.rfind('/'));
  if (prefix.empty()) prefix = "/usr";
  const std::string_view home = env.get_or("HOME", "");
  const std::string user = home.empty() ? "" : base::concat({home, "/.local"});
  for (int minor = kFirstMinor; minor <= kLastMinor; ++minor) {
    const std::string version = "/lib/python3." + std::to_string(minor);
    look_in(prefix, version, "/site-packages");
    look_in(user, version, "/site-packages");
    if (prefix == "/usr") look_in("/usr/local", version, "/dist-packages");
  }
  if (prefix == "/usr") look_in(prefix, "/lib/python3", "/dist-packages");
  return old && whole;
}

}  // namespace envgen
