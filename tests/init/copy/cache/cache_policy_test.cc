#include "init/copy/cache/cache_policy.h"

#include <gmock/gmock.h>

#include <limits>
#include <string>
#include <vector>

namespace copy {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kNow = 1'000'000;
constexpr std::int64_t kNever = 1'000'000'000;

CachedDataset entry(std::string key, std::uint64_t bytes, std::int64_t used_ms) {
  CachedDataset made;
  made.key = std::move(key);
  made.bytes = bytes;
  made.used_ms = used_ms;
  return made;
}

CachedDataset in_use(CachedDataset entry) {
  entry.in_use = true;
  return entry;
}

std::vector<std::string> evicted(std::vector<CachedDataset> entries, CacheLimits limits) {
  limits.now_ms = kNow;
  std::vector<std::string> keys;
  for (const CachedDataset& gone : choose_evictions(std::move(entries), limits)) {
    keys.push_back(gone.key);
  }
  return keys;
}

TEST(CachePolicy, RemovesWhatWasNotUsedForTheTimeToLive) {
  const std::vector<CachedDataset> entries = {entry("new", 1, kNow - 99),
                                              entry("due", 1, kNow - 100), entry("old", 1, 0)};
  EXPECT_THAT(evicted(entries, {.ttl_ms = 100}), ElementsAre("old", "due"));
  EXPECT_THAT(evicted(entries, {.ttl_ms = 0}), ElementsAre("old", "due", "new"));
  EXPECT_THAT(evicted(entries, {.ttl_ms = kNever}), IsEmpty());
}

TEST(CachePolicy, RemovesTheLeastRecentlyUsedUntilTheRestIsSmallEnough) {
  const std::vector<CachedDataset> entries = {entry("c", 30, 3), entry("a", 10, 1),
                                              entry("b", 20, 2)};
  EXPECT_THAT(evicted(entries, {.ttl_ms = kNever, .max_bytes = 60}), IsEmpty());
  EXPECT_THAT(evicted(entries, {.ttl_ms = kNever, .max_bytes = 59}), ElementsAre("a"));
  EXPECT_THAT(evicted(entries, {.ttl_ms = kNever, .max_bytes = 49}), ElementsAre("a", "b"));
  EXPECT_THAT(evicted(entries, {.ttl_ms = kNever, .max_bytes = 0}), IsEmpty()) << "no limit";
}

TEST(CachePolicy, SumsOfForgedSizesDoNotWrap) {
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  const std::vector<CachedDataset> entries = {entry("a", kMax, 1), entry("b", 20, 2)};
  EXPECT_EQ(sum(kMax, 20), kMax);
  EXPECT_EQ(sum(20, kMax), kMax);
  EXPECT_EQ(sum(1, 2), 3U);
  EXPECT_THAT(evicted(entries, {.ttl_ms = kNever, .max_bytes = 19}), ElementsAre("a"));
  EXPECT_THAT(evicted(entries, {.ttl_ms = kNever, .free_bytes = 0, .want_free = kMax}),
              ElementsAre("a"));
}

TEST(CachePolicy, RemovesUntilEnoughIsFree) {
  const std::vector<CachedDataset> entries = {entry("a", 10, 1), entry("b", 20, 2),
                                              entry("c", 30, 3)};
  const auto with = [&entries](std::uint64_t free_bytes, std::uint64_t want_free) {
    return evicted(entries, {.ttl_ms = kNever, .free_bytes = free_bytes, .want_free = want_free});
  };
  EXPECT_THAT(with(5, 5), IsEmpty());
  EXPECT_THAT(with(5, 6), ElementsAre("a"));
  EXPECT_THAT(with(5, 15), ElementsAre("a"));
  EXPECT_THAT(with(5, 16), ElementsAre("a", "b"));
  EXPECT_THAT(with(0, ~std::uint64_t{0}), ElementsAre("a", "b", "c"));
}

TEST(CachePolicy, CountsWhatHasExpiredTowardsTheLimits) {
  EXPECT_THAT(evicted({entry("old", 50, 0), entry("b", 50, kNow - 2), entry("c", 50, kNow - 1)},
                      {.ttl_ms = 100, .max_bytes = 100}),
              ElementsAre("old"));
}

TEST(CachePolicy, NeverRemovesWhatIsInUse) {
  CachedDataset unfinished = entry("unfinished", 10, 0);
  unfinished.partial = true;
  EXPECT_THAT(evicted({in_use(entry("a", 100, 0)), in_use(unfinished), entry("b", 10, 1)},
                      {.ttl_ms = 0, .max_bytes = 1, .want_free = 1000}),
              ElementsAre("b"));
  EXPECT_THAT(evicted({unfinished}, {.ttl_ms = 10}), ElementsAre("unfinished"))
      << "whoever was at it is gone";
}

TEST(CachePolicy, TakesAUseInTheFutureForOneNow) {
  EXPECT_THAT(evicted({entry("future", 1, kNow + 500), entry("b", 1, kNow - 1)},
                      {.ttl_ms = kNever, .max_bytes = 1}),
              ElementsAre("b"));
  EXPECT_THAT(evicted({entry("future", 1, kNow + 500)}, {.ttl_ms = 0}), ElementsAre("future"));
}

}  // namespace
}  // namespace copy
