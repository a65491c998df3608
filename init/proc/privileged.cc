#include "init/proc/privileged.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/constants/trusted_path.h"
#include "base/constants/words.h"
#include "base/exit_codes.h"
#include "base/search_path.h"
#include "base/text.h"
#include "init/sys/find_program.h"
#include "init/sys/path_state.h"
#include "init/sys/safe_path.h"

namespace proc {
namespace {

constexpr std::string_view kLibraries =
    "/usr/local/Ascend/driver/lib64/common:/usr/local/Ascend/driver/lib64/driver:"
    "/usr/local/nvidia/lib64:/usr/local/nvidia/lib:/usr/local/neuware/lib64";
// Variables of libc's resolver that name no file, so they may be kept.
constexpr auto kKept = base::words("LOCALDOMAIN", "RES_OPTIONS");
constexpr std::string_view kLibraryPath = "LD_LIBRARY_PATH";
constexpr std::string_view kHome = "HOME";

// Returns an identity for the checks if the job's is not known: a user with root's group. Files
// that their group can write then count as the job's.
envgen::Identity any_user() {
  envgen::Identity any;
  any.groups = {0};
  return any;
}

// Returns those absolute paths of `list` that exist and that only root can change, as a list.
std::string ours_of(std::string_view list, const envgen::Identity& job) {
  std::string ours;
  while (!list.empty()) {
    const std::string path(base::take_part(list, ':'));
    if (!path.starts_with('/') || ::access(path.c_str(), F_OK) != 0) continue;
    if (!sys::check_ours_alone(path, &job)) continue;
    ours += (ours.empty() ? "" : ":") + path;
  }
  return ours;
}

// Returns whether `value` contains a path that the job's user can change: in a list, in options
// ("-I/home/job"), or in an assignment.
bool leads_to_job(std::string_view value, const envgen::Identity& job) {
  constexpr std::string_view kBetween = ": \t\n;,='\"";
  while (true) {
    const std::size_t begin = value.find_first_not_of(kBetween);
    if (begin == std::string_view::npos) return false;
    value.remove_prefix(begin);
    std::string_view word = value.substr(0, value.find_first_of(kBetween));
    value.remove_prefix(word.size());
    if (word.starts_with('-')) word.remove_prefix(std::min(word.find('/'), word.size()));
    const bool is_url = word.starts_with("//");
    if (word.starts_with('/') && !is_url && may_change(job, std::string(word))) return true;
  }
}

std::string libraries(const base::Environ& start) {
  return base::concat({kLibraries, ":", start.get_or(kLibraryPath, "")});
}

// Requires root.
base::Environ made_env(const base::Environ& start) {
  base::Environ env;
  env.set("PATH", ours_of(base::kTrustedPath, any_user()));
  env.set(kHome, "/");
  env.set("LC_ALL", "C");
  env.set(kLibraryPath, ours_of(libraries(start), any_user()));
  for (const std::string_view name : kKept) {
    if (const auto value = start.get(name)) env.set(name, *value);
  }
  return env;
}

// Requires root.
std::expected<Tool, StartFailure> find_ours(const std::string& name, std::string_view search_path,
                                            const base::Environ& start) {
  StartFailure failure{.exit_code = exit_code::kNotFound,
                       .error = {"running " + name, name, "no such program", "install it"}};
  const envgen::Identity any = any_user();
  // sys::find_program() is not used: a program that another user can change must be skipped and
  // reported.
  for (std::string& path : base::absolute_places_of_program(search_path, name)) {
    if (!sys::is_program(path)) continue;
    auto ours = sys::check_ours_alone(path, &any);
    if (ours) return Tool{std::move(path), made_env(start), "/"};
    failure = {.exit_code = exit_code::kCannotRun, .error = std::move(ours.error())};
  }
  return std::unexpected(std::move(failure));
}

}  // namespace

std::expected<Tool, StartFailure> find_driver_tool(const std::string& name,
                                                   const base::Environ& start) {
  if (::geteuid() == 0) {
    return find_ours(name, base::concat({base::kTrustedPath, ":", base::search_path_of(start)}),
                     start);
  }
  Tool tool{.path = name, .env = start};
  tool.env.set(kLibraryPath, base::prepend_path(kLibraries, start.get_or(kLibraryPath, "")));
  return tool;
}

std::expected<Tool, StartFailure> find_image_tool(const std::string& name,
                                                  const base::Environ& start) {
  if (::geteuid() != 0) return Tool{.path = name, .env = start};
  return find_ours(name, base::search_path_of(start), start);
}

namespace {

// Returns whether a loader or an interpreter uses the variable before the first line of a hook
// runs.
bool is_obeyed_first(std::string_view name) {
  static constexpr auto kNames = base::words("BASH_ENV", "ENV", "GCONV_PATH", "NODE_OPTIONS",
                                             "PERL5LIB", "PERL5OPT", "RUBYLIB", "RUBYOPT");
  return name.starts_with("LD_") || name.starts_with("PYTHON") ||
         std::ranges::find(kNames, name) != kNames.end();
}

// Returns whether each part is an absolute path. A relative one, or `$ORIGIN`, depends on
// directories that the job's user may change.
bool is_list_of_paths(std::string_view value) {
  constexpr std::string_view kBetween = ": ;,\t";
  bool begins = true;
  for (const char c : value) {
    if (c == '$' || (begins && c != '/' && !kBetween.contains(c))) return false;
    begins = kBetween.contains(c);
  }
  return true;
}

bool has_word(std::string_view text, std::string_view name) {
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  for (std::size_t at = text.find(name); !name.empty() && at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || !is_part(text[at - 1])) && (end == text.size() || !is_part(text[end]))) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool may_change(const envgen::Identity& job, std::string path) {
  while (sys::check_ours_alone(path, &job)) {
    if (path.size() <= 1 || ::access(path.c_str(), F_OK) == 0) return false;
    path = sys::parent_of(path);
  }
  return true;
}

std::string trusted_path(const envgen::Identity& job) { return ours_of(base::kTrustedPath, job); }

base::Environ trusted_env(const base::Environ& env, const envgen::Identity& job,
                          std::string_view text) {
  base::Environ trusted = env;
  for (const std::string& entry : env.entries()) {
    const std::string_view name = std::string_view(entry).substr(0, entry.find('='));
    const std::string_view value =
        std::string_view(entry).substr(std::min(name.size() + 1, entry.size()));
    if (name.starts_with("TRAINIT_")) continue;
    if (is_obeyed_first(name) && !is_list_of_paths(value)) {
      trusted.unset(name);
      continue;
    }
    if (!leads_to_job(value, job)) continue;
    if (name != kHome && !is_obeyed_first(name) && has_word(text, name)) continue;
    const std::string ours = name == kHome ? ours_of("/root", job) : ours_of(value, job);
    if (ours.empty()) {
      trusted.unset(name);
    } else {
      trusted.set(name, ours);
    }
  }
  trusted.set("PATH", trusted_path(job));
  return trusted;
}

}  // namespace proc
