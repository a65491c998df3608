#include "envgen/conda/environment.h"

#include <algorithm>
#include <array>

#include "base/constants/words.h"
#include "base/text.h"
#include "envgen/conda/paths.h"

namespace envgen {
namespace {

constexpr auto kDriverDirs = base::words(
    "/usr/local/nvidia/lib", "/usr/local/nvidia/lib64", "/usr/local/Ascend/driver/lib64",
    "/usr/local/Ascend/driver/lib64/common", "/usr/local/Ascend/driver/lib64/driver");

bool same_dir(std::string_view one, std::string_view other) {
  return conda::normal_path(one) == conda::normal_path(other);
}

bool holds(const std::vector<std::string>& list, std::string_view directory) {
  return std::ranges::any_of(
      list, [directory](const std::string& each) { return same_dir(each, directory); });
}

bool is_driver_dir(std::string_view directory) {
  return std::ranges::any_of(
      kDriverDirs, [directory](std::string_view each) { return same_dir(each, directory); });
}

// Returns the list without empty elements and duplicates.
std::vector<std::string> library_dirs(std::string_view list) {
  std::vector<std::string> dirs;
  for (const std::string_view dir : base::split(list, ':')) {
    if (!dir.empty() && !holds(dirs, dir)) dirs.emplace_back(dir);
  }
  return dirs;
}

}  // namespace

base::Environ planned_environ(const Inputs& inputs, const Plan& plan) {
  base::Environ env = inputs.env();
  for (const base::EnvEdit& edit : plan.env) env.apply(edit);
  return env;
}

void add_scripts(Inputs& inputs, const std::vector<std::string>& leave_scripts,
                 const std::vector<std::string>& scripts, Plan& plan) {
  std::vector<std::string> all = leave_scripts;
  all.insert(all.end(), scripts.begin(), scripts.end());
  if (all.empty()) return;
  const PathState* bash = inputs.kind("/bin/bash");
  const PathState* sh = inputs.kind("/bin/sh");
  if (bash == nullptr || sh == nullptr) return;
  plan.leave_scripts.insert(plan.leave_scripts.end(), leave_scripts.begin(), leave_scripts.end());
  plan.scripts.insert(plan.scripts.end(), scripts.begin(), scripts.end());
  if (sh->kind == PathState::Kind::kFile) plan.shell = "/bin/sh";
  if (bash->kind == PathState::Kind::kFile) plan.shell = "/bin/bash";
  if (!plan.shell.empty()) return;
  std::string names;
  for (const std::string& script : all) names += (names.empty() ? "" : ", ") + script;
  plan.warnings.push_back("there is no shell (/bin/bash, /bin/sh) to source " + names +
                          ": what it sets will be missing; set it with ENV in the image");
}

bool is_shell_name(std::string_view name) {
  const auto fits = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return !name.empty() && (name[0] < '0' || name[0] > '9') && std::ranges::all_of(name, fits);
}

std::string with_library_dirs(std::string_view list, const std::vector<std::string>& directories) {
  std::vector<std::string> dirs = library_dirs(list);
  std::vector<std::string> added;
  for (const std::string& directory : directories) {
    if (directory.empty() || holds(added, directory)) continue;
    if (is_driver_dir(directory) && holds(dirs, directory)) continue;
    std::erase_if(dirs,
                  [&directory](const std::string& each) { return same_dir(each, directory); });
    added.push_back(directory);
  }
  auto last = std::ranges::find_if(dirs.rbegin(), dirs.rend(), is_driver_dir);
  dirs.insert(last.base(), added.begin(), added.end());
  return base::joined(dirs, ":");
}

std::string with_planned_libraries(std::string_view before, std::string_view planned,
                                   std::string_view after) {
  if (planned == before) return std::string(after);
  const std::vector<std::string> had = library_dirs(before);
  std::vector<std::string> added;
  for (std::string& dir : library_dirs(planned)) {
    if (!holds(had, dir)) added.push_back(std::move(dir));
  }
  return with_library_dirs(after, added);
}

}  // namespace envgen
