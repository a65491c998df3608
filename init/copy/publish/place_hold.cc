// A place in a directory that others may write to: reached once, and held by descriptors.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include "envgen/plan/inputs.h"
#include "init/copy/publish/place.h"
#include "init/copy/publish/state_directory.h"
#include "init/sys/as_user.h"
#include "init/sys/files.h"
#include "init/sys/mounts.h"
#include "init/sys/permission.h"
#include "init/sys/reach.h"

namespace copy {
namespace {

constexpr const char* kWhat = "looking at the place of a copy";
constexpr mode_t kParents = 0755;
constexpr int kMostLinks = 8;

std::string path_of(const sys::Fd& fd) { return "/proc/self/fd/" + std::to_string(fd.get()); }

std::string link_at(int directory, const std::string& name) {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = ::readlinkat(directory, name.c_str(), target.data(), target.size());
  return size < 0 ? "" : std::string(target.data(), static_cast<std::size_t>(size));
}

std::string real_path_of(const sys::Fd& fd) { return link_at(AT_FDCWD, path_of(fd)); }

// Of a mount point it is what is mounted there that is written to.
bool may_be_replaced(const sys::Reached& place) {
  const int directory = place.directory.get();
  if (!sys::may_replace(directory, place.name)) return false;
  const sys::Fd there(::openat(directory, place.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!there.valid() || sys::mount_id_of(there.get()) == sys::mount_id_of(directory)) return true;
  return sys::may_access(directory, place.name.c_str(), W_OK | X_OK);
}

// The job made the link, or may have: it counts as far as the job itself could write there.
envgen::Result<sys::Reached> follow_as(const envgen::Identity& job, const std::string& link,
                                       const std::string& target) {
  auto reached = sys::reach_as(job, target, {.make_parents = kParents});
  if (!reached) return reached;
  const sys::AsUser user(job);
  // By its descriptor: what the name leads to may be another directory by now.
  if (user.switched() && may_be_replaced(*reached)) return reached;
  return envgen::fail(
      kWhat, link,
      "a link to " + target + ", where user " + std::to_string(job.uid) + " may not write",
      "name the place itself, or let that user write there");
}

envgen::Result<sys::Reached> reach_place(const std::string& destination,
                                         const envgen::Identity* job) {
  const sys::ReachRule rule{.job = job, .follow_last = true, .make_parents = kParents};
  const bool switches = job != nullptr && ::geteuid() == 0 && job->uid != 0;
  auto reached = switches ? sys::reach_as(*job, destination, rule) : sys::reach(destination, rule);
  std::string path = destination;
  for (int left = kMostLinks; reached && switches && left > 0; --left) {
    const std::string target = link_at(reached->directory.get(), reached->name);
    if (target.empty()) return reached;
    const std::string next = envgen::join_path(real_path_of(reached->directory), target);
    reached = follow_as(*job, path, next);
    path = next;
  }
  return reached;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos;) {
    const std::size_t end = at + from.size();
    if (end < text.size() && text[end] >= '0' && text[end] <= '9') {
      at = end;  // another descriptor
      continue;
    }
    text.replace(at, from.size(), to);
    at += to.size();
  }
}

}  // namespace

std::string HeldPlace::told(std::string text) const {
  if (place.path == place.real) return text;
  const std::string above = place.mount_point ? place.real : real_path_of(directory);
  replace_all(text, path_of(state), real_path_of(state));
  replace_all(text, path_of(directory), above);
  return text;
}

envgen::Status look_again(HeldPlace& held) {
  Destination now = held.place;
  const std::string state = held.place.state;
  const bool mount_point = held.place.mount_point;
  if (auto described = describe_place(now); !described) return described;
  // What is mounted there since has another state directory.
  if (now.mount_point != mount_point) {
    return envgen::fail(kWhat, now.real, "something that was mounted or unmounted meanwhile",
                        "run it again");
  }
  now.state = state;
  held.place = std::move(now);
  return {};
}

envgen::Result<HeldPlace> hold_place(const std::string& destination, const envgen::Identity* job) {
  auto reached = reach_place(destination, job);
  if (!reached) return std::unexpected(reached.error());
  HeldPlace held;
  const std::string above = real_path_of(reached->directory);
  if (reached->name == "." && !above.empty() && above != destination) {
    return hold_place(above, job);
  }
  if (reached->weakness.empty() || above.empty()) {
    auto place = find_place(destination);
    if (!place) return std::unexpected(place.error());
    held.place = std::move(*place);
  } else {
    held.directory = std::move(reached->directory);
    Destination& place = held.place;
    place.path = path_of(held.directory) + "/" + reached->name;
    place.real = envgen::join_path(above, reached->name);
    if (auto described = describe_place(place); !described) {
      return std::unexpected(described.error());
    }
    if (place.mount_point) {
      held.directory.reset(
          ::open(place.path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      place.path = path_of(held.directory);
      place.state = place.path + "/.trainit-copy";
    }
  }
  auto state = open_state(held.place.state, held.told(held.place.state));
  if (!state) return std::unexpected(state.error());
  held.state = std::move(*state);
  if (held.place.path != held.place.real) held.place.state = path_of(held.state);
  return held;
}

}  // namespace copy
