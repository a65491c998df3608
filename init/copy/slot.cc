#include "init/copy/slot.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "envgen/content_hash.h"
#include "init/sys/files.h"

namespace copy {
namespace {

constexpr const char* kWhat = "using the cache of datasets";
constexpr mode_t kPermissions = 07777;

std::unexpected<envgen::Error> fail_on(const std::string& path, int error) {
  const char* fix = "name a directory with --data-root that may be written";
  if (error == ENOSPC || error == EDQUOT) fix = "make room there, as with `trainit cache gc`";
  if (error == EISDIR) fix = "remove it: trainit keeps a file there";
  return envgen::fail(kWhat, path, sys::errno_text(error), fix);
}

bool may_stand_in_a_key(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
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
  constexpr mode_t kForAll = 0666;
  constexpr int kTries = 100;
  for (int left = kTries; left > 0; --left) {
    sys::Fd fd(::open(path.c_str(), O_RDWR | kFlags));
    // flock does not ask for more.
    if (!fd.valid() && errno == EACCES) fd.reset(::open(path.c_str(), O_RDONLY | kFlags));
    if (fd.valid() || errno != ENOENT) return fd;
    fd.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | kFlags, kForAll));
    if (fd.valid()) ::fchmod(fd.get(), kForAll);
    if (fd.valid() || errno != EEXIST) return fd;
  }
  return {};
}

// 1: it is the one that is there. 0: it was removed meanwhile.
bool is_there(const sys::Fd& fd, const std::string& path) {
  struct stat ours{};
  struct stat there{};
  return ::fstat(fd.get(), &ours) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
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

std::string store_of(const std::string& root) { return root + "/trainit-datasets"; }

envgen::Status make_store(const std::string& root) {
  const std::string store = store_of(root);
  struct stat above{};
  if (::stat(root.c_str(), &above) != 0) {
    return envgen::fail(kWhat, root, sys::errno_text(errno),
                        "make it, or name another directory with --data-root");
  }
  if (!S_ISDIR(above.st_mode)) {
    return envgen::fail(kWhat, root, "no directory", "name a directory with --data-root");
  }
  if (::mkdir(store.c_str(), S_IRWXU) == 0) {
    mode_t mode = above.st_mode & kPermissions;
    if ((mode & (S_IWGRP | S_IWOTH)) != 0) mode |= S_ISVTX;
    if (::chmod(store.c_str(), mode | S_IRWXU) != 0) return fail_on(store, errno);
    return {};
  }
  const int error = errno;
  struct stat status{};
  if (error != EEXIST || ::lstat(store.c_str(), &status) != 0) return fail_on(store, error);
  if (!S_ISDIR(status.st_mode)) {
    return envgen::fail(kWhat, store, "no directory", "remove it, or name another --data-root");
  }
  return {};
}

std::string key_of(const std::string& name, const envgen::CopyRecord& wanted) {
  constexpr std::size_t kMostOfAName = 100;
  std::string key = name.substr(0, kMostOfAName);
  for (char& c : key) {
    if (!may_stand_in_a_key(c)) c = '_';
  }
  std::string all;
  for (const std::string* part :
       {&wanted.source, &wanted.identity, &wanted.version, &wanted.options}) {
    all += std::to_string(part->size()) + ":" + *part;
  }
  return key + "-" + digits_of(envgen::hash_of(all));
}

envgen::Result<sys::Fd> try_lock(const Slot& slot, Hold hold) {
  const std::string path = slot.lock();
  const int operation = (hold == Hold::kShared ? LOCK_SH : LOCK_EX) | LOCK_NB;
  while (true) {
    sys::Fd fd = open_lock(path);
    if (!fd.valid()) return fail_on(path, errno);
    if (::flock(fd.get(), operation) == 0) {
      if (is_there(fd, path)) return fd;
    } else if (errno == EWOULDBLOCK) {
      return sys::Fd();
    } else if (errno != EINTR) {
      return envgen::fail(kWhat, path, sys::errno_text(errno),
                          "name a directory of a local file system with --data-root");
    }
  }
}

void touch(const sys::Fd& lock) { ::futimens(lock.get(), nullptr); }

envgen::Result<std::optional<envgen::CopyRecord>> read_record(const Slot& slot) {
  const envgen::PathState file = sys::look(slot.record(), true);
  if (file.kind == envgen::PathState::Kind::kAbsent) return std::nullopt;
  if (file.kind != envgen::PathState::Kind::kFile) {
    return fail_on(slot.record(), file.error != 0 ? file.error : EISDIR);
  }
  auto record = envgen::parse_record(file.content, slot.record());
  if (!record) return std::unexpected(record.error());
  return std::move(*record);
}

std::string source_of(const Slot& slot) {
  for (const std::string& path : {slot.record(), slot.was()}) {
    const envgen::PathState file = sys::look(path, true);
    auto record = envgen::parse_record(file.content, path);
    if (record) return std::move(record->source);
  }
  return "";
}

envgen::Status remove_published(const Slot& slot) {
  struct stat status{};
  const std::string record = slot.record();
  const bool directory = ::lstat(record.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  if (!directory) {
    if (auto gone = unlink_if_there(record); !gone) return gone;
  }
  return sys::remove_tree(slot.published());
}

envgen::Status unpublish(const Slot& slot) {
  if (auto gone = unlink_if_there(slot.record()); !gone) return gone;
  if (auto gone = sys::remove_tree(slot.partial()); !gone) return gone;
  return rename_to(slot.published(), slot.partial());
}

envgen::Status publish(const Slot& slot, const envgen::CopyRecord& record) {
  const std::string inside = slot.partial() + "/record.json";
  if (auto moved = rename_to(slot.state() + "/manifest", slot.partial() + "/manifest"); !moved) {
    return moved;
  }
  auto status = sys::write_file_atomic(inside, 0644, record_to_json(record));
  if (status && record.synced) status = sync_entry(inside);
  if (status && record.synced) status = sync_entry(slot.partial());
  if (status) status = rename_to(slot.partial(), slot.published());
  if (status && record.synced) status = sync_entry(slot.store);
  if (!status) return status;
  // What nobody asks for any more.
  ::unlink(slot.was().c_str());
  if (auto gone = unlink_if_there(slot.published() + "/progress"); !gone) return gone;
  return sys::remove_tree(slot.published() + "/state");
}

envgen::Status remove_slot(const Slot& slot) {
  // As it goes, so that there is no instant at which nothing says what it was.
  const bool kept = ::rename(slot.record().c_str(), slot.was().c_str()) == 0;
  if (kept) ::utimensat(AT_FDCWD, slot.was().c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  auto status = remove_published(slot);
  if (status) status = sys::remove_tree(slot.partial());
  if (status) status = unlink_if_there(slot.lock());
  return status;
}

envgen::Status sync_file_system(const std::string& path) {
  const sys::Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || ::syncfs(fd.get()) != 0) return fail_on(path, errno);
  return {};
}

}  // namespace copy
