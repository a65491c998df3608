#include "init/sys/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <tuple>
#include <utility>
#include <vector>

#include "init/sys/clock.h"
#include "init/sys/fd.h"
#include "init/sys/mounts.h"
#include "init/sys/permission.h"
#include "init/sys/safe_path.h"
#include "init/sys/umask.h"

namespace sys {
namespace {

constexpr const char* kWriting = "writing a file";

bool is_dots(const char* name) {
  return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0;
}

std::string fix_for(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "make room on that file system, or choose another path";
    case EROFS:
      return "mount it writable, or choose another path";
    case EACCES:
    case EPERM:
      return "make the directory writable for uid " + std::to_string(::geteuid()) +
             ", or choose another path";
    case ENOENT:
      return "create the directory first";
    case EBUSY:
      return "it is a mount point: mount its directory instead, or choose another path";
    case EISDIR:
    case EEXIST:
    case ENOTDIR:
      return "remove what is there, or choose another path";
    case EMFILE:
    case ENFILE:
      return "raise the limit on open files";
    case ENAMETOOLONG:
    case ELOOP:
      return "choose another path";
    default:
      return {};
  }
}

std::unexpected<envgen::Error> fail_errno(const char* what, std::string where, int error) {
  return envgen::fail(what, std::move(where), errno_text(error), fix_for(error));
}

// The error of a walk, told as that of what it was for.
std::unexpected<envgen::Error> explained(const char* what, envgen::Error error) {
  error.what = what;
  return std::unexpected(std::move(error));
}

// Random, because several containers may write into one shared directory, all as process 1.
std::string random_name() {
  std::uint64_t bits = 0;
  if (::getrandom(&bits, sizeof bits, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof bits)) {
    bits = static_cast<std::uint64_t>(wall_ms()) << 22 ^ static_cast<std::uint64_t>(::getpid());
  }
  std::array<char, 40> name{};
  std::snprintf(name.data(), name.size(), ".trainit-%016llx",
                static_cast<unsigned long long>(bits));
  return name.data();
}

// A write beyond RLIMIT_FSIZE also sends SIGXFSZ, which would end us, or a task that starts with it
// pending: here the error is enough.
class NoFileSizeSignal {
 public:
  NoFileSizeSignal() {
    ::sigemptyset(&signal_);
    ::sigaddset(&signal_, SIGXFSZ);
    ::sigprocmask(SIG_BLOCK, &signal_, &before_);
  }
  // The write has failed by it: one is pending, ours.
  void take() const {
    constexpr timespec kNow{};
    ::sigtimedwait(&signal_, nullptr, &kNow);
  }
  ~NoFileSizeSignal() {
    // Not SIG_SETMASK: glibc would leave 32 and 33 out, which an init blocks as well.
    if (::sigismember(&before_, SIGXFSZ) == 0) ::sigprocmask(SIG_UNBLOCK, &signal_, nullptr);
  }
  NoFileSizeSignal(const NoFileSizeSignal&) = delete;
  NoFileSizeSignal& operator=(const NoFileSizeSignal&) = delete;

