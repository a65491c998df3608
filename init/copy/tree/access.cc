#include "init/copy/tree/access.h"

#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>

#include "init/copy/tree/posix_acl.h"

namespace copy {
namespace {

constexpr mode_t kSetIds = S_ISUID | S_ISGID;
constexpr const char* kAcl = "system.posix_acl_access";
constexpr unsigned kGroupShift = 3;

// Of `size` bytes, or -1 with errno, as getxattr has given it.
mode_t without_acl(mode_t mode, std::string_view buffer, ssize_t size) {
  // Lists that are not there are the rule, and those that cannot be had are no reason to fail.
  if (size < 0 && errno != ERANGE) return mode;
  return envgen::without_acl(mode, buffer.substr(0, size < 0 ? 0 : static_cast<std::size_t>(size)));
}

// The bits that the way to the root lets the copy's group and the others have.
mode_t passed_on_the_way(Worker& worker, gid_t group) {
  const CopyJob& job = worker.job;
  const auto above = [](const std::string& path) {
    return path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
  };
  mode_t passed = S_IRWXG | S_IRWXO;
  std::string path = job.only.empty() ? above(job.source) : job.source;
  for (;; path = above(path)) {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) return 0;
    const ssize_t size = ::getxattr(path.c_str(), kAcl, worker.acl.data(), worker.acl.size());
    const mode_t mode = without_acl(status.st_mode, worker.acl, size);
    // Who is of its group may be one of the copy's others, and the other way round.
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
  if (worker.job.options->owner) return *worker.job.options->owner;
  if (keeps_owners(worker)) return {status.st_uid, status.st_gid};
  return {worker.uid, worker.gid};
}

void narrow(Worker& worker, int file, struct stat& status) {
  const Options& options = *worker.job.options;
  const Owner owner = owner_for(worker, status);
  const bool shared = (status.st_mode & (S_IRWXG | S_IRWXO)) != 0;
  if (shared && worker.no_acls != status.st_dev) {
    const ssize_t size = ::fgetxattr(file, kAcl, worker.acl.data(), worker.acl.size());
    // A file system without them is not asked for each file.
    if (size < 0 && (errno == EOPNOTSUPP || errno == ENOSYS)) worker.no_acls = status.st_dev;
    status.st_mode = without_acl(status.st_mode, worker.acl, size);
  }
  if (!options.owner && owner.gid != status.st_gid) {
    const mode_t others = (status.st_mode & S_IRWXO) << kGroupShift;
    status.st_mode &= ~mode_t{S_IRWXG} | others;
  }
  const bool root = worker.path.empty() || !worker.job.only.empty();
  if (root && options.shared) {
    status.st_mode &= ~mode_t{S_IRWXG | S_IRWXO} | passed_on_the_way(worker, owner.gid);
  }
  const bool same = owner.uid == status.st_uid && owner.gid == status.st_gid;
  if (!same || !options.set_ids) status.st_mode &= ~kSetIds;
}

}  // namespace copy
