#include "envgen/formats/perf_line.h"

#include <gmock/gmock.h>

#include <optional>
#include <string>

namespace envgen {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kMillion = 1'000'000;
constexpr const char* kLine =
    "this iteration hardware time is 2201.521 and e2e time is 3317.794921875 ms.";

std::optional<PerfTimes> match(const base::Result<LinePattern>& pattern, const std::string& line) {
  const auto numbers = match_line(*pattern, line);
  return numbers ? perf_times(*numbers) : std::nullopt;
}
std::optional<PerfTimes> match(const std::string& line) {
  return match(parse_perf_pattern(""), line);
}

TEST(PerfLine, IsThePlatformsOwnLine) {
  const auto times = match(kLine);
  ASSERT_TRUE(times);
  EXPECT_EQ(times->hardware, 2'201'521'000);
  EXPECT_EQ(times->e2e, 3'317'794'921) << "the six digits behind the point";
  EXPECT_EQ(times->ratio_ppm(), 663'549) << "2201.521 / 3317.794921875 = 0.6635494";
}

TEST(PerfLine, StandsAnywhereInALineWithAnyBlanks) {
  EXPECT_TRUE(match(std::string("[rank 3] 10:02 INFO ") + kLine + " ok"));
  EXPECT_TRUE(match("this  iteration\thardware time is   1 and e2e time is 2   ms. tail"));
  EXPECT_TRUE(match(std::string("this iteration hardware time is off; ") + kLine));
  EXPECT_FALSE(match("this iteration hardware time is1 and e2e time is 2 ms."));
}

TEST(PerfLine, TakesPlainDecimalsOnly) {
  const auto line = [](const std::string& hardware, const std::string& e2e) {
    return match("this iteration hardware time is " + hardware + " and e2e time is " + e2e +
                 " ms.");
  };
  EXPECT_TRUE(line("0", "1"));
  EXPECT_TRUE(line(".5", "1.0000000000000000001"));
  EXPECT_TRUE(line("999999999.9", "999999999"));
  for (const char* nonsense : {"", "-1", "nan", "inf", "1e3", "1.2.3", "0x10", "1,5", ".", "1.",
                               "1234567890", "99999999999999999999999999"}) {
    EXPECT_FALSE(line("1", nonsense)) << nonsense;
    EXPECT_FALSE(line(nonsense, "1")) << nonsense;
  }
  EXPECT_FALSE(line("1", "0"));
  EXPECT_FALSE(line("1", "0.0000001")) << "nothing that counts";
}

TEST(PerfLine, RatioNeverOverflows) {
  EXPECT_EQ((PerfTimes{999'999'999'999'999, 1}).ratio_ppm(), kMillion * kMillion);
  EXPECT_EQ((PerfTimes{1, 999'999'999'999'999}).ratio_ppm(), 0);
  EXPECT_EQ((PerfTimes{1, 3}).ratio_ppm(), 333'333);
  EXPECT_EQ((PerfTimes{5, 5}).ratio_ppm(), kMillion);
}

TEST(PerfLine, OfAnotherFrameworkIsFoundByItsPattern) {
  const auto pattern = parse_perf_pattern("step time: {e2e}s, kernels: {hardware}s");
  ASSERT_TRUE(pattern);
  EXPECT_EQ(match(pattern, "[Rank 0] step time:  2.0s, kernels: 1.5s (lr 1e-4)"),
            (PerfTimes{1'500'000, 2'000'000}));
  const auto open = parse_perf_pattern("hw={hardware} e2e={e2e}");
  ASSERT_TRUE(open);
  EXPECT_EQ(match(open, "hw=1 e2e=2"), (PerfTimes{kMillion, 2 * kMillion}));
  EXPECT_TRUE(match(open, "hw=1 e2e=2. More"));
  EXPECT_FALSE(match(open, "hw=1 e2e=2e3"));
  EXPECT_FALSE(match(open, "hw=1 e2e=2.5.1"));
}

TEST(PerfLine, PatternsThatCannotWorkSayWhy) {
  const auto why = [](const std::string& text) {
    const auto pattern = parse_perf_pattern(text);
    return pattern ? std::string() : pattern.error().found;
  };
  EXPECT_THAT(why("e2e {e2e}"), HasSubstr("no {hardware}"));
  EXPECT_THAT(why("hw {hardware}"), HasSubstr("no {e2e}"));
  EXPECT_THAT(why("{hardware} of {e2e}"), HasSubstr("no text before the first number"));
  EXPECT_THAT(why("x {hardware}{e2e}"), HasSubstr("nothing between"));
  EXPECT_THAT(why("x {hardware} {e2e} {e2e}"), HasSubstr("twice"));
  EXPECT_THAT(why("x {hardware} {hardware} {e2e}"), HasSubstr("twice"));
  EXPECT_THAT(why("x {hardware}\n{e2e}"), HasSubstr("more than a line"));
  EXPECT_THAT(why("x {hardware} {e2e}" + std::string(600, 'y')), HasSubstr("too long"));
}

TEST(Millionths, AreWrittenWithoutRounding) {
  EXPECT_EQ(millionths_text(663'549), "0.663549");
  EXPECT_EQ(millionths_text(500'000), "0.5");
  EXPECT_EQ(millionths_text(2 * kMillion), "2.0");
}

}  // namespace
}  // namespace envgen