 private:
  sigset_t signal_;
  sigset_t before_;
};

int write_content(int fd, std::string_view content) {
  const NoFileSizeSignal quiet;
  if (write_all(fd, content) == content.size()) return 0;
  const int error = errno;
  if (error == EFBIG) quiet.take();
  return error;
}

// A file system without modes refuses fchmod. That matters only where the mode keeps others out.
int set_mode(int fd, std::uint32_t mode) {
  if (::fchmod(fd, mode) == 0) return 0;
  const bool no_modes = errno == EPERM || errno == ENOSYS || errno == EOPNOTSUPP;
  return no_modes && (mode & 077) != 0 ? 0 : errno;
}

// ext4 brings a file to the disk before a rename puts it in another's place (mount option
// auto_da_alloc), and the rename waits for it; not so where the two change places and the old one
// goes then.
int put(const SafePath& to, const std::string& from, Lifetime lifetime) {
  const int directory = to.directory.get();
  const auto exchange = [&] {
    return ::renameat2(directory, from.c_str(), directory, to.name.c_str(), RENAME_EXCHANGE) == 0;
  };
  if (lifetime == Lifetime::kMachine && exchange()) {
    if (::unlinkat(directory, from.c_str(), 0) == 0) return 0;
    // A directory goes back, as a rename would not have replaced it. Else the new one stays in its
    // place, whatever becomes of the old one: a FUSE server that knows no swap has renamed, so that
    // there is none (ENOENT), and a full file system may not remove it.
    const bool was_directory = errno == EISDIR || errno == EPERM;
    if (!was_directory || !exchange()) return 0;
  }
  return ::renameat(directory, from.c_str(), directory, to.name.c_str()) == 0 ? 0 : errno;
}

int fill_and_put(Fd fd, std::uint32_t mode, const Producer& content, const SafePath& to,
                 const std::string& from, Lifetime lifetime) {
  if (const int error = write_pieces(fd.get(), content); error != 0) return error;
  if (const int error = set_mode(fd.get(), mode); error != 0) return error;
  // Not left to the destructor: NFS and quotas report what could not be stored here.
  if (::close(fd.release()) != 0 && errno != EINTR) return errno;
  return put(to, from, lifetime);
}

bool is_directory(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

int write_pieces(int fd, const Producer& content) {
  int error = 0;
  content([&error, fd](std::string_view piece) {
    if (error == 0) error = write_content(fd, piece);
  });
  return error;
}

envgen::Status write_file_atomic(const SafePath& place, const std::string& path, std::uint32_t mode,
                                 const Producer& content, Lifetime lifetime) {
  constexpr int kAttempts = 16;
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  std::string temporary;
  Fd fd;
  for (int attempt = 0; attempt < kAttempts && !fd.valid(); ++attempt) {
    temporary = random_name();
    fd.reset(::openat(place.directory.get(), temporary.c_str(), kFlags, 0600));
    if (!fd.valid() && errno != EEXIST) break;
  }
  if (!fd.valid()) return fail_errno(kWriting, path, errno);
  const int error = fill_and_put(std::move(fd), mode, content, place, temporary, lifetime);
  if (error == 0) return {};
  ::unlinkat(place.directory.get(), temporary.c_str(), 0);
  return fail_errno(kWriting, path, error);
}

envgen::Status write_file_atomic(const std::string& path, std::uint32_t mode,
                                 const Producer& content) {
  auto reached = resolve_safely(path);
  if (!reached) return explained(kWriting, std::move(reached.error()));
  return write_file_atomic(*reached, path, mode, content);
}

envgen::Status write_file_atomic(const std::string& path, std::uint32_t mode,
                                 std::string_view content) {
  return write_file_atomic(path, mode, [content](const Sink& sink) { sink(content); });
}

envgen::Status write_file_atomic(const SafePath& place, const std::string& path, std::uint32_t mode,
                                 std::string_view content, Lifetime lifetime) {
  return write_file_atomic(
      place, path, mode, [content](const Sink& sink) { sink(content); }, lifetime);
}

bool overwrite_file(const std::string& path, std::string_view content) {
  const auto reached = resolve_safely(path);
  if (!reached) return false;
  // Cut afterwards: room that is given back first may be somebody else's by then.
  const Fd fd(
      ::openat(reached->directory.get(), reached->name.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
  return fd.valid() && write_content(fd.get(), content) == 0 &&
         ::ftruncate(fd.get(), static_cast<off_t>(content.size())) == 0;
}

std::size_t write_all(int fd, std::string_view bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) errno = ENOSPC;
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

envgen::Status make_directories(const std::string& path, std::uint32_t mode) {
  constexpr const char* kWhat = "creating a directory";
  if (is_directory(path)) return {};
  auto reached = resolve_safely(path, {.follow_last = true, .make_parents = mode});
  if (!reached) return explained(kWhat, std::move(reached.error()));
  const NoUmask exact;
  const int result = ::mkdirat(reached->directory.get(), reached->name.c_str(), mode);
  const int error = errno;
  // A directory that exists may answer EROFS or EACCES instead of EEXIST.
  if (result == 0 || is_directory(path)) return {};
  return fail_errno(kWhat, path, error);
}

std::string present_part(std::string path) {
  while (path.size() > 1 && ::access(path.c_str(), F_OK) != 0 && errno == ENOENT) {
    path = parent_of(path);
  }
  return path;
}

std::string parent_of(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  if (end == std::string::npos) return path.empty() ? "." : "/";
  const std::size_t slash = path.rfind('/', end);
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

namespace {

struct Level {
  std::uint64_t mount;
  dev_t device;
  ino_t inode;
  std::string name;  // in the level above
};

// Holds one descriptor, however deep the tree is, and goes up by ".." after checking that this is
// still the directory it came from.
class TreeRemover {
 public:
  TreeRemover(const SafePath& place, std::string shown) : place_(place), root_(std::move(shown)) {}
  envgen::Status run();

 private:
  envgen::Status fail(const std::string& name, int error) const;
  int enter(int parent, const std::string& name);
  int leave();
  int clear(std::string* subdirectory);

  const SafePath& place_;
  std::string root_;  // for messages
  Fd current_;
  std::vector<Level> levels_;
  int busy_ = 0;  // how often a directory that was emptied was not empty
};

envgen::Status TreeRemover::fail(const std::string& name, int error) const {
  constexpr std::size_t kShown = 1000;
  std::string path = root_;
  for (std::size_t i = 1; i < levels_.size(); ++i) path += "/" + levels_[i].name;
  if (!name.empty()) path += "/" + name;
  if (path.size() > kShown) path = path.substr(0, kShown) + "...";
  const char* fix = error == EXDEV ? "unmount what is mounted there first" : "remove it by hand";
  return envgen::fail("removing a directory tree", std::move(path), errno_text(error), fix);
}

int TreeRemover::enter(int parent, const std::string& name) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  Fd fd(::openat(parent, name.c_str(), kFlags));
  // A copy of a directory that nobody may read or write is removed all the same.
  if (!fd.valid() && errno == EACCES &&
      ::fchmodat(parent, name.c_str(), S_IRWXU, AT_SYMLINK_NOFOLLOW) == 0) {
    fd.reset(::openat(parent, name.c_str(), kFlags));
  }
  if (!fd.valid()) return errno;
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return errno;
  const std::uint64_t mount = mount_id_of(fd.get());
  const bool same = levels_.empty() ||
                    (status.st_dev == levels_.front().device && mount == levels_.front().mount);
  if (!same) return EXDEV;
  // Whatever name led here: the whole system is never what is meant.
  struct stat system_root{};
  if (::stat("/", &system_root) != 0) return errno;
  if (status.st_dev == system_root.st_dev && status.st_ino == system_root.st_ino) return EBUSY;
  if ((status.st_mode & S_IRWXU) != S_IRWXU) ::fchmod(fd.get(), S_IRWXU);
  levels_.push_back({mount, status.st_dev, status.st_ino, name});
  current_ = std::move(fd);
  return 0;
}

int TreeRemover::leave() {
  const Level& above = levels_[levels_.size() - 2];
  Fd parent(::openat(current_.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent.valid()) return errno;
  struct stat status{};
  if (::fstat(parent.get(), &status) != 0) return errno;
  if (status.st_dev != above.device || status.st_ino != above.inode) return ESTALE;
  constexpr int kMaxBusy = 1000;
  if (::unlinkat(parent.get(), levels_.back().name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
    // Somebody adds files while we remove them.
    if ((errno == ENOTEMPTY || errno == EEXIST) && ++busy_ < kMaxBusy) return 0;
    return errno;
  }
  levels_.pop_back();
  current_ = std::move(parent);
  return 0;
}

// Removes the files of the current directory until a subdirectory is met.
int TreeRemover::clear(std::string* subdirectory) {
  subdirectory->clear();
  Fd fd(::openat(current_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return errno;
  const Dir directory(::fdopendir(fd.get()));
  if (!directory) return errno;
  std::ignore = fd.release();
  errno = 0;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (is_dots(entry->d_name)) continue;
    struct stat status{};
    const bool known = ::fstatat(current_.get(), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (known && S_ISDIR(status.st_mode)) {
      *subdirectory = entry->d_name;
      return 0;
    }
    if (::unlinkat(current_.get(), entry->d_name, 0) != 0 && errno != ENOENT) {
      *subdirectory = entry->d_name;  // for the message
      return errno;
    }
    errno = 0;
  }
  return errno;
}

envgen::Status TreeRemover::run() {
  if (const int error = enter(place_.directory.get(), place_.name); error != 0) {
    return fail("", error);
  }
  while (true) {
    std::string name;
    if (const int error = clear(&name); error != 0) return fail(name, error);
    if (!name.empty()) {
      if (const int error = enter(current_.get(), name); error != 0) return fail(name, error);
      continue;
    }
    if (levels_.size() == 1) break;
    if (const int error = leave(); error != 0) return fail("", error);
  }
  current_.reset();
  const int result = ::unlinkat(place_.directory.get(), place_.name.c_str(), AT_REMOVEDIR);
  return result == 0 || errno == ENOENT ? envgen::Status() : fail("", errno);
}

}  // namespace

envgen::Status remove_tree(const std::string& path) {
  // lstat follows a link whose name ends with a slash.
  std::string root = path.substr(0, path.find_last_not_of('/') + 1);
  if (root.empty() || root == "." || root == ".." || root.ends_with("/.") ||
      root.ends_with("/..")) {
    return envgen::fail("removing a directory tree", path, "no directory that can be removed",
                        "name the directory itself");
  }
  auto reached = resolve_safely(root);
  if (reached) return remove_tree(*reached, root);
  // No directory, no tree.
  struct stat status{};
  if (::lstat(root.c_str(), &status) != 0 && (errno == ENOENT || errno == ENOTDIR)) return {};
  return explained("removing a directory tree", std::move(reached.error()));
}

envgen::Status remove_tree(const SafePath& place, const std::string& shown) {
  const int directory = place.directory.get();
  const char* name = place.name.c_str();
  struct stat status{};
  if (::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return {};
    return fail_errno("removing a directory tree", shown, errno);
  }
  if (S_ISDIR(status.st_mode)) return TreeRemover(place, shown).run();
  if (::unlinkat(directory, name, 0) == 0 || errno == ENOENT) return {};
  return fail_errno("removing a file", shown, errno);
}

}  // namespace sys
