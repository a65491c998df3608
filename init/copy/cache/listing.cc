#include "init/copy/cache/listing.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "init/copy/cache/cache_entry.h"
#include "init/copy/cache/user_cache.h"
#include "init/copy/progress.h"
#include "init/copy/publish/filling.h"
#include "init/copy/space.h"
#include "init/sys/as_user.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"
#include "init/sys/safe_path.h"

namespace copy {
namespace {

constexpr const char* kWhat = "looking at the cache of datasets";
constexpr std::string_view kPartial = ".partial";  // suffix of version 0.1.0's unfinished copies

std::int64_t mtime_ms(const std::string& path) {
  constexpr std::int64_t kMsPerSecond = 1000;
  constexpr std::int64_t kNsPerMs = 1'000'000;
  constexpr std::int64_t kMaxSeconds = 1'000'000'000'000;  // limit for a file's time, which its
                                                           // owner can set to any value
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return 0;
  const std::int64_t seconds = std::clamp<std::int64_t>(status.st_mtim.tv_sec, 0, kMaxSeconds);
  return (seconds * kMsPerSecond) + (status.st_mtim.tv_nsec / kNsPerMs);
}

// Returns the key that the name of an entry's directory contains; "" for another file, such as a
// lock.
std::string key_in(std::string_view name) {
  constexpr std::size_t kDigits = 16;
  if (name.ends_with(kPartial)) name.remove_suffix(kPartial.size());
  const std::size_t dash = name.rfind('-');
  const bool right =
      dash != std::string_view::npos && name.size() - dash - 1 == kDigits &&
      name.find_first_not_of("0123456789abcdef", dash + 1) == std::string_view::npos &&
      std::ranges::all_of(name, may_stand_in_a_key);
  return right ? std::string(name) : "";
}

bool is_in_use(const CacheEntry& cache_entry) {
  struct stat status{};
  if (::lstat(cache_entry.lock().c_str(), &status) != 0 && errno == ENOENT) return false;
  if (::access(cache_entry.cache.c_str(), W_OK) != 0) return is_locked(cache_entry);
  const auto lock = try_lock(cache_entry, LockMode::kExclusive);
  return !lock || !lock->valid();
}

// Returns 0 for a number that no file system can hold: another user has made it up.
std::uint64_t credible(std::uint64_t number) {
  constexpr std::uint64_t kMax = std::uint64_t{1} << 60U;
  return number > kMax ? 0 : number;
}

// Describes an entry. For an unfinished copy, the sizes are those in its progress file.
CachedDataset describe(const CacheEntry& cache_entry) {
  const auto record = read_any_record(cache_entry);
  struct stat status{};
  const bool partial = !record && ::lstat(cache_entry.record().c_str(), &status) != 0 &&
                       (errno == ENOENT || errno == ENOTDIR);
  CachedDataset entry;
  entry.cache = cache_entry.cache;
  entry.key = cache_entry.key;
  entry.partial = partial;
  entry.in_use = is_in_use(cache_entry);
  entry.used_ms = mtime_ms(cache_entry.lock());
  if (entry.used_ms == 0) entry.used_ms = mtime_ms(cache_entry.directory());
  if (partial) {
    if (const auto counters = SharedCounters::open(cache_entry.progress())) {
      entry.entries = credible(counters->get().entries);
      entry.bytes = credible(counters->get().bytes);
      entry.total_bytes = credible(counters->get().total_bytes);
    }
    entry.source = source_of_filling(cache_entry.destination()).substr(0, PATH_MAX);
  } else if (record) {
    entry.source = record->source;
    entry.entries = record->entries;
    entry.bytes = record->allocated;
  }
  return entry;
}

// A switch to the owner of a cache. As root, this process acts on another user's cache only with
// that user's rights, because the user can put anything there.
class AsOwner {
 public:
  explicit AsOwner(const std::string& cache) {
    struct stat status{};
    if (::geteuid() != 0) return;
    if (::lstat(cache.c_str(), &status) != 0) {
      gone_ = true;
      return;
    }
    if (status.st_uid == 0) return;
    constexpr gid_t kNobody = 65534;  // no group: the cache's group may be one that its owner is
                                      // not in
    envgen::Identity owner;
    owner.uid = status.st_uid;
    owner.gid = kNobody;
    user_.emplace(owner);
  }
  [[nodiscard]] bool may() const { return !gone_ && (!user_ || user_->switched()); }
  [[nodiscard]] bool is_another() const { return user_ && user_->switched(); }

