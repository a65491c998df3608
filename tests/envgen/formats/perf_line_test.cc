#include "envgen/formats/perf_line.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace envgen {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kMillion = 1'000'000;
constexpr const char* kLine =
    "this iteration hardware time is 2201.521 and e2e time is 3317.794921875 ms.";

PerfPattern usual() { return *parse_perf_pattern(""); }

std::vector<PerfTimes> scan(const std::vector<std::string>& pieces,
                            const PerfPattern& pattern = usual()) {
  std::vector<PerfTimes> all;
  PerfScanner scanner(pattern);
  for (const std::string& piece : pieces) {
    scanner.add(piece, [&all](const PerfTimes& times) { all.push_back(times); });
  }
  return all;
}

TEST(PerfLine, IsThePlatformsOwnLine) {
  const auto times = match_perf_line(usual(), kLine);
  ASSERT_TRUE(times);
  EXPECT_EQ(times->hardware, 2'201'521'000);
  EXPECT_EQ(times->e2e, 3'317'794'921) << "the six digits behind the point";
  EXPECT_EQ(times->ratio_ppm(), 663'549) << "2201.521 / 3317.794921875 = 0.6635494";
}

TEST(PerfLine, StandsAnywhereInALineWithAnyBlanks) {
  EXPECT_TRUE(match_perf_line(usual(), std::string("[rank 3] 10:02 INFO ") + kLine + " ok"));
  EXPECT_TRUE(match_perf_line(
      usual(), "this  iteration\thardware time is   1 and e2e time is 2   ms. tail"));
  EXPECT_TRUE(
      match_perf_line(usual(), std::string("this iteration hardware time is off; ") + kLine));
  EXPECT_FALSE(match_perf_line(usual(), "this iteration hardware time is1 and e2e time is 2 ms."));
}

TEST(PerfLine, TakesPlainDecimalsOnly) {
  const auto line = [](const std::string& hardware, const std::string& e2e) {
    return match_perf_line(usual(), "this iteration hardware time is " + hardware +
                                        " and e2e time is " + e2e + " ms.");
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
  EXPECT_EQ(match_perf_line(*pattern, "[Rank 0] step time:  2.0s, kernels: 1.5s (lr 1e-4)"),
            (PerfTimes{1'500'000, 2'000'000}));
  const auto open = parse_perf_pattern("hw={hardware} e2e={e2e}");
  ASSERT_TRUE(open);
  EXPECT_EQ(match_perf_line(*open, "hw=1 e2e=2"), (PerfTimes{kMillion, 2 * kMillion}));
  EXPECT_TRUE(match_perf_line(*open, "hw=1 e2e=2. More"));
  EXPECT_FALSE(match_perf_line(*open, "hw=1 e2e=2e3"));
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

TEST(PerfScanner, FindsTheSameWhereverTheBytesAreCut) {
  const std::string text = "epoch 1\rbar 50%\r" + std::string(kLine) + "\r\nnoise iteration\n" +
                           "this iteration hardware time is 3 and e2e time is 4 ms.\r" +
                           "this iteration hardware time is 5 and e2e time is 0 ms.\n";
  const auto whole = scan({text});
  ASSERT_EQ(whole.size(), 2U);
  EXPECT_EQ(whole[1], (PerfTimes{3 * kMillion, 4 * kMillion}));
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(scan({text.substr(0, cut), text.substr(cut)}), whole) << cut;
  }
  std::vector<std::string> bytes;
  for (const char c : text) bytes.emplace_back(1, c);
  EXPECT_EQ(scan(bytes), whole);
}

TEST(PerfScanner, ALineCountsWhenItIsComplete) {
  EXPECT_THAT(scan({kLine}), IsEmpty());
  EXPECT_EQ(scan({kLine, "\n"}).size(), 1U);
}

TEST(PerfScanner, PassesOverLinesThatAreTooLongHoweverTheyCome) {
  const std::string filler(kMostPerfLineBytes, 'x');
  const std::string text = filler + kLine + "\n" + kLine + "\n";
  EXPECT_EQ(scan({text}).size(), 1U);
  EXPECT_EQ(scan({filler, kLine, "\n", kLine, "\n"}).size(), 1U);
  EXPECT_EQ(scan({filler + kLine, "\n" + std::string(kLine) + "\n"}).size(), 1U);
  const std::string fits(kMostPerfLineBytes - std::string(kLine).size(), 'x');
  EXPECT_EQ(scan({fits + kLine + "\n"}).size(), 1U);
  EXPECT_EQ(scan({fits, kLine, "\n"}).size(), 1U);
}

TEST(PerfScanner, ForgetsWhatIsNotContinued) {
  PerfScanner scanner(usual());
  int found = 0;
  const auto count = [&found](const PerfTimes&) { ++found; };
  scanner.add("this iteration hardware time is 1 and ", count);
  scanner.forget();
  scanner.add("e2e time is 2 ms.\n", count);
  EXPECT_EQ(found, 0);
  scanner.add(std::string(kLine) + "\n", count);
  EXPECT_EQ(found, 1);
}

TEST(Millionths, AreReadAndWrittenWithoutRounding) {
  EXPECT_EQ(parse_millionths("0.5"), 500'000);
  EXPECT_EQ(parse_millionths("1"), kMillion);
  EXPECT_EQ(parse_millionths("0.0000019"), 1);
  for (const char* wrong : {"", "x", "-1", "1.", "0.5 ", "1e3", "1234567890"}) {
    EXPECT_FALSE(parse_millionths(wrong)) << wrong;
  }
  EXPECT_EQ(millionths_text(663'549), "0.663549");
  EXPECT_EQ(millionths_text(500'000), "0.5");
  EXPECT_EQ(millionths_text(2 * kMillion), "2.0");
}

}  // namespace
}  // namespace envgen
