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

std::unexpected<base::Error> fail_errno(const char* what, std::string where, int error) {
  return base::fail(what, std::move(where), errno_text(error), fix_for(error));
}

// Returns the error of a path resolution, with Error::what replaced by `what`.
std::unexpected<base::Error> explained(const char* what, base::Error error) {
  error.what = what;
  return std::unexpected(std::move(error));
}

// Returns a random name. Several containers may write into one shared directory, each as process 1,
// so a pid is not unique.
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

// Blocks SIGXFSZ, which a write beyond RLIMIT_FSIZE causes, during a write. The signal would end
// trainit, or a task that starts while it is pending. The error of the write is enough.
class NoFileSizeSignal {
 public:
  NoFileSizeSignal() {
    ::sigemptyset(&signal_);
    ::sigaddset(&signal_, SIGXFSZ);
    ::sigprocmask(SIG_BLOCK, &signal_, &before_);
  }
  // Removes the pending signal of a write that failed with EFBIG.
  void take() const {
    constexpr timespec kNow{};
    ::sigtimedwait(&signal_, nullptr, &kNow);
  }
  ~NoFileSizeSignal() {
    // SIG_SETMASK is not used, because glibc would leave out 32 and 33, which an init blocks as
    // well.
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

// Sets the mode; returns 0 or an errno. If a file system without permissions refuses that, it is an
// error only if `mode` gives group and others no rights.
int set_mode(int fd, std::uint32_t mode) {
  if (::fchmod(fd, mode) == 0) return 0;
  const bool no_modes = errno == EPERM || errno == ENOSYS || errno == EOPNOTSUPP;
  return no_modes && (mode & 077) != 0 ? 0 : errno;
}

// Moves the file `from` to its final name; returns 0 or an errno. A rename that replaces a file can
// be slow: ext4 first writes the new file to the disk (mount option auto_da_alloc). An exchange,
// and the removal of the old file, do not wait for the disk.
int put(const SafePath& to, const std::string& from, Lifetime lifetime) {
  const int directory = to.directory.get();
  const auto exchange = [&] {
    return ::renameat2(directory, from.c_str(), directory, to.name.c_str(), RENAME_EXCHANGE) == 0;
  };
  if (lifetime == Lifetime::kMachine && exchange()) {
    if (::unlinkat(directory, from.c_str(), 0) == 0) return 0;
    // After the exchange, `from` is the old entry. If that is a directory, exchanges again, because
    // a rename would not have replaced it either. Other failures of its removal are ignored: a FUSE
    // server without exchange has renamed, so there is no old entry (ENOENT), and a full file
    // system may refuse the removal.
    const bool was_directory = errno == EISDIR || errno == EPERM;
    if (!was_directory || !exchange()) return 0;
  }
  return ::renameat(directory, from.c_str(), directory, to.name.c_str()) == 0 ? 0 : errno;
}

int fill_and_put(Fd fd, std::uint32_t mode, const Producer& content, const SafePath& to,
                 const std::string& from, Lifetime lifetime) {
  if (const int error = write_pieces(fd.get(), content); error != 0) return error;
  if (const int error = set_mode(fd.get(), mode); error != 0) return error;
  // Closes here and not in the destructor, because NFS and quotas report at close() what they could
  // not store.
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

base::Status write_file_atomic(const SafePath& place, const std::string& path, std::uint32_t mode,
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

base::Status write_file_atomic(const std::string& path, std::uint32_t mode,
                               const Producer& content) {
  auto reached = resolve_safely(path);
  if (!reached) return explained(kWriting, std::move(reached.error()));
  return write_file_atomic(*reached, path, mode, content);
}

base::Status write_file_atomic(const std::string& path, std::uint32_t mode,
                               std::string_view content) {
  return write_file_atomic(path, mode, [content](const Sink& sink) { sink(content); });
}

base::Status write_file_atomic(const SafePath& place, const std::string& path, std::uint32_t mode,
                               std::string_view content, Lifetime lifetime) {
  return write_file_atomic(
      place, path, mode, [content](const Sink& sink) { sink(content); }, lifetime);
}

bool overwrite_file(const std::string& path, std::string_view content) {
  const auto reached = resolve_safely(path);
  if (!reached) return false;
  // Truncates after the write, because another process may use space that is freed before.
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

base::Status make_directories(const std::string& path, std::uint32_t mode) {
  constexpr const char* kWhat = "creating a directory";
  if (is_directory(path)) return {};
  auto reached = resolve_safely(path, {.follow_last = true, .make_parents = mode});
  if (!reached) return explained(kWhat, std::move(reached.error()));
  const NoUmask exact;
  const int result = ::mkdirat(reached->directory.get(), reached->name.c_str(), mode);
  const int error = errno;
  // For an existing directory, mkdir() may fail with EROFS or EACCES instead of EEXIST.
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
  std::string name;  // name in the parent directory
};

// Removes a tree with one open descriptor, however deep the tree is. Goes up through "..", and
// checks that this is still the directory from which it came.
class TreeRemover {
 public:
  TreeRemover(const SafePath& place, std::string shown) : place_(place), root_(std::move(shown)) {}
  base::Status run();

 private:
  base::Status fail(const std::string& name, int error) const;
  int enter(int parent, const std::string& name);
  int leave();
  int clear(std::string* subdirectory);

  const SafePath& place_;
  std::string root_;  // path for messages
  Fd current_;
  std::vector<Level> levels_;
  int busy_ = 0;  // number of times that an emptied directory was not empty
};

base::Status TreeRemover::fail(const std::string& name, int error) const {
  constexpr std::size_t kShown = 1000;
  std::string path = root_;
  for (std::size_t i = 1; i < levels_.size(); ++i) path += "/" + levels_[i].name;
  if (!name.empty()) path += "/" + name;
  if (path.size() > kShown) path = path.substr(0, kShown) + "...";
  const char* fix = error == EXDEV ? "unmount what is mounted there first" : "remove it by hand";
  return base::fail("removing a directory tree", std::move(path), errno_text(error), fix);
}

int TreeRemover::enter(int parent, const std::string& name) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  Fd fd(::openat(parent, name.c_str(), kFlags));
  // Makes the directory accessible first, because its mode, perhaps a copied one, may deny that.
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
  // Never removes the root directory of the system, whatever name leads to it.
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
    // Another process adds files during the removal, so tries again.
    if ((errno == ENOTEMPTY || errno == EEXIST) && ++busy_ < kMaxBusy) return 0;
    return errno;
  }
  levels_.pop_back();
  current_ = std::move(parent);
  return 0;
}

// Removes the files in the current directory until it finds a subdirectory, and returns its name.
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
      *subdirectory = entry->d_name;  // for the error message
      return errno;
    }
    errno = 0;
  }
  return errno;
}

base::Status TreeRemover::run() {
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
  return result == 0 || errno == ENOENT ? base::Status() : fail("", errno);
}

}  // namespace

base::Status remove_tree(const std::string& path) {
  // Removes slashes at the end, with which lstat would follow a link.
  std::string root = path.substr(0, path.find_last_not_of('/') + 1);
  if (root.empty() || root == "." || root == ".." || root.ends_with("/.") ||
      root.ends_with("/..")) {
    return base::fail("removing a directory tree", path, "no directory that can be removed",
                      "name the directory itself");
  }
  auto reached = resolve_safely(root);
  if (reached) return remove_tree(*reached, root);
  // If a parent directory does not exist, neither does the tree.
  struct stat status{};
  if (::lstat(root.c_str(), &status) != 0 && (errno == ENOENT || errno == ENOTDIR)) return {};
  return explained("removing a directory tree", std::move(reached.error()));
}

base::Status remove_tree(const SafePath& place, const std::string& shown) {
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
