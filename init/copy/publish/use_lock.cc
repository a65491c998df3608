#include "init/copy/publish/use_lock.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "init/copy/publish/publication_journal.h"
#include "init/copy/tree/directory.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"
#include "init/sys/mounts.h"

namespace copy {
namespace {

constexpr const char* kWhat = "copying";

std::unexpected<base::Error> in_use(const std::string& where) {
  return base::fail(kWhat, where, "a copy that is in use by another job",
                    "wait for that job's end, name another place, or name none: the node's "
                    "cache keeps a copy for each");
}

base::Result<sys::Fd> open_lock(const Destination& destination) {
  const std::string path = destination.state + "/lease";
  sys::Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return fail_on(path, errno);
  return fd;
}

// Takes the lock; returns 0 or an errno. Tries for a moment, because another copy that checks the
// lock holds it only briefly.
int lock_patiently(const sys::Fd& lease, int operation) {
  constexpr int kTries = 50;
  constexpr int kEveryMs = 10;
  for (int left = kTries; ::flock(lease.get(), operation | LOCK_NB) != 0;) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK || --left == 0) return errno;
    sys::pause_ms(kEveryMs);
  }
  return 0;
}

// Returns whether the error means that there is no lease that counts. Other errors leave that open.
bool is_nothing(int error) { return error == ENOENT || error == EACCES || error == EPERM; }

// Returns the same for a path, which may also lead elsewhere by now, or be too long.
bool is_no_path(int error) {
  return is_nothing(error) || error == ENOTDIR || error == ELOOP || error == ENAMETOOLONG;
}

// Returns whether the entry `name` exists, has this type, and belongs to root or to this user.
base::Result<bool> counts(int directory, const std::string& name, mode_t type) {
  struct stat status{};
  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (is_no_path(errno)) return false;
    return fail_on(name, errno);
  }
  return (status.st_mode & S_IFMT) == type && (status.st_uid == 0 || status.st_uid == ::geteuid());
}

// Adds the lock of another destination to `held`; `state` is its state directory. Returns false if
// that destination is in use.
base::Result<bool> lock_other(int directory, const std::string& state, std::vector<sys::Fd>& held) {
  constexpr int kFlags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const std::string path = state + "/lease";
  auto there = counts(directory, state, S_IFDIR);
  if (there && *there) there = counts(directory, path, S_IFREG);
  if (!there) return there;
  if (!*there) return true;
  // A lease of root that this user cannot open does not prevent the user from replacing own files.
  sys::Fd lease(::openat(directory, path.c_str(), O_RDWR | kFlags));
  // The mount is read-only here. But a job may use the copy through another mount, so the lock
  // still counts.
  if (!lease.valid() && errno == EROFS) {
    lease.reset(::openat(directory, path.c_str(), O_RDONLY | kFlags));
  }
  if (!lease.valid() && is_nothing(errno)) return true;
  if (!lease.valid()) return fail_on(path, errno);
  const int error = lock_patiently(lease, LOCK_EX);
  if (error == EWOULDBLOCK) return false;
  if (error != 0) return fail_on(path, error);
  held.push_back(std::move(lease));
  return true;
}

// Adds the locks of the copies in one directory below the destination to `held`, and the
// subdirectories to `left`.
base::Status hold_in(const Destination& destination, const sys::Fd& directory,
                     const std::string& path, std::vector<std::string>& left,
                     std::vector<sys::Fd>& held) {
  DirectoryReader reader;
  std::vector<Name> names;
  while (reader.read(directory.get(), names)) {
    if (names.empty()) return {};
    for (const Name& name : names) {
      if (name.type != DT_DIR && name.type != DT_UNKNOWN) continue;
      std::string entry = path + (path.empty() ? "" : "/");
      entry += name.text;
      if (!name.text.starts_with(kStateName)) {
        left.push_back(std::move(entry));
        continue;
      }
      auto free = lock_other(directory.get(), name.c_str(), held);
      if (!free) {
        free.error().where = destination.real + "/" + entry;
        return std::unexpected(free.error());
      }
      if (!*free) return in_use(destination.real + "/" + entry);
    }
  }
  return fail_on(destination.real + "/" + path, errno);
}

