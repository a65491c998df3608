#include "init/copy/tree/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstring>
#include <string>
#include <tuple>

namespace copy {
namespace {

constexpr std::size_t kBuffer = 32768;  // bytes

// The record that getdents64 writes. glibc has no name for it.
struct Dirent {
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t length;
  unsigned char type;
};
constexpr std::size_t kNameAt = offsetof(Dirent, type) + 1;

bool is_dots(std::string_view name) { return name == "." || name == ".."; }

}  // namespace

sys::Fd open_below(int root, std::string_view path, int flags) {
  constexpr std::size_t kMax = PATH_MAX - 1;
  sys::Fd directory;
  int from = root;
  while (path.size() > kMax) {
    // A name has at most 255 bytes, so a path of this length contains a slash.
    const std::size_t slash = path.rfind('/', kMax);
    if (slash == std::string_view::npos) break;
    const std::string part(path.substr(0, slash));
    directory.reset(::openat(from, part.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!directory.valid()) return {};
    from = directory.get();
    path.remove_prefix(slash + 1);
  }
  const std::string rest(path.empty() ? std::string_view(".") : path);
  return sys::Fd(::openat(from, rest.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
}

bool drop_inherited(int directory) {
  for (const char* list : {"system.posix_acl_default", "system.posix_acl_access"}) {
    if (::fremovexattr(directory, list) == 0) continue;
    const int error = errno;
    if (::fgetxattr(directory, list, nullptr, 0) < 0) continue;  // the directory has no such list
    errno = error;
    return false;
  }
  struct stat status{};
  if (::fstat(directory, &status) != 0) return false;
  const gid_t group = ::getegid();
  if (status.st_gid != group) std::ignore = ::fchown(directory, static_cast<uid_t>(-1), group);
  return true;
}

DirectoryReader::DirectoryReader() : buffer_(new char[kBuffer]) {}

bool DirectoryReader::read(int fd, std::vector<Name>& names, NameOrder order) {
  names.clear();
  while (names.empty()) {
    const long size = ::syscall(SYS_getdents64, fd, buffer_.get(), kBuffer);
    if (size < 0) return false;
    if (size == 0) return true;
    for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
      Dirent entry{};
      std::memcpy(&entry, buffer_.get() + at, kNameAt);
      const std::string_view name(buffer_.get() + at + kNameAt);
      if (!is_dots(name)) names.push_back({entry.inode, entry.type, name});
      at += entry.length;
    }
  }
  if (order == NameOrder::kByInode) std::ranges::sort(names, {}, &Name::inode);
  return true;
}

}  // namespace copy