 private:
  bool gone_ = false;
  std::optional<sys::AsUser> user_;
};

// Sets the last use of the copies that jobs hold to now. A job that runs for weeks uses its copy
// all the time, not only at its start.
void note_use(const std::vector<CachedDataset>& entries) {
  for (const CachedDataset& entry : entries) {
    const CacheEntry cache_entry{.cache = entry.cache, .key = entry.key};
    const AsOwner owner(entry.cache);
    if (entry.in_use && owner.may()) {
      ::utimensat(AT_FDCWD, cache_entry.lock().c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
    }
  }
}

// Deletes records of deleted copies after a year without a request. Links to such a copy are
// unlikely then.
void forget_old_sources(const std::string& cache, std::int64_t now_ms) {
  constexpr std::int64_t kYearMs = 365LL * 24 * 60 * 60 * 1000;
  const sys::Dir directory(::opendir(cache.c_str()));
  while (const dirent* entry = directory ? ::readdir(directory.get()) : nullptr) {
    const std::string path = cache + "/" + entry->d_name;
    const bool due = path.ends_with(".was") && now_ms - mtime_ms(path) > kYearMs;
    if (due) ::unlink(path.c_str());
  }
}

base::Status list_user_cache(const std::string& cache, std::vector<CachedDataset>& entries) {
  constexpr std::size_t kMax = 100'000;
  const AsOwner owner(cache);
  if (!owner.may()) return {};
  const sys::Dir directory(::opendir(cache.c_str()));
  if (!directory) {
    // A cache of another user that this user cannot read is left out, without an error.
    if (errno == ENOENT || errno == EACCES) return {};
    return base::fail(kWhat, cache, sys::errno_text(errno), "name another --data-root");
  }
  std::set<std::string> keys;
  while (const dirent* entry = ::readdir(directory.get())) {
    std::string key = key_in(entry->d_name);
    if (!key.empty() && keys.size() < kMax) keys.insert(std::move(key));
  }
  entries.reserve(entries.size() + keys.size());
  for (const std::string& key : keys) {
    entries.push_back(describe({.cache = cache, .key = key}));
  }
  return {};
}

base::Result<std::vector<CachedDataset>> list_user_caches(const std::string& root, bool own) {
  std::vector<CachedDataset> entries;
  base::Status last;
  for (const UserCache& cache : user_caches(root)) {
    // Skips directories that other users can write, because a name in them may lead anywhere.
    if (!cache.safe || (own && !cache.is_ours())) continue;
    if (auto listed = list_user_cache(cache.path, entries); !listed) last = std::move(listed);
  }
  if (entries.empty() && !last) return std::unexpected(last.error());
  return entries;
}

}  // namespace

base::Result<std::vector<CachedDataset>> list_cache(const std::string& root) {
  return list_user_caches(root, false);
}

base::Result<std::vector<CachedDataset>> list_own(const std::string& root) {
  return list_user_caches(root, true);
}

base::Result<bool> evict(const CachedDataset& entry) {
  const CacheEntry cache_entry{.cache = entry.cache, .key = entry.key};
  const AsOwner owner(entry.cache);
  if (!owner.may()) return false;
  // access() checks the real user. If that is root, it may still lack the capability to write
  // everywhere.
  if (!owner.is_another() && ::access(cache_entry.cache.c_str(), W_OK) != 0) {
    return base::fail(kWhat, cache_entry.directory(), sys::errno_text(errno),
                      "remove it as its owner, or as root");
  }
  const bool known = mtime_ms(cache_entry.lock()) != 0;
  TRY_ASSIGN(const auto lock, try_lock(cache_entry, LockMode::kExclusive));
  if (!lock.valid()) return false;
  const bool used_since = known && mtime_ms(cache_entry.lock()) > entry.used_ms;
  if (used_since) return false;
  TRY(remove_cache_entry(cache_entry));
  return true;
}

namespace {

// Returns the datasets that are due in each user's cache, by time to live and size. The caches are
// judged separately, because a user can make up sizes and times. These must not cost another user a
// copy.
std::vector<CachedDataset> choose_by_cache(const std::vector<CachedDataset>& entries,
                                           CacheLimits limits) {
  limits.free_bytes = limits.want_free = 0;
  std::map<std::string_view, std::vector<CachedDataset>> caches;
  for (const CachedDataset& entry : entries) caches[entry.cache].push_back(entry);
  std::vector<CachedDataset> chosen;
  for (auto& [cache, held] : caches) {
    std::ranges::move(choose_evictions(std::move(held), limits), std::back_inserter(chosen));
  }
  return chosen;
}

// Returns all further datasets that can be deleted to make room, the least recently used first.
std::vector<CachedDataset> choose_for_room(std::vector<CachedDataset> entries,
                                           const std::vector<CachedDataset>& chosen,
                                           const CacheLimits& limits) {
  // Entries are compared by their names, because another user's records can contain any number.
  std::set<std::pair<std::string_view, std::string_view>> names;
  for (const CachedDataset& entry : chosen) names.emplace(entry.cache, entry.key);
  std::erase_if(entries, [&names](const CachedDataset& entry) {
    return names.contains({entry.cache, entry.key});
  });
  return choose_evictions(std::move(entries), {.now_ms = limits.now_ms, .ttl_ms = 0});
}

class Collector {
 public:
  Collector(const std::string& root, const CacheLimits& limits, bool dry_run)
      : root_(root), free_bytes_(limits.free_bytes), dry_run_(dry_run) {}

