#include "init/copy/cache/cache_entry.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <tuple>
#include <utility>

#include "base/content_hash.h"
#include "init/copy/publish/filling.h"
#include "init/copy/publish/publication_journal.h"
#include "init/copy/publish/publish.h"
#include "init/copy/publish/state_directory.h"
#include "init/copy/tree/contents.h"
#include "init/sys/files.h"

namespace copy {
namespace {

constexpr const char* kWhat = "using the cache of datasets";
constexpr mode_t kPrivateLock = 0600;
constexpr mode_t kSharedLock = 0644;

std::unexpected<base::Error> fail_at(const std::string& path, int error) {
  const char* fix = "name a directory with --data-root that may be written";
  if (error == ENOSPC || error == EDQUOT) fix = "make room there, as with `trainit cache gc`";
  if (error == EISDIR) fix = "remove it: trainit keeps a file there";
  return base::fail(kWhat, path, sys::errno_text(error), fix);
}

std::string digits_of(std::uint64_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  constexpr unsigned kBits = 64;
  std::string text;
  for (unsigned shift = kBits; shift > 0; shift -= 4) text += kDigits[(value >> (shift - 4)) & 0xF];
  return text;
}

// O_CREAT fails on another user's file in a directory with the sticky bit (fs.protected_regular).
// So the lock is opened first, and created only if it does not exist.
sys::Fd open_lock(const std::string& path) {
  constexpr int kFlags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  constexpr int kTries = 100;
  for (int left = kTries; left > 0; --left) {
    sys::Fd fd(::open(path.c_str(), O_RDWR | kFlags));
    // Read-only is enough for a shared lock.
    if (!fd.valid() && errno == EACCES) fd.reset(::open(path.c_str(), O_RDONLY | kFlags));
    if (fd.valid() || errno != ENOENT) return fd;
    fd.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | kFlags, kPrivateLock));
    if (fd.valid() || errno != EEXIST) return fd;
  }
  return {};
}

