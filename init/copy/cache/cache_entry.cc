#include "init/copy/cache/cache_entry.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/content_hash.h"
#include "init/copy/tree/contents.h"
#include "init/sys/files.h"

namespace copy {
namespace {

constexpr const char* kWhat = "using the cache of datasets";
constexpr mode_t kShared = 0644;  // of a lock

std::unexpected<envgen::Error> fail_on(const std::string& path, int error) {
  const char* fix = "name a directory with --data-root that may be written";
  if (error == ENOSPC || error == EDQUOT) fix = "make room there, as with `trainit cache gc`";
  if (error == EISDIR) fix = "remove it: trainit keeps a file there";
  return envgen::fail(kWhat, path, sys::errno_text(error), fix);
}

std::string digits_of(std::uint64_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  constexpr unsigned kBits = 64;
  std::string text;
  for (unsigned shift = kBits; shift > 0; shift -= 4) text += kDigits[(value >> (shift - 4)) & 0xF];
  return text;
}

// In a directory with the sticky bit, O_CREAT fails on somebody else's file
// (fs.protected_regular): it is opened first, and made only where it is not there.
sys::Fd open_lock(const std::string& path) {
  constexpr int kFlags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  constexpr mode_t kOwn = 0600;
  constexpr int kTries = 100;
  for (int left = kTries; left > 0; --left) {
    sys::Fd fd(::open(path.c_str(), O_RDWR | kFlags));
    // Enough for a shared one.
    if (!fd.valid() && errno == EACCES) fd.reset(::open(path.c_str(), O_RDONLY | kFlags));
    if (fd.valid() || errno != ENOENT) return fd;
    fd.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | kFlags, kOwn));
    if (fd.valid() || errno != EEXIST) return fd;
  }
  return {};
}

