// A FUSE file system for tests, which passes all through to a directory and lies about some of it:
//
//   lying_fs LIE[,LIE...] DIRECTORY MOUNT_POINT
//
// The program returns when MOUNT_POINT is mounted, and a process of it serves until the unmount.
//
//   mtime=NS          shows mtimes as multiples of NS nanoseconds, rounded down
//   mtime-max=S       shows no mtime after S seconds
//   mtime-min=S       shows no mtime before S seconds
//   no-utimens        answers 0 to every change of times and does nothing
//   no-utime-omit     does so for a change of one of the two times (libfuse 2)
//   mtime-at-close    sets the mtime of a written file when it has been closed
//   mtime-new         shows another mtime of a file at each look
//   mtime-dirs-now    shows the current time as mtime of directories
//   ctime-zero        shows a ctime of 1970 of everything
//   no-chmod          answers 0 to chmod and does nothing
//   no-chown          answers 0 to chown and does nothing
//   refuse-chmod      answers EPERM to chmod
//   refuse-chown      answers EPERM to chown
//   fixed-mode        shows the mode 0777 of everything
//   fixed-owner       shows user and group 1234 of everything
//   no-symlinks       answers EPERM to symlink
//   no-links          answers EPERM to link
//   no-exchange       answers EINVAL to renameat2 with flags
//   rename-exdev      answers EXDEV to the rename of a directory
//   fold-case         takes names without regard to case, and stores them in lower case
//   statfs-full       says that nothing is free
//   statfs-nothing    says nothing of its size
//   statfs-huge       says that 1 PiB is free
//   one-inode         shows the inode 77 of everything
//   inode-new         shows another inode at each look
//   one-link          shows a link count of 1 of files
//   no-types          lists entries without their types
//   size-zero         shows the size 0 of files
//   size-half         shows half of the size of files
//   size-double       shows twice the size of files
//   no-blocks         shows no blocks of files
//   new-name          makes a file ".new" at each second list of the top directory, and removes it
//                     at the others
//   fail-CALL=N       answers an error to the first N calls for each path; CALL is open, stat,
//                     read, readdir, readlink or getxattr
//   fail-errno=N      the number of that error, EIO otherwise
//   stall-stats=FILE  holds calls for attributes as long as FILE exists
//   stall-reads=FILE  holds reads as long as FILE exists
//   stall-writes=FILE holds all writes of a file but its first as long as FILE exists
//   unlink-on-read    removes a file when it is read
//   stale-on-read     removes a file when it is read, and answers ESTALE, as NFS does
//   kill-at=N         kills the process group that makes the Nth call that opens or changes an
//   entry

#define FUSE_USE_VERSION 31
#include <dirent.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <set>
#include <string>
#include <tuple>

