#include "init/copy/tree/access.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string>
#include <string_view>

#include "init/copy/posix_acl.h"

namespace copy {
namespace {

constexpr mode_t kSetIds = S_ISUID | S_ISGID;
constexpr const char* kAcl = "system.posix_acl_access";
constexpr unsigned kGroupShift = 3;

// Returns the mode without the list in `buffer`. `size` is what getxattr has returned: the number
// of bytes, or -1 with errno.
mode_t without_acl(mode_t mode, std::string_view buffer, ssize_t size) {
  // Usually there is no list. A list that cannot be read for other reasons is ignored as well. But
  // if the storage fails, the list may exclude any user, so it is treated as empty.
  if (size < 0 && errno != ERANGE && !is_storage_error(errno)) return mode;
  return copy::without_acl(mode, buffer.substr(0, size < 0 ? 0 : static_cast<std::size_t>(size)));
}

// Returns the permissions that the directories above the root give to the copy's group and to
// others.
mode_t passed_on_the_way(Worker& worker, gid_t group, std::string path) {
  mode_t passed = S_IRWXG | S_IRWXO;
  while (true) {
    path.resize(std::max<std::size_t>(path.rfind('/'), 1));
    struct stat status{};
    const auto look = [&] { return ::stat(path.c_str(), &status); };
    if (ask_source(worker.waiting, look) != 0) return 0;
    const ssize_t size = ask_source(worker.waiting, [&] {
      return ::getxattr(path.c_str(), kAcl, worker.acl.data(), worker.acl.size());
    });
    const mode_t mode = without_acl(status.st_mode, worker.acl, size);
    // If the groups differ, a member of the source's group can be one of the others of the copy,
    // and vice versa.
    const bool others = (mode & S_IXGRP) != 0 && (mode & S_IXOTH) != 0;
    const bool same = status.st_gid == group;
    if (!others) passed &= ~mode_t{S_IRWXO};
    if (same ? (mode & S_IXGRP) == 0 : !others) passed &= ~mode_t{S_IRWXG};
    if (path == "/") return passed;
  }
}

}  // namespace

bool keeps_owners(const Worker& worker) {
  return (worker.job.options->owner.has_value() || worker.uid == 0) &&
         !worker.job.header->no_owners.load(std::memory_order_relaxed);
}

Owner owner_for(const Worker& worker, const struct stat& status) {
  if (!keeps_owners(worker)) return worker.job.header->kept.owner;
  if (worker.job.options->owner) return *worker.job.options->owner;
  return {status.st_uid, status.st_gid};
}

bool set_mode(const Worker& worker, int file, mode_t mode) {
  return ::fchmod(file, mode) == 0 || !worker.job.header->kept.modes;
}

bool set_times(const Worker& worker, int file, const struct stat& status) {
  // Sets both times: libfuse 2 sets both or none, and reports success if only one was given.
  const timespec times[2] = {status.st_atim, status.st_mtim};
  return ::futimens(file, times) == 0 || worker.job.header->kept.time_step_ns == 0;
}

void narrow(Worker& worker, int file, struct stat& status) {
  const Options& options = *worker.job.options;
  const Owner owner = owner_for(worker, status);
  const bool shared = (status.st_mode & (S_IRWXG | S_IRWXO)) != 0;
  if (shared && worker.no_acls != status.st_dev) {
    const auto read = [&] { return ::fgetxattr(file, kAcl, worker.acl.data(), worker.acl.size()); };
    const bool fails = worker.failing_acls == status.st_dev;
    const ssize_t size = fails ? read() : ask_source(worker.waiting, read);
    if (size < 0 && is_storage_error(errno)) worker.failing_acls = status.st_dev;
    // Remembers a file system without lists, so that it is not asked for each file.
    if (size < 0 && (errno == EOPNOTSUPP || errno == ENOSYS)) worker.no_acls = status.st_dev;
    status.st_mode = without_acl(status.st_mode, worker.acl, size);
  }
  if ((!options.owner || !keeps_owners(worker)) && owner.gid != status.st_gid) {
    const mode_t others = (status.st_mode & S_IRWXO) << kGroupShift;
    status.st_mode &= ~mode_t{S_IRWXG} | others;
  }
  const bool root = worker.path.empty() || !worker.job.only.empty();
  if (root && options.shared) {
    const std::string entry = worker.job.source + (worker.job.only.empty() ? "" : "/.");
    status.st_mode &= ~mode_t{S_IRWXG | S_IRWXO} | passed_on_the_way(worker, owner.gid, entry);
  }
  // A user who can reach the link may not be able to reach its target, so the rights of that path
  // count too.
  std::array<char, PATH_MAX> real{};
  if (!worker.linked.empty()) {
    status.st_mode &=
        ~mode_t{S_IRWXG | S_IRWXO} | passed_on_the_way(worker, owner.gid, worker.linked);
  } else if (worker.in_linked && S_ISDIR(status.st_mode)) {
    const bool known =
        ::realpath(shown(worker.job.source, worker.path).c_str(), real.data()) != nullptr;
    status.st_mode &= ~mode_t{S_IRWXG | S_IRWXO} |
                      (known ? passed_on_the_way(worker, owner.gid, real.data()) : 0U);
  }
  const bool same = owner.uid == status.st_uid && owner.gid == status.st_gid;
  if (!same || !options.set_ids) status.st_mode &= ~kSetIds;
}

}  // namespace copy
