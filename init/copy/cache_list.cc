// What a node's cache holds, and the removal of what may go.

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "init/copy/cache.h"
#include "init/copy/eviction.h"
#include "init/copy/slot.h"
#include "init/copy/store.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"
#include "init/sys/reach.h"

namespace copy {
namespace {

constexpr const char* kWhat = "looking at the cache of datasets";
constexpr std::string_view kPartial = ".partial";

std::int64_t mtime_ms(const std::string& path) {
  constexpr std::int64_t kMsPerSecond = 1000;
  constexpr std::int64_t kNsPerMs = 1'000'000;
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return 0;
  return (status.st_mtim.tv_sec * kMsPerSecond) + (status.st_mtim.tv_nsec / kNsPerMs);
}

// "" for what is no slot of the cache: a lock, a file of somebody else.
std::string key_in(std::string_view name) {
  constexpr std::size_t kDigits = 16;
  if (name.ends_with(kPartial)) name.remove_suffix(kPartial.size());
  const std::size_t dash = name.rfind('-');
  const bool right = dash != std::string_view::npos && name.size() - dash - 1 == kDigits &&
                     name.find_first_not_of("0123456789abcdef", dash + 1) == std::string_view::npos;
  return right ? std::string(name) : "";
}

bool is_in_use(const Slot& slot) {
  struct stat status{};
  if (::lstat(slot.lock().c_str(), &status) != 0 && errno == ENOENT) return false;
  if (::access(slot.store.c_str(), W_OK) != 0) return is_held(slot);
  const auto lock = try_lock(slot, Hold::kExclusive);
  return !lock || !lock->valid();
}

// Of an unfinished one, as much as its copiers say.
envgen::CacheEntry describe(const Slot& slot, bool partial) {
  envgen::CacheEntry entry;
  entry.store = slot.store;
  entry.key = slot.key;
  entry.partial = partial;
  entry.in_use = is_in_use(slot);
  entry.used_ms = mtime_ms(slot.lock());
  if (entry.used_ms == 0) entry.used_ms = mtime_ms(partial ? slot.partial() : slot.published());
  if (partial) {
    if (const auto counters = SharedCounters::open(slot.progress())) {
      entry.entries = counters->get().entries;
      entry.bytes = counters->get().bytes;
      entry.total_bytes = counters->get().total_bytes;
    }
    entry.source = sys::look(slot.partial() + "/source", true).content;
  } else if (const auto record = read_record(slot); record && *record) {
    entry.source = (*record)->source;
    entry.entries = (*record)->entries;
    entry.bytes = (*record)->allocated;
  }
  return entry;
}

// Root looks after other users' stores as these users: what lies there is what they like.
class AsOwner {
 public:
  explicit AsOwner(const std::string& store) {
    struct stat status{};
    if (::geteuid() != 0) return;
    if (::lstat(store.c_str(), &status) != 0) {
      gone_ = true;
      return;
    }
    if (status.st_uid == 0) return;
    envgen::Identity owner;
    owner.uid = status.st_uid;
    owner.gid = status.st_gid;
    user_.emplace(owner);
  }
  [[nodiscard]] bool may() const { return !gone_ && (!user_ || user_->switched()); }

