#include "init/copy/publish/lease.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "init/copy/tree/directory.h"
#include "init/sys/files.h"
#include "init/sys/mounts.h"

namespace copy {
namespace {

constexpr const char* kWhat = "copying";

std::unexpected<envgen::Error> fail_on(const std::string& path, int error) {
  const char* fix = "name a place that may be written";
  if (error == ENOSPC || error == EDQUOT) fix = "make room there";
  if (error == EISDIR) fix = "remove it";
  return envgen::fail(kWhat, path, sys::errno_text(error), fix);
}

std::unexpected<envgen::Error> in_use(const std::string& where) {
  return envgen::fail(kWhat, where, "a copy that is in use by another job",
                      "wait for that job's end, name another place, or name none: the node's "
                      "cache keeps a copy for each");
}

envgen::Result<sys::Fd> open_lease(const Destination& place) {
  const std::string path = place.state + "/lease";
  sys::Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return fail_on(path, errno);
  return fd;
}

// 0, or why not.
int lock(const sys::Fd& lease, int operation) {
  while (::flock(lease.get(), operation | LOCK_NB) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

// Of another place, whose state directory this is: adds what has to be held to `claimed`. False:
// it is in use.
bool claim_other(int directory, const std::string& state, std::vector<sys::Fd>& claimed) {
  constexpr int kFlags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const std::string path = state + "/lease";
  const auto counts = [directory](const std::string& name, mode_t type) {
    struct stat status{};
    return ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           (status.st_mode & S_IFMT) == type &&
           (status.st_uid == 0 || status.st_uid == ::geteuid());
  };
  if (!counts(state, S_IFDIR) || !counts(path, S_IFREG)) return true;
  // Root's, which nobody else can ask, keeps nobody from what is theirs.
  sys::Fd lease(::openat(directory, path.c_str(), O_RDWR | kFlags));
  if (!lease.valid()) return true;
  if (lock(lease, LOCK_EX) == EWOULDBLOCK) return false;
  claimed.push_back(std::move(lease));
  return true;
}

// The copies below a directory. What is mounted there stays where it is.
envgen::Status claim_below(const Destination& place, std::vector<sys::Fd>& claimed) {
  const sys::Fd root(::open(place.path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!root.valid()) return {};
  const std::uint64_t mount = sys::mount_id_of(root.get());
  DirectoryReader reader;
  std::vector<Name> names;
  std::vector<std::string> left = {""};
  while (!left.empty()) {
    const std::string path = std::move(left.back());
    left.pop_back();
    const std::string_view below = path.empty() ? "." : std::string_view(path);
    const sys::Fd held = open_below(root.get(), below, O_PATH | O_DIRECTORY);
    if (!held.valid() || sys::mount_id_of(held.get()) != mount) continue;
    const sys::Fd directory = open_below(held.get(), ".", O_RDONLY | O_DIRECTORY);
    while (directory.valid() && reader.read(directory.get(), names) && !names.empty()) {
      for (const Name& name : names) {
        if (name.type != DT_DIR && name.type != DT_UNKNOWN) continue;
        std::string entry = path + (path.empty() ? "" : "/");
        entry += name.text;
        if (!name.text.starts_with(kStateName)) {
          left.push_back(std::move(entry));
        } else if (!claim_other(directory.get(), name.c_str(), claimed)) {
          return in_use(place.real + "/" + entry);
        }
      }
    }
  }
  return {};
}

// That no directory of the path is a copy in use, nor lies in one.
envgen::Status check_path(std::string path) {
  constexpr int kTries = 50;
  constexpr int kEveryMs = 10;
  while (path != "/" && !path.empty()) {
    const std::size_t slash = path.rfind('/');
    const std::string state = path.substr(0, slash + 1) + state_name(path.substr(slash + 1));
    // Not held, and tried again: another copy that looks just now is no use of it.
    std::vector<sys::Fd> looked;
    int left = kTries;
    while (!claim_other(AT_FDCWD, state, looked)) {
      if (--left == 0) return in_use(path);
      ::poll(nullptr, 0, kEveryMs);
    }
    path.resize(slash);
  }
  return {};
}

}  // namespace

envgen::Result<sys::Fd> take_lease(const Destination& place) {
  auto lease = open_lease(place);
  if (lease && lock(*lease, LOCK_SH) != 0) lease->reset();
  return lease;
}

envgen::Result<std::vector<sys::Fd>> claim(const Destination& place) {
  std::vector<sys::Fd> claimed;
  if (place.exists) {
    auto lease = open_lease(place);
    if (!lease) return std::unexpected(lease.error());
    const int error = lock(*lease, LOCK_EX);
    if (error == EWOULDBLOCK) return in_use(place.data());
    if (error != 0) return fail_on(place.state, error);
    claimed.push_back(std::move(*lease));
  }
  auto free = check_above(place);
  if (free && place.exists && place.directory && !place.mount_point) {
    free = claim_below(place, claimed);
  }
  if (!free) return std::unexpected(free.error());
  return claimed;
}

envgen::Status check_above(const Destination& place) {
  const std::string from = place.mount_point ? place.real : place.parent_as_told();
  const sys::Fd held(::open(from.c_str(), O_PATH | O_CLOEXEC));
  const std::string mountinfo = sys::look("/proc/self/mountinfo", true).content;
  std::vector<std::string> paths = sys::other_paths(mountinfo, sys::mount_id_of(held.get()), from);
  if (!place.mount_point) paths.push_back(from);
  for (const std::string& path : paths) {
    if (auto free = check_path(path); !free) return free;
  }
  return {};
}

}  // namespace copy
