#include "init/copy/copy_progress.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"

namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;

copy::CopyProgress half_way() {
  return {.phase = "copying",
          .entries = 500,
          .bytes = 100 * kMiB,
          .total_entries = 1000,
          .total_bytes = 200 * kMiB};
}

TEST(CopyProgress, LineTellsAmountsRateAndTimeLeft) {
  EXPECT_EQ(progress_line(half_way(), {.bytes = 10 * kMiB, .entries = 100}),
            "copying: 50%, 500 of 1000 entries, 100.0 MiB of 200.0 MiB, 10.0 MiB/s, 10s left");
}

TEST(CopyProgress, LineWithoutATotalTellsWhatIsKnown) {
  EXPECT_EQ(copy::progress_line({.phase = "scanning", .entries = 12}, {}),
            "scanning: 12 entries so far, 0 B");
}

TEST(CopyProgress, LineOfAWaitingJobSaysSo) {
  copy::CopyProgress progress = half_way();
  progress.waiting = true;
  EXPECT_TRUE(progress_line(progress, {}).starts_with("waiting for another copy, copying: 50%"));
}

TEST(CopyProgress, BarFitsEveryWidth) {
  const copy::Rate rate{.bytes = 10 * kMiB, .entries = 100};
  for (int columns = 0; columns < 200; ++columns) {
    const std::string bar = progress_bar(half_way(), rate, columns);
    EXPECT_LE(bar.size(), static_cast<std::size_t>(std::max(columns - 1, 0))) << columns;
    EXPECT_EQ(bar.find('\n'), std::string::npos);
  }
}

TEST(CopyProgress, BarShowsTheTimeLeftBeforeAmounts) {
  const copy::Rate rate{.bytes = 10 * kMiB, .entries = 100};
  EXPECT_EQ(progress_bar(half_way(), rate, 24), "copying  50% 10s left");
  EXPECT_EQ(progress_bar(half_way(), rate, 50), "copying  50% 10.0 MiB/s, 10s left")
      << "the rate comes before the bar";
  EXPECT_EQ(progress_bar(half_way(), rate, 60),
            "copying  50% [=========>        ] 10.0 MiB/s, 10s left");
  EXPECT_EQ(progress_bar(half_way(), rate, 110),
            "copying  50% [==========>          ] 500 of 1000 entries, 100.0 MiB of 200.0 MiB, "
            "10.0 MiB/s, 10s left");
}

TEST(CopyProgress, BarIsThereOnAUsualTerminal) {
  const copy::Rate rate{.bytes = 250 * kMiB, .entries = 1500};
  const copy::CopyProgress large{.phase = "copying",
                                 .entries = 635'000,
                                 .bytes = 1000 * 1024 * kMiB + 300 * kMiB,
                                 .total_entries = 1'280'000,
                                 .total_bytes = 2000 * 1024 * kMiB};
  const std::string bar = progress_bar(large, rate, 80);
  EXPECT_NE(bar.find("% [==="), std::string::npos) << bar;
  EXPECT_NE(bar.find("1000.2 GiB of 1.9 TiB, 250.0 MiB/s, 1h08m left"), std::string::npos) << bar;
}

TEST(CopyProgress, BarStaysWhereItIsWhenNumbersGrow) {
  copy::CopyProgress progress = half_way();
  const auto ends_at = [&progress](std::uint64_t bytes, std::uint64_t rate) {
    progress.bytes = bytes;
    return progress_bar(progress, {.bytes = rate, .entries = rate}, 80).find(']');
  };
  const std::size_t end = ends_at(5, 0);
  EXPECT_NE(end, std::string::npos);
  EXPECT_EQ(ends_at(progress.total_bytes / 3, 999 * kMiB), end);
  EXPECT_EQ(ends_at(progress.total_bytes - 1, 3), end);
}

TEST(CopyProgress, TimeLeftIsInWholeSeconds) {
  EXPECT_NE(progress_line(half_way(), {.bytes = 30 * kMiB, .entries = 5000}).find(", 4s left"),
            std::string::npos);
  EXPECT_NE(progress_line(half_way(), {.bytes = 300 * kMiB, .entries = 5000}).find(", 1s left"),
            std::string::npos);
}

TEST(CopyProgress, CheckingAfterACopyCountsEntries) {
  copy::CopyProgress progress = half_way();
  progress.bytes = progress.total_bytes;
  progress.phase = "checking";
  EXPECT_EQ(percent_done(progress), 50);
}