  // Deletes the datasets in order. With `want_free`, stops when the file system reports that many
  // free bytes.
  void collect(std::vector<CachedDataset> chosen, std::optional<std::uint64_t> want_free) {
    for (CachedDataset& entry : chosen) {
      if (want_free && free_bytes_ >= *want_free) return;
      auto gone = dry_run_ ? base::Result<bool>(true) : evict(entry);
      if (!gone) {
        collected_.error = std::move(gone.error());
        collected_.failed.push_back(std::move(entry));
      } else if (*gone) {
        const auto space = space_of(root_, {});
        free_bytes_ = dry_run_ || !space ? sum(free_bytes_, entry.bytes) : space->available_bytes;
        collected_.removed.push_back(std::move(entry));
      }
    }
  }
  [[nodiscard]] Collected take() && { return std::move(collected_); }

 private:
  std::string root_;
  std::uint64_t free_bytes_;
  bool dry_run_;
  Collected collected_;
};

}  // namespace

base::Result<Collected> collect_garbage(const std::string& root, const CacheLimits& limits,
                                        bool dry_run) {
  TRY_ASSIGN(const auto entries, list_cache(root));
  if (!dry_run) note_use(entries);
  const std::vector<CachedDataset> due = choose_by_cache(entries, limits);
  const auto cache = dry_run ? std::nullopt : own_cache(root);
  if (cache) forget_old_sources(cache->path, limits.now_ms);
  Collector collector(root, limits, dry_run);
  collector.collect(due, std::nullopt);
  collector.collect(choose_for_room(entries, due, limits), limits.want_free);
  Collected collected = std::move(collector).take();
  if (collected.removed.empty() && !collected.failed.empty()) {
    return std::unexpected(std::move(collected.error));
  }
  return collected;
}

}  // namespace copy
