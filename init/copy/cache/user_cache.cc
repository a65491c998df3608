#include "init/copy/cache/user_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "base/content_hash.h"
#include "init/copy/tree/directory.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"
#include "init/sys/mounts.h"

namespace copy {
namespace {

constexpr const char* kWhat = "using the cache of datasets";
constexpr std::string_view kName = "trainit-datasets";
// The uid that a user namespace or a file server shows for users that it does not know.
constexpr uid_t kNobody = 65534;

std::optional<UserCache> inspect_cache(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return std::nullopt;
  return UserCache{.path = path,
                   .owner = status.st_uid,
                   .group = status.st_gid,
                   .safe = (status.st_mode & (S_IWGRP | S_IWOTH)) == 0};
}

std::string own_name(const std::string& root) {
  return root + "/" + std::string(kName) + "-" + std::to_string(::geteuid());
}

bool is_name(std::string_view name) {
  return name == kName || (name.starts_with(kName) && name[kName.size()] == '-');
}

// Returns the mode of a cache in `root`: users who can read the root can read the cache.
mode_t mode_below(const struct stat& root) {
  constexpr mode_t kMaxMode = 0755;
  return (root.st_mode & kMaxMode) | S_IRWXU;
}

// Sets the group and the mode of a new cache: the group is that of the root, if this process may
// set it.
base::Status give_mode(const std::string& cache, const struct stat& root) {
  mode_t mode = mode_below(root);
  // Opened once, because the owner of the root could replace the directory at `cache` later.
  const sys::Fd made(::open(cache.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status{};
  if (!made.valid() || ::fstat(made.get(), &status) != 0) {
    return base::fail(kWhat, cache, sys::errno_text(errno), "name another --data-root");
  }
  const std::string system = "that its file system (" + sys::file_system_of(made.get()) + ") ";
  constexpr const char* kFix = "name a directory of a local file system with --data-root";
  if (status.st_uid != ::geteuid()) {
    return base::fail(kWhat, cache,
                      system + "shows user " + std::to_string(status.st_uid) +
                          " as the owner of what user " + std::to_string(::geteuid()) + " makes",
                      kFix);
  }
  if (!drop_inherited(made.get())) {
    return base::fail(kWhat, cache, "an access control list that cannot be removed",
                      "name another --data-root");
  }
  // If the group cannot be set, the group gets only what all others get.
  const bool same = ::fchown(made.get(), static_cast<uid_t>(-1), root.st_gid) == 0;
  if (!same) mode &= ~mode_t{S_IRWXG} | ((mode & S_IRWXO) << 3U);
  // A failure is ignored: on a file system without permissions, the directory keeps its mode.
  std::ignore = ::fchmod(made.get(), mode);
  if (::fstat(made.get(), &status) != 0 || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return base::fail(kWhat, cache, system + "lets others write all that is made there", kFix);
  }
  return {};
}

}  // namespace

bool UserCache::is_ours() const { return safe && owner == ::geteuid(); }

std::vector<UserCache> user_caches(const std::string& root) {
  constexpr std::size_t kMax = 10'000;
  std::vector<std::string> names;
  const sys::Dir directory(::opendir(root.c_str()));
  while (const dirent* entry = directory ? ::readdir(directory.get()) : nullptr) {
    if (is_name(entry->d_name) && names.size() < kMax) names.push_back(root + "/" + entry->d_name);
  }
  if (!directory) names = {root + "/" + std::string(kName), own_name(root)};
  std::ranges::sort(names);
  std::vector<UserCache> caches;
  caches.reserve(names.size());
  for (const std::string& name : names) {
    if (auto cache = inspect_cache(name)) caches.push_back(std::move(*cache));
  }
  return caches;
}

std::optional<UserCache> own_cache(const std::string& root) {
  for (UserCache& cache : user_caches(root)) {
    if (cache.is_ours()) return std::move(cache);
  }
  return std::nullopt;
}

base::Result<std::string> make_own_cache(const std::string& root) {
  if (auto cache = own_cache(root)) return std::move(cache->path);
  struct stat above{};
  if (::stat(root.c_str(), &above) != 0) {
    return base::fail(kWhat, root, sys::errno_text(errno),
                      "make it, or name another directory with --data-root");
  }
  if (!S_ISDIR(above.st_mode)) {
    return base::fail(kWhat, root, "no directory", "name a directory with --data-root");
  }
  const std::string any = own_name(root) + "-" +
                          std::to_string(base::hash_of(std::to_string(sys::monotonic_ms()) + " " +
                                                       std::to_string(::getpid())));
  std::string cache;
  for (const std::string& name : {root + "/" + std::string(kName), own_name(root), any}) {
    cache = name;
    if (::mkdir(name.c_str(), mode_below(above)) == 0) {
      const auto given = give_mode(name, above);
      if (given) return cache;
      ::rmdir(name.c_str());
      return std::unexpected(given.error());
    }
    if (errno != EEXIST) break;
    // Another process of this user may have just created the directory.
    const auto there = inspect_cache(name);
    if (there && there->is_ours()) return cache;
  }
  const char* fix = errno == ENOSPC || errno == EDQUOT
                        ? "make room there"
                        : "name a directory with --data-root that may be written";
  return base::fail(kWhat, cache, sys::errno_text(errno), fix);
}

std::vector<std::string> trusted_caches(const std::string& root, uid_t source_owner) {
  std::vector<std::string> trusted;
  for (const UserCache& cache : user_caches(root)) {
    const bool of_the_source = cache.owner == source_owner && source_owner != kNobody;
    if (cache.safe && !cache.is_ours() && (cache.owner == 0 || of_the_source)) {
      trusted.push_back(cache.path);
    }
  }
  return trusted;
}

bool is_in_trusted_cache(const std::string& cache) {
  if (!is_name(cache.substr(cache.rfind('/') + 1))) return false;
  const auto there = inspect_cache(cache);
  return there && there->safe && (there->owner == 0 || there->is_ours());
}

}  // namespace copy
