#include "init/copy/cache/cache_policy.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "base/stable_sort.h"

namespace copy {

std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
  return a + std::min(b, std::numeric_limits<std::uint64_t>::max() - a);
}

std::vector<CachedDataset> choose_evictions(std::vector<CachedDataset> entries,
                                            const CacheLimits& limits) {
  std::uint64_t held = 0;
  for (const CachedDataset& entry : entries) held = sum(held, entry.bytes);
  const auto used = [&limits](const CachedDataset& entry) {
    return std::min(entry.used_ms, limits.now_ms);
  };
  std::erase_if(entries, [](const CachedDataset& entry) { return entry.in_use; });
  // Sorted by the last use, so those whose time to live is over come first.
  base::stable_sort(entries, [&used](const CachedDataset& a, const CachedDataset& b) {
    return std::tuple(used(a), std::string_view(a.key)) <
           std::tuple(used(b), std::string_view(b.key));
  });
  std::uint64_t freed = 0;
  const auto first_kept = std::ranges::find_if(entries, [&](const CachedDataset& entry) {
    const bool expired = limits.now_ms - used(entry) >= limits.ttl_ms;
    const bool too_much = limits.max_bytes != 0 && held - freed > limits.max_bytes;
    const bool too_full =
        limits.free_bytes < limits.want_free && limits.want_free - limits.free_bytes > freed;
    if (!expired && !too_much && !too_full) return true;
    freed = sum(freed, entry.bytes);
    return false;
  });
  entries.erase(first_kept, entries.end());
  return entries;
}

}  // namespace copy
