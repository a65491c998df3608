#include "init/copy/copy_progress.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;

envgen::CopyProgress half_way() {
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
  EXPECT_EQ(envgen::progress_line({.phase = "scanning", .entries = 12}, {}),
            "scanning: 12 entries, 0 B");
}

TEST(CopyProgress, LineOfAWaitingJobSaysSo) {
  envgen::CopyProgress progress = half_way();
  progress.waiting = true;
  EXPECT_TRUE(progress_line(progress, {}).starts_with("waiting for another copy, copying: 50%"));
}

TEST(CopyProgress, BarFitsEveryWidth) {
  const envgen::Rate rate{.bytes = 10 * kMiB, .entries = 100};
  for (int columns = 0; columns < 200; ++columns) {
    const std::string bar = progress_bar(half_way(), rate, columns);
    EXPECT_LE(bar.size(), static_cast<std::size_t>(std::max(columns - 1, 0))) << columns;
    EXPECT_EQ(bar.find('\n'), std::string::npos);
  }
}

TEST(CopyProgress, BarShowsTheTimeLeftBeforeAmounts) {
  const envgen::Rate rate{.bytes = 10 * kMiB, .entries = 100};
  EXPECT_EQ(progress_bar(half_way(), rate, 24), "copying  50% 10s left");
  EXPECT_EQ(progress_bar(half_way(), rate, 92),
            "copying  50% [=====>    ] 500 of 1000 entries, 100.0 MiB of 200.0 MiB, 10.0 MiB/s, "
            "10s left");
}

TEST(CopyProgress, TimeLeftIsTheLongerOfBytesAndEntries) {
  EXPECT_EQ(time_left_ms(half_way(), {.bytes = 100 * kMiB, .entries = 50}), 10'000);
  EXPECT_EQ(time_left_ms(half_way(), {.bytes = 20 * kMiB, .entries = 500}), 5'000);
  EXPECT_EQ(time_left_ms(half_way(), {.bytes = 20 * kMiB, .entries = 0}), -1);
}

TEST(CopyProgress, HundredPercentIsForAllOfIt) {
  envgen::CopyProgress progress = half_way();
  progress.bytes = progress.total_bytes;
  EXPECT_EQ(percent_done(progress), 99);
  progress.entries = progress.total_entries;
  EXPECT_EQ(percent_done(progress), 100);
  EXPECT_EQ(envgen::percent_done({.phase = "scanning"}), 0);
  EXPECT_EQ(envgen::percent_done({.phase = "copying", .entries = 1, .total_entries = 4}), 25);
}

TEST(CopyProgress, RateIsThatOfTheLastTenSeconds) {
  envgen::RateWindow window;
  EXPECT_EQ(window.rate().bytes, 0U);
  std::uint64_t bytes = 0;
  std::int64_t now = 1000;
  for (; now < 60'000; now += 100) window.add(now, bytes += 100, 0);
  EXPECT_EQ(window.rate().bytes, 1000U);
  for (; now < 75'000; now += 100) window.add(now, bytes, 0);
  EXPECT_EQ(window.rate().bytes, 0U);
}

TEST(CopyProgress, RateIsKnownFromTheSecondLookOn) {
  envgen::RateWindow window;
  window.add(0, 0, 0);
  window.add(100, 100, 10);
  EXPECT_EQ(window.rate().bytes, 1000U);
  EXPECT_EQ(window.rate().entries, 100U);
}

TEST(CopyProgress, RateOfACopyThatBeganAnewForgetsTheOldOne) {
  envgen::RateWindow window;
  window.add(0, 0, 0);
  window.add(1000, 5000, 5);
  window.add(2000, 10, 1);
  EXPECT_EQ(window.rate().bytes, 0U);
  window.add(3000, 1010, 2);
  EXPECT_EQ(window.rate().bytes, 1000U);
}

TEST(CopyProgress, SizesAreInPowersOf1024) {
  EXPECT_EQ(envgen::size_text(0), "0 B");
  EXPECT_EQ(envgen::size_text(1023), "1023 B");
  EXPECT_EQ(envgen::size_text(1536), "1.5 KiB");
  EXPECT_EQ(envgen::size_text(4ULL << 30), "4.0 GiB");
  EXPECT_EQ(envgen::size_text(UINT64_MAX), "15.9 EiB");
}

TEST(CopyProgress, TimesAreShort) {
  EXPECT_EQ(envgen::time_text(450), "450ms");
  EXPECT_EQ(envgen::time_text(1450), "1.4s");
  EXPECT_EQ(envgen::time_text(12'900), "12s");
  EXPECT_EQ(envgen::time_text(185'000), "3m05s");
  EXPECT_EQ(envgen::time_text(7'800'000), "2h10m");
  EXPECT_EQ(envgen::time_text(273'600'000), "3d04h");
}

}  // namespace
