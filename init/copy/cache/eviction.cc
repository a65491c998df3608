#include "init/copy/cache/eviction.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "init/copy/cache/listing.h"
#include "init/copy/copy_progress.h"
#include "init/copy/space.h"
#include "init/sys/clock.h"

namespace copy {
namespace {

constexpr const char* kWhat = "making room for a dataset";

base::Status no_room(const std::string& root, const Space& space, const Need& need) {
  return base::fail(kWhat, root,
                    shortage(space, need) + ", and nothing that is not in use and would make room",
                    "free space there, name a larger --data-root, or lower --data-headroom");
}

// Returns all copies that can be deleted, the least recently used first.
std::vector<CachedDataset> all_unused(const std::vector<CachedDataset>& entries) {
  return choose_evictions(entries, {.now_ms = sys::wall_ms(), .ttl_ms = 0});
}

base::Status evict_until_there_is_room(const std::string& root, const CacheEntry& own,
                                       const Need& need, const envgen::Headroom& headroom) {
  auto space = space_of(root, headroom);
  if (!space) return std::unexpected(space.error());
  if (has_room(*space, need)) return {};
  TRY_ASSIGN(auto entries, list_own(root));
  std::erase_if(entries, [&own](const auto& entry) {
    return entry.key == own.key && entry.cache == own.cache;
  });
  const std::vector<CachedDataset> unused = all_unused(entries);
  Space best = *space;
  for (const CachedDataset& entry : unused) {
    best.free_bytes = sum(best.free_bytes, entry.bytes);
    best.free_inodes = sum(best.free_inodes, entry.entries);
  }
  if (!has_room(best, need)) return no_room(root, *space, need);
  for (const CachedDataset& entry : unused) {
    std::ignore = evict(entry);
    space = space_of(root, headroom);
    if (!space) return std::unexpected(space.error());
    if (has_room(*space, need)) return {};
  }
  return no_room(root, *space, need);
}

}  // namespace

base::Status make_room(const std::string& root, const CacheEntry& own, const Need& need,
                       const envgen::DataRequest& request) {
  const auto most = static_cast<std::uint64_t>(std::max<std::int64_t>(request.cache_max_bytes, 0));
  if (most != 0 && need.bytes > most) {
    return base::fail(kWhat, root, base::size_text(need.bytes) + " to be copied",
                      "raise --cache-max-size, or copy less with --include and --exclude");
  }
  TRY_ASSIGN(auto entries, list_own(root));
  std::erase_if(entries, [&own](const auto& entry) {
    return entry.key == own.key && entry.cache == own.cache;
  });
  const CacheLimits limits = {
      .now_ms = sys::wall_ms(),
      .ttl_ms = request.cache_ttl_ms,
      .max_bytes = most == 0 ? 0 : std::max<std::uint64_t>(most - need.bytes, 1)};
  // A failure is ignored: the room may be enough without that copy.
  for (const CachedDataset& entry : choose_evictions(std::move(entries), limits)) {
    std::ignore = evict(entry);
  }
  return evict_until_there_is_room(root, own, need, request.headroom);
}

}  // namespace copy