// Takes the lock; returns 0 or an errno. Two locks are taken. The lock that counts is that of the
// open file description (Linux 3.15; gVisor has none): it requires write access to be exclusive,
// while every user that can read a file could flock it exclusively. The flock is for a trainit that
// knows only that one, and is exclusive only for this user.
int lock_file(const sys::Fd& fd, LockMode mode) {
  const bool shared = mode == LockMode::kShared;
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

// Returns true if `fd` is still the file at `path`, and false if that was deleted or replaced
// meanwhile.
bool is_there(const sys::Fd& fd, const std::string& path) {
  struct stat ours{};
  struct stat there{};
  return ::fstat(fd.get(), &ours) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

// Sets the mode of the lock's file. A file that another user has put there keeps its mode.
void set_lock_mode(const CacheEntry& cache_entry, mode_t mode) {
  const sys::Fd fd(
      ::open(cache_entry.lock().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status{};
  const bool ours = fd.valid() && ::fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                    status.st_uid == ::geteuid() && status.st_nlink == 1 &&
                    (status.st_mode & 07777) != mode;
  if (ours) ::fchmod(fd.get(), mode);
}

base::Status unlink_if_there(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT || errno == ENOTDIR) return {};
  return fail_at(path, errno);
}

std::optional<CopyRecord> read_at(const std::string& path) {
  auto record = parse_record(read_kept_file(path).content, path);
  if (!record) return std::nullopt;
  return std::move(*record);
}

bool is_directory(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

Destination CacheEntry::destination() const {
  return {.path = data(), .real = data(), .state = directory() + "/" + state_name("data")};
}
std::string CacheEntry::record() const { return record_of(destination()); }
std::string CacheEntry::old_record() const { return directory() + "/record.json"; }
std::string CacheEntry::manifest() const { return manifest_of(destination()); }
std::string CacheEntry::progress() const { return counters_of(destination()); }

bool may_stand_in_a_key(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

std::string key_of(const std::string& name, const CopyRecord& wanted, int variant) {
  constexpr std::size_t kMaxNameBytes = 100;
  std::string key = name.substr(0, kMaxNameBytes);
  for (char& c : key) {
    if (!may_stand_in_a_key(c)) c = '_';
  }
  std::string all = "2:";  // version of the key's content; 0.1.0 has another layout
  for (const std::string* part :
       {&wanted.source, &wanted.digest, &wanted.version, &wanted.options}) {
    all += std::to_string(part->size()) + ":" + *part;
  }
  if (variant != 0) all += std::to_string(variant);
  return key + "-" + digits_of(base::hash_of(all));
}

base::Result<sys::Fd> try_lock(const CacheEntry& cache_entry, LockMode mode) {
  const std::string path = cache_entry.lock();
  while (true) {
    sys::Fd fd = open_lock(path);
    if (!fd.valid()) return fail_at(path, errno);
    const int error = lock_file(fd, mode);
    if (error == 0) {
      if (is_there(fd, path)) return fd;
    } else if (error == EWOULDBLOCK || error == EACCES || error == EBADF) {
      return sys::Fd();
    } else if (error != EINTR) {
      return base::fail(kWhat, path, sys::errno_text(error),
                        "name a directory of a local file system with --data-root");
    }
  }
}

bool is_locked(const CacheEntry& cache_entry) {
  const sys::Fd fd(
      ::open(cache_entry.lock().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct flock range{};
  range.l_type = static_cast<short>(F_WRLCK);
  range.l_whence = SEEK_SET;
  if (::fcntl(fd.get(), F_OFD_GETLK, &range) != 0) return true;
  return range.l_type != F_UNLCK;
}

void touch(const sys::Fd& lock) { ::futimens(lock.get(), nullptr); }

base::Result<std::optional<CopyRecord>> read_record(const CacheEntry& cache_entry) {
  const envgen::PathState file = read_kept_file(cache_entry.record());
  if (file.kind == envgen::PathState::Kind::kAbsent) return std::nullopt;
  if (file.kind != envgen::PathState::Kind::kFile) {
    return fail_at(cache_entry.record(), file.error != 0 ? file.error : EISDIR);
  }
  TRY_ASSIGN(auto record, parse_record(file.content, cache_entry.record()));
  return record;
}

std::optional<CopyRecord> read_any_record(const CacheEntry& cache_entry) {
  auto record = read_at(cache_entry.record());
  return record ? record : read_at(cache_entry.old_record());
}

std::string source_of(const CacheEntry& cache_entry) {
  auto record = read_any_record(cache_entry);
  if (!record) record = read_at(cache_entry.was());
  return record ? std::move(record->source) : "";
}

void let_share(const CacheEntry& cache_entry, bool shared) {
  set_lock_mode(cache_entry, shared ? kSharedLock : kPrivateLock);
}

base::Status make_directory(const CacheEntry& cache_entry) {
  const std::string state = cache_entry.destination().state;
  TRY(sys::make_directories(cache_entry.directory(), 0755));
  auto opened = open_state(state, state);
  if (!opened && is_directory(state)) {
    TRY(sys::remove_tree(cache_entry.directory()));
    TRY(sys::make_directories(cache_entry.directory(), 0755));
    opened = open_state(state, state);
  }
  if (!opened) return std::unexpected(std::move(opened.error()));
  return {};
}

base::Result<std::string> settle_entry(const CacheEntry& cache_entry) {
  const Destination destination = cache_entry.destination();
  const std::string directory = cache_entry.directory();
  struct stat status{};
  if (::lstat(directory.c_str(), &status) != 0) return "";
  std::string damage;
  if (!S_ISDIR(status.st_mode)) {
    damage = directory + ": no directory";
  } else if (::lstat(destination.state.c_str(), &status) != 0) {
    return "";
  } else if (!S_ISDIR(status.st_mode)) {
    damage = destination.state + ": no directory";
  } else if (const auto files = check_state_files(destination); !files) {
    damage = files.error().where + ": " + files.error().found;
  } else if (read_journal(destination).torn) {
    // The journal no longer says which tree is the copy. Both are deleted: trainit keeps them only
    // at a destination that a user has named.
    damage = directory + ": an incomplete journal";
  } else {
    TRY_ASSIGN(const auto publication, settle(destination));
    if (publication.replaced.empty()) return "";
    damage = destination.path + ": changed while it was published";
  }
  TRY(sys::remove_tree(directory));
  return damage;
}

base::Status remove_published(const CacheEntry& cache_entry) {
  const std::string directory = cache_entry.directory();
  const std::string state = cache_entry.destination().state;
  // If the directory is a symlink, only the link is deleted.
  if (!is_directory(directory)) return sys::remove_tree(directory);
  TRY(sys::remove_tree(is_directory(state) ? cache_entry.record() : state));
  return sys::remove_tree(cache_entry.data());
}

base::Status remove_cache_entry(const CacheEntry& cache_entry) {
  // A rename, so that at each instant some file names the source.
  const bool ours = is_directory(cache_entry.directory());
  const bool state = ours && is_directory(cache_entry.destination().state);
  const std::string record = state ? cache_entry.record() : cache_entry.old_record();
  const bool kept = ours && ::rename(record.c_str(), cache_entry.was().c_str()) == 0;
  if (kept) ::utimensat(AT_FDCWD, cache_entry.was().c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  auto status = remove_published(cache_entry);
  if (status) status = sys::remove_tree(cache_entry.directory());
  // Deletes an unfinished copy that version 0.1.0 has left beside the entry.
  if (status) status = sys::remove_tree(cache_entry.directory() + ".partial");
  if (status) status = unlink_if_there(cache_entry.lock());
  return status;
}

void remove_if_empty(const CacheEntry& cache_entry) {
  const Destination destination = cache_entry.destination();
  for (const std::string& path : {destination.path, tree_of(destination)}) {
    if (::access(path.c_str(), F_OK) == 0) return;
  }
  if (sys::remove_tree(cache_entry.directory())) ::unlink(cache_entry.lock().c_str());
}

base::Status sync_file_system(const std::string& path) {
  const sys::Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || ::syncfs(fd.get()) != 0) return fail_at(path, errno);
  return {};
}

}  // namespace copy