namespace {

std::map<std::string, std::int64_t> lies;
std::map<std::string, std::string> files;  // of the lies that name one
int backing = -1;
std::map<std::string, std::int64_t> failed;  // how often a call for a path did
std::set<std::string> written;
std::int64_t looks = 0;
std::int64_t calls = 0;

bool lies_with(const char* name) { return lies.contains(name); }

std::int64_t value_of(const char* name, std::int64_t otherwise) {
  const auto found = lies.find(name);
  return found == lies.end() ? otherwise : found->second;
}

// Returns true while the call is to fail for the path; errno is then the error.
bool fails(const std::string& call, const char* path) {
  const std::int64_t times = value_of(("fail-" + call).c_str(), 0);
  errno = static_cast<int>(value_of("fail-errno", EIO));
  return times > 0 && failed[call + path]++ < times;
}

void stall(const char* lie) {
  constexpr useconds_t kLookUs = 20'000;
  const auto found = files.find(lie);
  while (found != files.end() && ::access(found->second.c_str(), F_OK) == 0) ::usleep(kLookUs);
}

// The path below the backing directory.
std::string below(const char* path) {
  std::string name = path[1] == '\0' ? "." : path + 1;
  if (!lies_with("fold-case")) return name;
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

void count_call() {
  if (++calls != value_of("kill-at", 0)) return;
  const pid_t caller = ::fuse_get_context()->pid;
  const pid_t group = caller > 0 ? ::getpgid(caller) : -1;
  if (group > 0) ::kill(-group, SIGKILL);
}

int answer(long result) { return result < 0 ? -errno : 0; }

void distort_mtime(struct stat& status) {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  timespec& time = status.st_mtim;
  if (S_ISDIR(status.st_mode) && lies_with("mtime-dirs-now"))
    ::clock_gettime(CLOCK_REALTIME, &time);
  if (S_ISREG(status.st_mode) && lies_with("mtime-new")) time.tv_sec += ++looks;
  const std::int64_t last = value_of("mtime-max", time.tv_sec);
  const std::int64_t first = value_of("mtime-min", time.tv_sec);
  if (time.tv_sec > last) time = {last, 0};
  if (time.tv_sec < first) time = {first, 0};
  const std::int64_t unit = value_of("mtime", 1);
  const std::int64_t whole = unit / kNsPerSecond;
  if (whole > 0) {
    time.tv_sec -= ((time.tv_sec % whole) + whole) % whole;
    time.tv_nsec = 0;
  } else {
    time.tv_nsec -= time.tv_nsec % unit;
  }
}

void distort(struct stat& status) {
  constexpr mode_t kAll = 0777;
  constexpr mode_t kPermissions = 07777;
  constexpr uid_t kOwner = 1234;
  constexpr ino_t kInode = 77;
  distort_mtime(status);
  if (lies_with("ctime-zero")) status.st_ctim = {};
  if (lies_with("fixed-mode")) status.st_mode = (status.st_mode & ~kPermissions) | kAll;
  if (lies_with("fixed-owner")) status.st_uid = status.st_gid = kOwner;
  if (lies_with("one-inode")) status.st_ino = kInode;
  if (lies_with("inode-new")) status.st_ino = static_cast<ino_t>(kInode + ++looks);
  if (!S_ISREG(status.st_mode)) return;
  if (lies_with("one-link")) status.st_nlink = 1;
  if (lies_with("size-zero")) status.st_size = 0;
  if (lies_with("size-half")) status.st_size /= 2;
  if (lies_with("size-double")) status.st_size *= 2;
  if (lies_with("no-blocks")) status.st_blocks = 0;
}

void give_to_caller(const std::string& name) {
  const fuse_context* caller = ::fuse_get_context();
  std::ignore = ::fchownat(backing, name.c_str(), caller->uid, caller->gid, AT_SYMLINK_NOFOLLOW);
}

void* do_init(fuse_conn_info* /*connection*/, fuse_config* config) {
  config->use_ino = 1;
  config->nullpath_ok = 0;
  config->attr_timeout = config->entry_timeout = config->negative_timeout = 0;
  return nullptr;
}

int do_getattr(const char* path, struct stat* status, fuse_file_info* file) {
  stall("stall-stats");
  if (fails("stat", path)) return -errno;
  const int result = file != nullptr
                         ? ::fstat(static_cast<int>(file->fh), status)
                         : ::fstatat(backing, below(path).c_str(), status, AT_SYMLINK_NOFOLLOW);
  if (result != 0) return -errno;
  distort(*status);
  return 0;
}

int do_readlink(const char* path, char* text, std::size_t size) {
  if (fails("readlink", path)) return -errno;
  const ssize_t length = ::readlinkat(backing, below(path).c_str(), text, size - 1);
  if (length < 0) return -errno;
  text[length] = '\0';
  return 0;
}

int do_mkdir(const char* path, mode_t mode) {
  count_call();
  const std::string name = below(path);
  if (::mkdirat(backing, name.c_str(), mode) != 0) return -errno;
  give_to_caller(name);
  return 0;
}

int do_symlink(const char* target, const char* path) {
  count_call();
  if (lies_with("no-symlinks")) return -EPERM;
  const std::string name = below(path);
  if (::symlinkat(target, backing, name.c_str()) != 0) return -errno;
  give_to_caller(name);
  return 0;
}

int do_link(const char* from, const char* to) {
  count_call();
  if (lies_with("no-links")) return -EPERM;
  return answer(::linkat(backing, below(from).c_str(), backing, below(to).c_str(), 0));
}

int do_unlink(const char* path) {
  count_call();
  return answer(::unlinkat(backing, below(path).c_str(), 0));
}

int do_rmdir(const char* path) {
  count_call();
  return answer(::unlinkat(backing, below(path).c_str(), AT_REMOVEDIR));
}

int do_rename(const char* from, const char* to, unsigned flags) {
  count_call();
  if (flags != 0 && lies_with("no-exchange")) return -EINVAL;
  struct stat status{};
  if (lies_with("rename-exdev") &&
      ::fstatat(backing, below(from).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISDIR(status.st_mode)) {
    return -EXDEV;
  }
  return answer(
      ::syscall(SYS_renameat2, backing, below(from).c_str(), backing, below(to).c_str(), flags));
}

int do_chmod(const char* path, mode_t mode, fuse_file_info* /*file*/) {
  count_call();
  if (lies_with("refuse-chmod")) return -EPERM;
  if (lies_with("no-chmod")) return 0;
  return answer(::fchmodat(backing, below(path).c_str(), mode, 0));
}

int do_chown(const char* path, uid_t uid, gid_t gid, fuse_file_info* /*file*/) {
  if (lies_with("refuse-chown")) return -EPERM;
  if (lies_with("no-chown")) return 0;
  return answer(::fchownat(backing, below(path).c_str(), uid, gid, AT_SYMLINK_NOFOLLOW));
}

int do_truncate(const char* path, off_t size, fuse_file_info* file) {
  if (file != nullptr) return answer(::ftruncate(static_cast<int>(file->fh), size));
  const int fd = ::openat(backing, below(path).c_str(), O_WRONLY | O_CLOEXEC);
  const int result = answer(fd < 0 ? -1 : ::ftruncate(fd, size));
  if (fd >= 0) ::close(fd);
  return result;
}

int do_utimens(const char* path, const timespec times[2], fuse_file_info* /*file*/) {
  count_call();
  if (lies_with("no-utimens")) return 0;
  const bool omits = times[0].tv_nsec == UTIME_OMIT || times[1].tv_nsec == UTIME_OMIT;
  if (omits && lies_with("no-utime-omit")) return 0;
  return answer(::utimensat(backing, below(path).c_str(), times, AT_SYMLINK_NOFOLLOW));
}

int keep_open(int fd, fuse_file_info* file) {
  if (fd < 0) return -errno;
  file->fh = static_cast<std::uint64_t>(fd);
  // The page cache ends where the size says.
  file->direct_io = lies_with("size-zero") || lies_with("size-half") || lies_with("size-double") ||
                    lies_with("fail-read") || lies_with("unlink-on-read") ||
                    lies_with("stale-on-read");
  return 0;
}

int do_open(const char* path, fuse_file_info* file) {
  count_call();
  if (fails("open", path)) return -errno;
  return keep_open(::openat(backing, below(path).c_str(), (file->flags & ~O_NOFOLLOW) | O_CLOEXEC),
                   file);
}

int do_create(const char* path, mode_t mode, fuse_file_info* file) {
  count_call();
  const std::string name = below(path);
  const int fd = ::openat(backing, name.c_str(), file->flags | O_CREAT | O_CLOEXEC, mode);
  if (fd >= 0) give_to_caller(name);
  return keep_open(fd, file);
}

int do_read(const char* path, char* text, std::size_t size, off_t offset, fuse_file_info* file) {
  stall("stall-reads");
  if (fails("read", path)) return -errno;
  if (lies_with("unlink-on-read")) ::unlinkat(backing, below(path).c_str(), 0);
  if (lies_with("stale-on-read")) {
    ::unlinkat(backing, below(path).c_str(), 0);
    return -ESTALE;
  }
  const ssize_t count = ::pread(static_cast<int>(file->fh), text, size, offset);
  return count < 0 ? -errno : static_cast<int>(count);
}

int do_write(const char* path, const char* text, std::size_t size, off_t offset,
             fuse_file_info* file) {
  if (offset > 0) stall("stall-writes");
  const ssize_t count = ::pwrite(static_cast<int>(file->fh), text, size, offset);
  if (count < 0) return -errno;
  written.insert(path);
  return static_cast<int>(count);
}

int do_statfs(const char* /*path*/, struct statvfs* status) {
  if (::fstatvfs(backing, status) != 0) return -errno;
  constexpr std::uint64_t kHuge = 1ULL << 50U;
  if (lies_with("statfs-full")) status->f_bavail = status->f_bfree = 0;
  if (lies_with("statfs-nothing")) *status = {};
  if (lies_with("statfs-huge")) {
    status->f_blocks = status->f_bavail = status->f_bfree = kHuge / status->f_frsize;
  }
  return 0;
}

int do_release(const char* path, fuse_file_info* file) {
  const int fd = static_cast<int>(file->fh);
  if (written.erase(path) != 0 && lies_with("mtime-at-close")) ::futimens(fd, nullptr);
  return answer(::close(fd));
}

int do_fsync(const char* /*path*/, int /*data*/, fuse_file_info* file) {
  return answer(::fsync(static_cast<int>(file->fh)));
}

int do_readdir(const char* path, void* buffer, fuse_fill_dir_t fill, off_t /*offset*/,
               fuse_file_info* /*file*/, fuse_readdir_flags /*flags*/) {
  if (fails("readdir", path)) return -errno;
  if (lies_with("new-name") && std::string(path) == "/") {
    ::unlinkat(backing, ".new", 0);
    if (++looks % 2 == 0) ::close(::openat(backing, ".new", O_CREAT | O_CLOEXEC, 0644));
  }
  DIR* directory =
      ::fdopendir(::openat(backing, below(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory == nullptr) return -errno;
  while (const dirent* entry = ::readdir(directory)) {
    struct stat status{};
    status.st_ino = entry->d_ino;
    if (!lies_with("no-types")) status.st_mode = static_cast<mode_t>(DTTOIF(entry->d_type));
    fill(buffer, entry->d_name, &status, 0, static_cast<fuse_fill_dir_flags>(0));
  }
  ::closedir(directory);
  return 0;
}

int do_getxattr(const char* path, const char* name, char* text, std::size_t size) {
  if (fails("getxattr", path)) return -errno;
  const std::string place = "/proc/self/fd/" + std::to_string(backing) + "/" + below(path);
  const ssize_t length = ::lgetxattr(place.c_str(), name, text, size);
  return length < 0 ? -errno : static_cast<int>(length);
}

void read_lies(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string lie = text.substr(at, end - at);
    const std::size_t equals = std::min(lie.find('='), lie.size());
    const std::string value = equals == lie.size() ? "0" : lie.substr(equals + 1);
    if (value.starts_with('/')) files[lie.substr(0, equals)] = value;
    lies[lie.substr(0, equals)] = std::strtoll(value.c_str(), nullptr, 10);
    at = end + 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kWords = 4;
  if (argc != kWords) {
    std::fputs("usage: lying_fs LIE[,LIE...] DIRECTORY MOUNT_POINT\n", stderr);
    return 2;
  }
  read_lies(argv[1]);
  backing = ::open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (backing < 0) {
    std::perror(argv[2]);
    return 2;
  }
  ::umask(0);
  fuse_operations operations{};
  operations.init = do_init;
  operations.getattr = do_getattr;
  operations.readlink = do_readlink;
  operations.mkdir = do_mkdir;
  operations.symlink = do_symlink;
  operations.link = do_link;
  operations.unlink = do_unlink;
  operations.rmdir = do_rmdir;
  operations.rename = do_rename;
  operations.chmod = do_chmod;
  operations.chown = do_chown;
  operations.truncate = do_truncate;
  operations.utimens = do_utimens;
  operations.open = do_open;
  operations.create = do_create;
  operations.read = do_read;
  operations.write = do_write;
  operations.statfs = do_statfs;
  operations.release = do_release;
  operations.fsync = do_fsync;
  operations.readdir = do_readdir;
  if (lies_with("fail-getxattr")) operations.getxattr = do_getxattr;
  std::string name = "lying_fs";
  std::string one_thread = "-s";
  std::string option = "-odefault_permissions,allow_other,fsname=lying_fs,dev,suid";
  char* words[] = {name.data(), option.data(), argv[3], one_thread.data()};
  // A call that is held must not hold the others.
  return ::fuse_main(files.empty() ? 4 : 3, words, &operations, nullptr);
}
