#include "envgen/formats/line_pattern.h"

#include <gmock/gmock.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "envgen/formats/progress_line.h"

namespace envgen {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::array<LineNumber, 2> kNumbers{LineNumber{.name = "step"},
                                             LineNumber{.name = "ms", .decimal = true}};

LinePattern pattern_of(const std::string& text) { return *parse_line_pattern(text, kNumbers); }

// -1: it does not fit.
std::int64_t step_in(const std::string& pattern, const std::string& line) {
  const auto numbers = match_line(pattern_of(pattern), line);
  return numbers ? (*numbers)[0] : -1;
}

std::vector<std::int64_t> scan(const std::vector<std::string>& pieces,
                               const std::vector<std::string>& texts = {"step {step}"}) {
  std::vector<LinePattern> patterns;
  for (const std::string& text : texts) patterns.push_back(pattern_of(text));
  LineScanner scanner(std::move(patterns));
  std::vector<std::int64_t> all;
  for (const std::string& piece : pieces) {
    scanner.add(piece, [&all](std::size_t pattern, const LineNumbers& numbers) {
      all.push_back(static_cast<std::int64_t>(pattern) * 1000 + numbers[0]);
    });
  }
  return all;
}

TEST(LinePattern, FitsTheLinesOfFrameworks) {
  EXPECT_EQ(step_in("iteration {step}/", " iteration       10/     500 | consumed samples:  320"),
            10);
  EXPECT_EQ(step_in("| {step}/", "  5%|\xe2\x96\x8d   | 25/500 [00:12<03:50,  2.06it/s]"), 25);
  EXPECT_EQ(step_in("\"step\": {step}", R"({"loss": 0.5, "step": 12, "lr": 1e-4})"), 12);
  EXPECT_EQ(step_in("{\"step\": {step}", R"({"step": 12})"), 12) << "a brace is a brace";
  EXPECT_EQ(step_in("step: {step},", "epoch: 1 step: 25, loss is 2.3025"), 25);
  EXPECT_EQ(step_in("step={step},", "[Rank 0] step=10, skipped=0, lr=[0.001]"), 10);
  EXPECT_EQ(step_in("[{step}/", "[1/500] begun"), 1);
}

TEST(LinePattern, CharactersOfRegularExpressionsAreThemselves) {
  EXPECT_EQ(step_in("(.*) [a-z]+ {step}$", "(.*) [a-z]+ 7$"), 7);
  EXPECT_EQ(step_in("(.*) {step}", "step 7"), -1);
  EXPECT_EQ(step_in("a\\d {step}", "a\\d 7"), 7);
}

TEST(LinePattern, ACountMayHaveGroupsOfThree) {
  EXPECT_EQ(step_in("step {step}", "step 12,500 of 20,000"), 12'500);
  EXPECT_EQ(step_in("step {step}", "step 1_234_567"), 1'234'567);
  EXPECT_EQ(step_in("step {step}", "step 12,"), 12);
  EXPECT_EQ(step_in("step {step},", "step 12,500,0.25"), 12) << "the pattern goes on with it";
  for (const char* other : {"step 12,5", "step 12,5000", "step 1234,500", "step 12,500_000"}) {
    EXPECT_EQ(step_in("step {step}", other), -1) << other;
  }
}

TEST(LinePattern, ACountHasGroupsAlsoInFrontOfAComma) {
  EXPECT_EQ(step_in("step: {step},", "epoch: 1 step: 12,500, loss is 2.3"), 12'500);
  EXPECT_EQ(step_in("step: {step},", "step: 1,234,567,\tloss"), 1'234'567);
  EXPECT_EQ(step_in("step: {step},", "step: 999, loss"), 999);
  EXPECT_EQ(step_in("step: {step},", "step: 12, 500, loss"), 12);
  EXPECT_EQ(step_in("step {step}, loss", "step 12,500, loss 2.3"), 12'500);
  EXPECT_EQ(step_in("step {step}, loss", "step 999, loss 2.3"), 999);
  EXPECT_EQ(step_in("step {step},loss", "step 12,500,loss"), 12'500);
  EXPECT_EQ(step_in("step {step},500", "step 12,500"), 12);
  EXPECT_EQ(step_in("step_{step}_of", "step_12_500_of"), 12'500);
  EXPECT_EQ(step_in("step {step},{ms}", "step 12,500, 3"), 12) << "the comma is the pattern's";
  EXPECT_EQ(step_in("step {step}, {ms}", "step 12,500, 3"), 12'500);
}

TEST(LinePattern, WhatIsNoCountIsNone) {
  for (const char* other :
       {"step -1", "step +1", "step nan", "step 1.5", "step 12e3", "step 12k", "step 0x10", "step ",
        "step", "step 9999999999999999999", "step 18446744073709551617"}) {
    EXPECT_EQ(step_in("step {step}", other), -1) << other;
  }
  EXPECT_EQ(step_in("step {step}", "step 999999999999999999"), 999'999'999'999'999'999);
  EXPECT_EQ(step_in("step {step}", "step 0000000012"), 12);
  EXPECT_EQ(step_in("step {step}", "step 12."), 12) << "the end of a sentence";
  EXPECT_EQ(step_in("step {step}", "step 12/500"), 12);
  EXPECT_EQ(step_in("step {step}", "(step 12)"), 12);
}

TEST(LinePattern, SeesThroughColours) {
  EXPECT_EQ(step_in("step={step}", "\033[33mstep\033[0m=\033[1;36m12\033[0m loss=1"), 12);
  EXPECT_THAT(scan({"\033[33mstep\033[0m \033[1;36m12\033[0m\n"}), ElementsAre(12));
}

TEST(LinePattern, ThatCannotWorkSaysWhy) {
  const auto why = [](const std::string& text) {
    const auto pattern = parse_line_pattern(text, kNumbers);
    return pattern ? std::string() : pattern.error().found;
  };
  EXPECT_EQ(why(""), "there is none of {step}, {ms}");
  EXPECT_EQ(why("iteration"), "there is none of {step}, {ms}");
  EXPECT_EQ(why("{step}"), "no text before the first number");
  EXPECT_EQ(why("  {step}"), "no text before the first number");
  EXPECT_EQ(why("step {step} {step}"), "{step} stands there twice");
  EXPECT_EQ(why("step {step}{ms}"), "nothing between the two numbers");
  EXPECT_EQ(why("step {stp}"), "{stp} is none of {step}, {ms}");
  EXPECT_EQ(why("step {step}0"), "a digit behind a number");
  EXPECT_EQ(why("a\n{step}"), "more than a line");
  EXPECT_EQ(why(std::string(600, 'x') + "{step}"), "too long");
}

TEST(LineScanner, FindsTheSameWhereverTheBytesAreCut) {
  const std::string text = "epoch 1\rstep 1\r step 2\r\nnoise step\nstep 3 step 4\n\n\rstep 5\n";
  const auto whole = scan({text});
  EXPECT_THAT(whole, ElementsAre(1, 2, 3, 5)) << "the first place of a line";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(scan({text.substr(0, cut), text.substr(cut)}), whole) << cut;
  }
  std::vector<std::string> bytes;
  for (const char c : text) bytes.emplace_back(1, c);
  EXPECT_EQ(scan(bytes), whole);
}

TEST(LineScanner, SeveralPatternsAreFoundInTheOrderOfTheLines) {
  EXPECT_THAT(scan({"step 1\niter 2\nstep 3 iter 4\niter 5\n"}, {"step {step}", "iter {step}"}),
              ElementsAre(1, 1002, 3, 1004, 1005));
}

TEST(LineScanner, ABarsLineEndsWithTheNextOne) {
  EXPECT_THAT(scan({"\r| 1/9 [", "\r| 2/9 ["}, {"| {step}/"}), ElementsAre(1));
}

TEST(LineScanner, ALineCountsWhenItIsComplete) {
  EXPECT_THAT(scan({"step 12"}), IsEmpty());
  EXPECT_THAT(scan({"step 12", "34\n"}), ElementsAre(1234));
}

TEST(LineScanner, PassesOverLinesThatAreTooLongHoweverTheyCome) {
  const std::string filler(kMaxWatchedLineBytes, 'x');
  const std::string line = "step 7";
  EXPECT_THAT(scan({filler + line + "\n" + line + "\n"}), ElementsAre(7));
  EXPECT_THAT(scan({filler, line, "\n", line, "\n"}), ElementsAre(7));
  EXPECT_THAT(scan({filler + line, "\n" + line + "\n"}), ElementsAre(7));
  EXPECT_THAT(scan({std::string(1U << 20, 'x') + line + "\n" + line + "\n"}), ElementsAre(7));
  const std::string fits(kMaxWatchedLineBytes - line.size(), 'x');
  EXPECT_THAT(scan({fits + line + "\n"}), ElementsAre(7));
  EXPECT_THAT(scan({fits, line, "\n"}), ElementsAre(7));
}

TEST(LineScanner, BytesThatAreNoTextAreBytes) {
  EXPECT_THAT(scan({std::string("a\0b\xff step 7\0 x\n", 15)}), ElementsAre(7));
  EXPECT_THAT(scan({std::string("ste\0p 7\n", 8)}), IsEmpty());
}

TEST(LineScanner, ForgetsWhatIsNotContinued) {
  LineScanner scanner({pattern_of("step {step}")});
  std::vector<std::int64_t> all;
  const auto found = [&all](std::size_t, const LineNumbers& numbers) { all.push_back(numbers[0]); };
  scanner.add("step 1", found);
  scanner.forget();
  scanner.add("2\nstep 3\n", found);
  EXPECT_THAT(all, ElementsAre(3));
}

TEST(Decimals, AreReadWithoutRounding) {
  EXPECT_EQ(parse_decimal("0.5"), 500'000);
  EXPECT_EQ(parse_decimal("1"), 1'000'000);
  EXPECT_EQ(parse_decimal("0.0000019"), 1);
  for (const char* wrong : {"", "x", "-1", "1.", "0.5 ", "1e3", "1234567890"}) {
    EXPECT_FALSE(parse_decimal(wrong)) << wrong;
  }
}

TEST(ProgressPattern, HasAStepOrASavedOne) {
  const auto saved = parse_progress_pattern("saved checkpoint at iteration {saved}");
  ASSERT_TRUE(saved);
  EXPECT_TRUE(saved->saved);
  const auto numbers = match_line(saved->line, "  saved checkpoint at iteration    500 to /ckpt");
  ASSERT_TRUE(numbers);
  EXPECT_EQ(step_of(*saved, *numbers), 500);
  EXPECT_FALSE(parse_progress_pattern("step {step}")->saved);
  EXPECT_THAT(parse_progress_pattern("step {step} saved {saved}").error().found,
              HasSubstr("one of them a pattern"));
  EXPECT_THAT(parse_progress_pattern("step {hardware}").error().found,
              HasSubstr("none of {step}, {saved}"));
}

}  // namespace
}  // namespace envgen
