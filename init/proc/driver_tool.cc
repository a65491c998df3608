#include "init/proc/driver_tool.h"

#include <unistd.h>

#include <string_view>
#include <utility>

#include "base/exit_codes.h"
#include "base/text.h"
#include "init/sys/reach.h"

namespace proc {
namespace {

constexpr std::string_view kPlaces =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/Ascend/driver/tools:"
    "/usr/local/nvidia/bin:/usr/lib/wsl/lib";
constexpr const char* kLibraries =
    "/usr/local/Ascend/driver/lib64/common:/usr/local/Ascend/driver/lib64/driver:"
    "/usr/local/nvidia/lib64:/usr/local/nvidia/lib";

// Without what would have the tool's loader or shell read other files.
envgen::Environ plain(const envgen::Environ& env) {
  envgen::Environ result;
  for (const std::string& entry : env.entries()) {
    const std::string_view name = std::string_view(entry).substr(0, entry.find('='));
    if (name.starts_with("LD_") || name == "BASH_ENV" || name == "ENV") continue;
    if (name.size() < entry.size()) result.set(name, entry.substr(name.size() + 1));
  }
  return result;
}

// As root.
std::expected<Tool, StartFailure> find_ours(const std::string& name, std::string_view places,
                                            const envgen::Environ& env) {
  StartFailure failure{.exit_code = exit_code::kNotFound,
                       .error = {"running " + name, name, "no such program", "install it"}};
  for (std::string_view rest = places; !rest.empty();) {
    const std::string_view place = envgen::take_part(rest, ':');
    std::string path = std::string(place) + "/" + name;
    if (!place.starts_with('/') || ::access(path.c_str(), X_OK) != 0) continue;
    // A group that may write it is the job's for all that is known here.
    envgen::Identity any;
    any.groups = {0};
    auto ours = sys::check_ours_alone(path, &any);
    if (ours) return Tool{std::move(path), env};
    failure = {.exit_code = exit_code::kCannotRun, .error = std::move(ours.error())};
  }
  return std::unexpected(std::move(failure));
}

}  // namespace

std::expected<Tool, StartFailure> find_driver_tool(const std::string& name,
                                                   const envgen::Environ& env) {
  if (::geteuid() != 0) return Tool{name, env};
  const std::string places = std::string(kPlaces) + ":" + std::string(env.get_or("PATH", ""));
  envgen::Environ drivers = plain(env);
  drivers.set("PATH", kPlaces);
  drivers.set("LD_LIBRARY_PATH", kLibraries);
  return find_ours(name, places, drivers);
}

std::expected<Tool, StartFailure> find_image_tool(const std::string& name,
                                                  const envgen::Environ& env) {
  if (::geteuid() != 0) return Tool{name, env};
  return find_ours(name, env.get_or("PATH", "/usr/bin:/bin"), plain(env));
}

}  // namespace proc
