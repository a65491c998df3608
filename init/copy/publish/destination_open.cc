// Opens a destination in a directory that other users can write: it is resolved once, and then only
// used through descriptors.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <utility>

#include "envgen/plan/inputs.h"
#include "init/copy/publish/destination.h"
#include "init/copy/publish/state_directory.h"
#include "init/sys/as_user.h"
#include "init/sys/files.h"
#include "init/sys/mounts.h"
#include "init/sys/permission.h"
#include "init/sys/safe_path.h"

namespace copy {
namespace {

constexpr const char* kWhat = "looking at the place of a copy";
constexpr mode_t kParents = 0755;
constexpr int kMaxLinks = 8;

std::string path_of(const sys::Fd& fd) { return "/proc/self/fd/" + std::to_string(fd.get()); }

std::string link_at(int directory, const std::string& name) {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = ::readlinkat(directory, name.c_str(), target.data(), target.size());
  return size < 0 ? "" : std::string(target.data(), static_cast<std::size_t>(size));
}

std::string real_path_of(const sys::Fd& fd) { return link_at(AT_FDCWD, path_of(fd)); }

// Returns whether the entry can be replaced. For a mount point, whether the mounted file system can
// be written.
bool may_be_replaced(const sys::SafePath& destination) {
  const int directory = destination.directory.get();
  if (!sys::may_replace(directory, destination.name)) return false;
  const sys::Fd there(
      ::openat(directory, destination.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!there.valid() || sys::mount_id_of(there.get()) == sys::mount_id_of(directory)) return true;
  return sys::may_access(directory, destination.name.c_str(), W_OK | X_OK);
}

// Follows a link that the job has made, or could have made, only where the job itself could write.
base::Result<sys::SafePath> follow_as(const envgen::Identity& job_user, const std::string& link,
                                      const std::string& target) {
  auto reached = sys::resolve_safely_as(job_user, target, {.make_parents = kParents});
  if (!reached) return reached;
  const sys::AsUser user(job_user);
  // The descriptor is used from here on, because the name could lead to another directory later.
  if (user.switched() && may_be_replaced(*reached)) return reached;
  return base::fail(
      kWhat, link,
      "a link to " + target + ", where user " + std::to_string(job_user.uid) + " may not write",
      "name the place itself, or let that user write there");
}

base::Result<sys::SafePath> reach_destination(const std::string& destination_path,
                                              const envgen::Identity* job_user) {
  const sys::SafePathRule rule{.job_user = job_user, .follow_last = true, .make_parents = kParents};
  const bool switches = job_user != nullptr && ::geteuid() == 0 && job_user->uid != 0;
  auto reached = switches ? sys::resolve_safely_as(*job_user, destination_path, rule)
                          : sys::resolve_safely(destination_path, rule);
  std::string path = destination_path;
  for (int left = kMaxLinks; reached && switches && left > 0; --left) {
    const std::string target = link_at(reached->directory.get(), reached->name);
    if (target.empty()) return reached;
    const std::string next = envgen::join_path(real_path_of(reached->directory), target);
    reached = follow_as(*job_user, path, next);
    path = next;
  }
  return reached;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos;) {
    const std::size_t end = at + from.size();
    if (end < text.size() && text[end] >= '0' && text[end] <= '9') {
      at = end;  // the number is that of another descriptor
      continue;
    }
    text.replace(at, from.size(), to);
    at += to.size();
  }
}

}  // namespace

std::string OpenDestination::with_named_paths(std::string text) const {
  if (destination.path == destination.real) return text;
  const std::string above = destination.mount_point ? destination.real : real_path_of(directory);
  replace_all(text, path_of(state), real_path_of(state));
  replace_all(text, path_of(directory), above);
  return text;
}

base::Status refresh(OpenDestination& held) {
  Destination now = held.destination;
  const std::string state = held.destination.state;
  const bool mount_point = held.destination.mount_point;
  TRY(describe_destination(now));
  // If a file system was mounted or unmounted meanwhile, the state directory is a different one.
  if (now.mount_point != mount_point) {
    return base::fail(kWhat, now.real, "something that was mounted or unmounted meanwhile",
                      "run it again");
  }
  now.state = state;
  held.destination = std::move(now);
  return {};
}

base::Result<OpenDestination> open_destination(const std::string& destination_path,
                                               const envgen::Identity* job_user) {
  TRY_ASSIGN(auto reached, reach_destination(destination_path, job_user));
  OpenDestination held;
  const std::string above = real_path_of(reached.directory);
  if (reached.name == "." && !above.empty() && above != destination_path) {
    return open_destination(above, job_user);
  }
  if (reached.untrusted_directory.empty() || above.empty()) {
    TRY_ASSIGN(held.destination, find_destination(destination_path));
  } else {
    held.directory = std::move(reached.directory);
    Destination& destination = held.destination;
    destination.path = path_of(held.directory) + "/" + reached.name;
    destination.real = envgen::join_path(above, reached.name);
    TRY(describe_destination(destination));
    if (destination.mount_point) {
      held.directory.reset(
          ::open(destination.path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      destination.path = path_of(held.directory);
      destination.state = destination.path + "/.trainit-copy";
    }
  }
  TRY_ASSIGN(held.state,
             open_state(held.destination.state, held.with_named_paths(held.destination.state)));
  if (held.destination.path != held.destination.real) held.destination.state = path_of(held.state);
  return held;
}

}  // namespace copy
