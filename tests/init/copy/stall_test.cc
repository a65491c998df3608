#include "init/copy/stall.h"

#include <gtest/gtest.h>

namespace {

using copy::CopySide;
using copy::StallLines;
using copy::StallWatch;

constexpr std::int64_t kTickMs = 200;

// Looks from `now_ms` until `until_ms`, with the same progress, and returns what the last look
// found.
copy::Stall look_until(StallWatch& watch, std::int64_t& now_ms, std::int64_t until_ms,
                       std::uint64_t progress, CopySide side) {
  copy::Stall stall;
  for (; now_ms <= until_ms; now_ms += kTickMs) stall = watch.look(now_ms, progress, side);
  return stall;
}

TEST(CopyStall, BeginsTenSecondsAfterTheLastProgress) {
  StallWatch watch;
  std::int64_t now = 1'000;
  EXPECT_EQ(look_until(watch, now, 10'800, 5, CopySide::kSource), copy::Stall{});
  const copy::Stall stall = look_until(watch, now, 16'000, 5, CopySide::kSource);
  EXPECT_EQ(stall, (copy::Stall{.side = CopySide::kSource, .for_ms = 15'000}));
  EXPECT_EQ(watch.look(16'200, 6, CopySide::kSource), copy::Stall{});
}

TEST(CopyStall, IsNoneWhileNoProcessWaits) {
  StallWatch watch;
  std::int64_t now = 0;
  EXPECT_EQ(look_until(watch, now, 60'000, 5, CopySide::kNone), copy::Stall{});
  // Nor does that time count later.
  EXPECT_EQ(look_until(watch, now, 69'000, 5, CopySide::kCopy), copy::Stall{});
}

TEST(CopyStall, DoesNotCountAPauseOfTheProcessThatLooks) {
  StallWatch watch;
  std::int64_t now = 0;
  look_until(watch, now, 2'000, 5, CopySide::kSource);
  now += 60'000;
  EXPECT_EQ(look_until(watch, now, now + 7'000, 5, CopySide::kSource), copy::Stall{});
}

TEST(CopyStall, IsToldOnceWithItsEnd) {
  const copy::CopyPlaces places{.source = "/mnt/x", .copy = "/data/y"};
  StallLines lines;
  EXPECT_EQ(lines.next({}, places), "");
  const std::string begin = lines.next({.side = CopySide::kSource, .for_ms = 15'000}, places);
  EXPECT_TRUE(begin.starts_with("nothing from /mnt/x for 15s: the copy waits")) << begin;
  EXPECT_EQ(lines.next({.side = CopySide::kSource, .for_ms = 40'000}, places), "");
  EXPECT_EQ(lines.next({}, places), "/mnt/x answers again after 40s");
  EXPECT_EQ(lines.next({}, places), "");
  EXPECT_NE(lines.next({.side = CopySide::kCopy, .for_ms = 10'000}, places), "");
}

TEST(CopyStall, NamesTheSidesThatAreKnown) {
  const copy::CopyPlaces places{.source = "/mnt/x", .copy = "/data/y"};
  EXPECT_EQ(stall_text({}, places), "");
  EXPECT_EQ(stall_text({.side = CopySide::kCopy, .for_ms = 12'000}, places),
            "nothing written to /data/y for 12s");
  EXPECT_EQ(stall_text({.side = CopySide::kBoth, .for_ms = 12'000}, places),
            "nothing from /mnt/x, nothing written to /data/y, for 12s");
}

}  // namespace