 private:
  bool gone_ = false;
  std::optional<sys::AsUser> user_;
};

// A job that takes weeks has used its copy until now, not only when it began.
void note_use(const std::vector<envgen::CacheEntry>& entries) {
  for (const envgen::CacheEntry& entry : entries) {
    const Slot slot{.store = entry.store, .key = entry.key};
    const AsOwner owner(entry.store);
    if (entry.in_use && owner.may()) {
      ::utimensat(AT_FDCWD, slot.lock().c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
    }
  }
}

// Whoever has not asked for a dataset for so long has no link to its copy any more.
void forget_old_sources(const std::string& store, std::int64_t now_ms) {
  constexpr std::int64_t kYearMs = 365LL * 24 * 60 * 60 * 1000;
  const sys::Dir directory(::opendir(store.c_str()));
  while (const dirent* entry = directory ? ::readdir(directory.get()) : nullptr) {
    const std::string path = store + "/" + entry->d_name;
    const bool due = path.ends_with(".was") && now_ms - mtime_ms(path) > kYearMs;
    if (due) ::unlink(path.c_str());
  }
}

}  // namespace

namespace {

envgen::Status list_store(const std::string& store, std::vector<envgen::CacheEntry>& entries) {
  constexpr std::size_t kMost = 100'000;
  const AsOwner owner(store);
  if (!owner.may()) return {};
  const sys::Dir directory(::opendir(store.c_str()));
  if (!directory) {
    // Another user's that we may not look into is that one's matter.
    if (errno == ENOENT || errno == EACCES) return {};
    return envgen::fail(kWhat, store, sys::errno_text(errno), "name another --data-root");
  }
  std::vector<std::pair<std::string, bool>> found;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    const std::string key = key_in(name);
    if (!key.empty() && found.size() < kMost) found.emplace_back(key, name.ends_with(kPartial));
  }
  std::ranges::sort(found);
  entries.reserve(entries.size() + found.size());
  for (const auto& [key, partial] : found) {
    entries.push_back(describe({.store = store, .key = key}, partial));
  }
  return {};
}

}  // namespace

envgen::Result<std::vector<envgen::CacheEntry>> list_cache(const std::string& root) {
  std::vector<envgen::CacheEntry> entries;
  envgen::Status last;
  for (const Store& store : stores_of(root)) {
    // Where others may write, a name may lead anywhere.
    if (!store.safe) continue;
    if (auto listed = list_store(store.path, entries); !listed) last = std::move(listed);
  }
  if (entries.empty() && !last) return std::unexpected(last.error());
  return entries;
}

envgen::Result<std::vector<envgen::CacheEntry>> list_removable(const std::string& root) {
  auto entries = list_cache(root);
  if (!entries || ::geteuid() == 0) return entries;
  std::erase_if(*entries, [](const envgen::CacheEntry& entry) {
    return ::access(entry.store.c_str(), W_OK) != 0;
  });
  return entries;
}

envgen::Result<bool> evict(const envgen::CacheEntry& entry) {
  const Slot slot{.store = entry.store, .key = entry.key};
  const AsOwner owner(entry.store);
  if (!owner.may()) return false;
  if (::access(slot.store.c_str(), W_OK) != 0) {
    return envgen::fail(kWhat, slot.published(), sys::errno_text(errno),
                        "remove it as its owner, or as root");
  }
  const bool known = mtime_ms(slot.lock()) != 0;
  const auto lock = try_lock(slot, Hold::kExclusive);
  if (!lock) return std::unexpected(lock.error());
  if (!lock->valid()) return false;
  const bool used_since = known && mtime_ms(slot.lock()) > entry.used_ms;
  if (used_since) return false;
  if (auto removed = remove_slot(slot); !removed) return std::unexpected(removed.error());
  return true;
}

envgen::Result<std::vector<envgen::CacheEntry>> collect_garbage(const std::string& root,
                                                                const envgen::CacheLimits& limits,
                                                                bool dry_run) {
  auto entries = list_cache(root);
  if (!entries) return entries;
  if (!dry_run) note_use(*entries);
  std::vector<envgen::CacheEntry> chosen = choose_evictions(std::move(*entries), limits);
  if (dry_run) return chosen;
  if (const auto store = own_store(root)) forget_old_sources(store->path, limits.now_ms);
  std::vector<envgen::CacheEntry> removed;
  removed.reserve(chosen.size());
  envgen::Error last;
  for (envgen::CacheEntry& entry : chosen) {
    auto gone = evict(entry);
    if (!gone) {
      last = std::move(gone.error());
    } else if (*gone) {
      removed.push_back(std::move(entry));
    }
  }
  if (removed.empty() && !last.what.empty()) return std::unexpected(std::move(last));
  return removed;
}

}  // namespace copy