// The errno of not having it. flock lets whoever can read a file lock it exclusively: what counts
// is a lock of the open description (Linux 3.15; gVisor has none), for which it must be writable.
// The flock besides is for a trainit that knows no other: it holds exclusively for us only.
int lock_file(const sys::Fd& fd, Hold hold) {
  const bool shared = hold == Hold::kShared;
  struct flock range{};
  range.l_type = static_cast<short>(shared ? F_RDLCK : F_WRLCK);
  range.l_whence = SEEK_SET;
  const bool locked = ::fcntl(fd.get(), F_OFD_SETLK, &range) == 0;
  const bool has_locks = locked || errno != EINVAL;
  if (!locked && has_locks) return errno == EAGAIN || errno == EACCES ? EWOULDBLOCK : errno;
  struct stat status{};
  constexpr mode_t kReadByOthers = S_IRGRP | S_IROTH;
  if (::flock(fd.get(), (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0) return 0;
  const int error = errno;
  const bool by_anybody = has_locks && shared && error == EWOULDBLOCK &&
                          ::fstat(fd.get(), &status) == 0 && (status.st_mode & kReadByOthers) != 0;
  return by_anybody ? 0 : error;
}

// 1: it is the one that is there. 0: it was removed meanwhile.
bool is_there(const sys::Fd& fd, const std::string& path) {
  struct stat ours{};
  struct stat there{};
  return ::fstat(fd.get(), &ours) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

// What another one may have put there in the meantime keeps its mode.
void set_lock_mode(const CacheEntry& cache_entry, mode_t mode) {
  const sys::Fd fd(
      ::open(cache_entry.lock().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status{};
  const bool ours = fd.valid() && ::fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                    status.st_uid == ::geteuid() && status.st_nlink == 1;
  if (ours) ::fchmod(fd.get(), mode);
}

envgen::Status rename_to(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  return fail_on(to, errno);
}

envgen::Status unlink_if_there(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT || errno == ENOTDIR) return {};
  return fail_on(path, errno);
}

envgen::Status sync_entry(const std::string& path) {
  const sys::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid() || ::fsync(fd.get()) != 0) return fail_on(path, errno);
  return {};
}

}  // namespace

bool may_stand_in_a_key(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

std::string key_of(const std::string& name, const envgen::CopyRecord& wanted, int variant) {
  constexpr std::size_t kMaxNameBytes = 100;
  std::string key = name.substr(0, kMaxNameBytes);
  for (char& c : key) {
    if (!may_stand_in_a_key(c)) c = '_';
  }
  std::string all;
  for (const std::string* part :
       {&wanted.source, &wanted.digest, &wanted.version, &wanted.options}) {
    all += std::to_string(part->size()) + ":" + *part;
  }
  if (variant != 0) all += std::to_string(variant);
  return key + "-" + digits_of(envgen::hash_of(all));
}

envgen::Result<sys::Fd> try_lock(const CacheEntry& cache_entry, Hold hold) {
  const std::string path = cache_entry.lock();
  while (true) {
    sys::Fd fd = open_lock(path);
    if (!fd.valid()) return fail_on(path, errno);
    const int error = lock_file(fd, hold);
    if (error == 0) {
      if (is_there(fd, path)) return fd;
    } else if (error == EWOULDBLOCK || error == EACCES || error == EBADF) {
      return sys::Fd();
    } else if (error != EINTR) {
      return envgen::fail(kWhat, path, sys::errno_text(error),
                          "name a directory of a local file system with --data-root");
    }
  }
}

bool is_held(const CacheEntry& cache_entry) {
  const sys::Fd fd(
      ::open(cache_entry.lock().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct flock range{};
  range.l_type = static_cast<short>(F_WRLCK);
  range.l_whence = SEEK_SET;
  if (::fcntl(fd.get(), F_OFD_GETLK, &range) != 0) return true;
  return range.l_type != F_UNLCK;
}

void touch(const sys::Fd& lock) { ::futimens(lock.get(), nullptr); }

envgen::Result<std::optional<envgen::CopyRecord>> read_record(const CacheEntry& cache_entry) {
  const envgen::PathState file = read_kept_file(cache_entry.record());
  if (file.kind == envgen::PathState::Kind::kAbsent) return std::nullopt;
  if (file.kind != envgen::PathState::Kind::kFile) {
    return fail_on(cache_entry.record(), file.error != 0 ? file.error : EISDIR);
  }
  TRY_ASSIGN(auto record, envgen::parse_record(file.content, cache_entry.record()));
  return record;
}

std::string source_of(const CacheEntry& cache_entry) {
  for (const std::string& path : {cache_entry.record(), cache_entry.was()}) {
    const envgen::PathState file = read_kept_file(path);
    auto record = envgen::parse_record(file.content, path);
    if (record) return std::move(record->source);
  }
  return "";
}

envgen::Status remove_published(const CacheEntry& cache_entry) {
  set_lock_mode(cache_entry, S_IRUSR | S_IWUSR);
  struct stat status{};
  const std::string record = cache_entry.record();
  const bool directory = ::lstat(record.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  if (!directory) {
    TRY(unlink_if_there(record));
  }
  return sys::remove_tree(cache_entry.published());
}

envgen::Status unpublish(const CacheEntry& cache_entry) {
  set_lock_mode(cache_entry, S_IRUSR | S_IWUSR);
  TRY(unlink_if_there(cache_entry.record()));
  TRY(sys::remove_tree(cache_entry.partial()));
  return rename_to(cache_entry.published(), cache_entry.partial());
}

envgen::Status publish(const CacheEntry& cache_entry, const envgen::CopyRecord& record) {
  const std::string inside = cache_entry.partial() + "/record.json";
  TRY(rename_to(cache_entry.state() + "/manifest", cache_entry.partial() + "/manifest"));
  auto status = sys::write_file_atomic(inside, 0644, record_to_json(record));
  if (status && record.synced) status = sync_entry(inside);
  if (status && record.synced) status = sync_entry(cache_entry.partial());
  if (status) status = rename_to(cache_entry.partial(), cache_entry.published());
  if (status && record.synced) status = sync_entry(cache_entry.cache);
  if (!status) return status;
  // Others may share it from here on.
  set_lock_mode(cache_entry, kShared);
  // What nobody asks for any more.
  ::unlink(cache_entry.was().c_str());
  TRY(unlink_if_there(cache_entry.published() + "/progress"));
  return sys::remove_tree(cache_entry.published() + "/state");
}

envgen::Status remove_cache_entry(const CacheEntry& cache_entry) {
  // As it goes, so that there is no instant at which nothing says what it was.
  const bool kept = ::rename(cache_entry.record().c_str(), cache_entry.was().c_str()) == 0;
  if (kept) ::utimensat(AT_FDCWD, cache_entry.was().c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  auto status = remove_published(cache_entry);
  if (status) status = sys::remove_tree(cache_entry.partial());
  if (status) status = unlink_if_there(cache_entry.lock());
  return status;
}

envgen::Status sync_file_system(const std::string& path) {
  const sys::Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || ::syncfs(fd.get()) != 0) return fail_on(path, errno);
  return {};
}

}  // namespace copy