TEST(CopyProgress, TimeLeftIsTheLongerOfBytesAndEntries) {
  EXPECT_EQ(time_left_ms(half_way(), {.bytes = 100 * kMiB, .entries = 50}), 10'000);
  EXPECT_EQ(time_left_ms(half_way(), {.bytes = 20 * kMiB, .entries = 500}), 5'000);
  EXPECT_EQ(time_left_ms(half_way(), {.bytes = 20 * kMiB, .entries = 0}), -1);
}

TEST(CopyProgress, HundredPercentIsForAllOfIt) {
  copy::CopyProgress progress = half_way();
  progress.bytes = progress.total_bytes;
  EXPECT_EQ(percent_done(progress), 99);
  progress.entries = progress.total_entries;
  EXPECT_EQ(percent_done(progress), 100);
  EXPECT_EQ(copy::percent_done({.phase = "scanning"}), 0);
  EXPECT_EQ(copy::percent_done({.phase = "copying", .entries = 1, .total_entries = 4}), 25);
}

TEST(CopyProgress, RateIsThatOfTheLastTenSeconds) {
  copy::RateWindow window;
  EXPECT_EQ(window.rate().bytes, 0U);
  std::uint64_t bytes = 0;
  std::int64_t now = 1000;
  for (; now < 60'000; now += 100) window.add(now, bytes += 100, 0);
  EXPECT_EQ(window.rate().bytes, 1000U);
  for (; now < 75'000; now += 100) window.add(now, bytes, 0);
  EXPECT_EQ(window.rate().bytes, 0U);
}

TEST(CopyProgress, NoTimeLeftIsToldFromBeforeAStall) {
  copy::RateWindow window;
  std::uint64_t bytes = 0;
  std::int64_t now = 0;
  for (; now < 20'000; now += 100) window.add(now, bytes += 100'000, 0);
  for (; now < 24'000; now += 100) window.add(now, bytes, 0);
  EXPECT_EQ(window.rate().bytes, 0U);
  for (; now < 60'000; now += 100) window.add(now, bytes, 0);
  // Afterwards it is as slow as it is now: neither the rate before nor the stall counts.
  for (int i = 0; i < 20; ++i, now += 100) window.add(now, bytes += 100, 0);
  EXPECT_NEAR(static_cast<double>(window.rate().bytes), 1000, 100);
}

TEST(CopyProgress, StallTakesThePlaceOfTheTimeLeft) {
  copy::CopyProgress progress = half_way();
  progress.stalled = "nothing from /mnt/x for 40s";
  EXPECT_TRUE(progress_line(progress, {}).ends_with(", nothing from /mnt/x for 40s"));
  EXPECT_NE(progress_bar(progress, {}, 100).find("nothing from /mnt/x for 40s"), std::string::npos);
  EXPECT_NE(progress_bar(progress, {}, 40).find("nothing from /m"), std::string::npos);
  EXPECT_LT(progress_bar(progress, {}, 40).size(), 40U);
  progress.total_entries = 0;
  EXPECT_TRUE(progress_line(progress, {}).ends_with(", nothing from /mnt/x for 40s"));
}

TEST(CopyProgress, RateIsKnownFromTheSecondLookOn) {
  copy::RateWindow window;
  window.add(0, 0, 0);
  window.add(100, 100, 10);
  EXPECT_EQ(window.rate().bytes, 1000U);
  EXPECT_EQ(window.rate().entries, 100U);
}

TEST(CopyProgress, RateOfACopyThatBeganAnewForgetsTheOldOne) {
  copy::RateWindow window;
  window.add(0, 0, 0);
  window.add(1000, 5000, 5);
  window.add(2000, 10, 1);
  EXPECT_EQ(window.rate().bytes, 0U);
  window.add(3000, 1010, 2);
  EXPECT_EQ(window.rate().bytes, 1000U);
}

TEST(CopyProgress, TimesAreShort) {
  EXPECT_EQ(copy::time_text(450), "450ms");
  EXPECT_EQ(copy::time_text(1450), "1.4s");
  EXPECT_EQ(copy::time_text(12'900), "12s");
  EXPECT_EQ(copy::time_text(185'000), "3m05s");
  EXPECT_EQ(copy::time_text(7'800'000), "2h10m");
  EXPECT_EQ(copy::time_text(273'600'000), "3d04h");
}

}  // namespace
