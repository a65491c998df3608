#include "init/sys/permission.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <vector>

namespace sys {
namespace {

bool has_group(gid_t group) {
  if (group == ::getegid()) return true;
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(::getgroups(0, nullptr), 0)));
  if (groups.empty()) return false;
  const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(static_cast<std::size_t>(std::max(count, 0)));
  return std::ranges::find(groups, group) != groups.end();
}

// Judges only by the mode. An access control list or a read-only mount is not considered.
bool mode_allows(const struct stat& status, int access) {
  constexpr unsigned kGroup = 3;
  constexpr unsigned kOwner = 6;
  const bool executable = S_ISDIR(status.st_mode) || (status.st_mode & 0111U) != 0;
  if (::geteuid() == 0) return (access & X_OK) == 0 || executable;
  const unsigned shift = status.st_uid == ::geteuid() ? kOwner
                         : has_group(status.st_gid)   ? kGroup
                                                      : 0;
  const auto wanted = static_cast<unsigned>(access);
  return ((status.st_mode >> shift) & wanted) == wanted;
}

}  // namespace

bool may_access(int directory, const char* path, int access) {
  if (::syscall(SYS_faccessat2, directory, path, access, AT_EACCESS) == 0) return true;
  // faccessat2 does not exist before Linux 5.8, or a seccomp profile does not know it.
  if (errno != EPERM && errno != ENOSYS) return false;
  if (::getuid() == ::geteuid() && ::getgid() == ::getegid()) {
    return ::syscall(SYS_faccessat, directory, path, access) == 0;
  }
  struct stat status{};
  if (::fstatat(directory, path, &status, 0) != 0) return false;
  if (mode_allows(status, access)) return true;
  errno = EACCES;
  return false;
}

bool may_replace(int directory, const std::string& name) {
  if (!may_access(directory, ".", W_OK | X_OK)) return false;
  struct stat status{};
  struct stat entry{};
  if (::fstat(directory, &status) != 0) return false;
  if ((status.st_mode & S_ISVTX) == 0 || status.st_uid == ::geteuid()) return true;
  if (::fstatat(directory, name.c_str(), &entry, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT;
  return entry.st_uid == ::geteuid();
}

}  // namespace sys