// Takes the locks of all copies below the destination. Does not enter mounts, because a move of the
// destination does not move them.
base::Status lock_below(const Destination& destination, const Keep& keep,
                        std::vector<sys::Fd>& held) {
  constexpr std::int64_t kKeepMs = 200;
  const sys::Fd root(
      ::open(destination.path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!root.valid() && is_no_path(errno)) return {};
  if (!root.valid()) return fail_on(destination.real, errno);
  const std::uint64_t mount = sys::mount_id_of(root.get());
  std::vector<std::string> left = {""};
  std::int64_t next_ms = 0;
  while (!left.empty()) {
    if (keep && sys::monotonic_ms() >= next_ms) {
      TRY(keep());
      next_ms = sys::monotonic_ms() + kKeepMs;
    }
    const std::string path = std::move(left.back());
    left.pop_back();
    const std::string_view below = path.empty() ? "." : std::string_view(path);
    const sys::Fd entry = open_below(root.get(), below, O_PATH | O_DIRECTORY);
    if (!entry.valid() && is_no_path(errno)) continue;
    if (!entry.valid()) return fail_on(destination.real + "/" + path, errno);
    const std::uint64_t entry_mount = sys::mount_id_of(entry.get());
    if ((entry_mount == 0) != (mount == 0)) {
      return base::fail(kWhat, destination.real + "/" + path, "a mount that cannot be told",
                        "allow more open files");
    }
    if (entry_mount != mount) continue;
    const sys::Fd directory = open_below(entry.get(), ".", O_RDONLY | O_DIRECTORY);
    if (!directory.valid() && is_no_path(errno)) continue;
    if (!directory.valid()) return fail_on(destination.real + "/" + path, errno);
    TRY(hold_in(destination, directory, path, left, held));
  }
  return {};
}

// Fails if a directory of the path is a copy in use, or is inside one.
base::Status check_path(std::string path) {
  while (path != "/" && !path.empty()) {
    const std::size_t slash = path.rfind('/');
    const std::string state = path.substr(0, slash + 1) + state_name(path.substr(slash + 1));
    std::vector<sys::Fd> looked;  // locks that are only checked, and released at once
    TRY_ASSIGN(const auto free, lock_other(AT_FDCWD, state, looked));
    if (!free) return in_use(path);
    path.resize(slash);
  }
  return {};
}

}  // namespace

base::Result<sys::Fd> lock_for_use(const Destination& destination, const Options& options) {
  auto lease = open_lock(destination);
  if (!lease) return lease;
  const int error = lock_patiently(*lease, LOCK_SH);
  if (error == 0) return lease;
  lease->reset();
  if (options.warn) {
    const std::string why =
        error == EWOULDBLOCK ? "it is just being replaced" : sys::errno_text(error);
    options.warn(destination.real_data() +
                 ": no lease on it, so another copy may replace it while it is "
                 "used: " +
                 why);
  }
  return lease;
}

base::Result<std::vector<sys::Fd>> lock_unused(const Destination& destination, const Keep& keep) {
  std::vector<sys::Fd> held;
  if (destination.exists) {
    TRY_ASSIGN(auto lease, open_lock(destination));
    const int error = lock_patiently(lease, LOCK_EX);
    if (error == EWOULDBLOCK) return in_use(destination.data());
    if (error != 0) return fail_on(destination.state, error);
    held.push_back(std::move(lease));
  }
  auto free = check_above(destination);
  if (free && destination.exists && destination.directory && !destination.mount_point) {
    free = lock_below(destination, keep, held);
  }
  if (!free) return std::unexpected(free.error());
  return held;
}

base::Status check_above(const Destination& destination) {
  const std::string from = destination.mount_point ? destination.real : destination.named_parent();
  const sys::Fd held(::open(from.c_str(), O_PATH | O_CLOEXEC));
  const std::string mountinfo = sys::inspect("/proc/self/mountinfo", true).content;
  std::vector<std::string> paths = sys::other_paths(mountinfo, sys::mount_id_of(held.get()), from);
  if (!destination.mount_point) paths.push_back(from);
  for (const std::string& path : paths) {
    TRY(check_path(path));
  }
  return {};
}

}  // namespace copy
