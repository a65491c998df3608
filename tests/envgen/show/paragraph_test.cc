// Lines of 80 columns from texts of any length.

#include "envgen/show/paragraph.h"

#include <gmock/gmock.h>

#include "envgen/show/rank_pattern.h"

namespace envgen {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string paragraph(const std::string& head, const std::string& text,
                      LongWord long_word = LongWord::kShorten) {
  base::ShownLines lines;
  add_paragraph(lines, head, text, long_word);
  return lines.text();
}

TEST(Paragraph, BreaksAtBlanksBelowItsText) {
  const std::string word(30, 'a');
  EXPECT_EQ(paragraph("head: ", word + " " + word + " " + word),
            "head: " + word + " " + word + "\n      " + word + "\n");
  EXPECT_EQ(paragraph("", "a  b"), "a  b\n") << "blanks stay";
}

TEST(Paragraph, CutsAWordThatIsWiderThanALine) {
  const std::string path = "/begin/" + std::string(100, 'x') + "/end";
  const std::string line = paragraph("  ", path);
  EXPECT_EQ(line.size(), kColumns + 1);
  EXPECT_THAT(line, HasSubstr("  /begin/"));
  EXPECT_THAT(line, HasSubstr("x...x"));
  EXPECT_THAT(line, HasSubstr("/end\n"));
  EXPECT_EQ(paragraph("  ", path, LongWord::kKeep), "  " + path + "\n");
}

TEST(Paragraph, CountsColumnsAndNotBytes) {
  EXPECT_EQ(columns_of("ä"), 1U);
  EXPECT_EQ(columns_of("数据"), 4U);
  EXPECT_EQ(columns_of("\xff"), 1U);
  EXPECT_EQ(cut_to("数据数据数据", 7), "数据...");
}

// A line end between a name and its value must not hide the value from the mask.
TEST(Paragraph, MasksBeforeItBreaks) {
  const std::string filler(50, 'a');  // "Bearer" is the last word that fits
  EXPECT_THAT(paragraph("", filler + " Authorization: Bearer abcdefghijklmnop"),
              Not(HasSubstr("abcdefghijklmnop")));
  EXPECT_EQ(paragraph("", "a\nb"), "a\\nb\n");
}

TEST(RankPattern, NamesConsecutiveNumbersOnce) {
  EXPECT_EQ(pattern_of({"0", "1", "2"}), "0-2");
  EXPECT_EQ(pattern_of({"8", "9", "10"}), "8-10");
  EXPECT_EQ(pattern_of({"/l/rank-0.json", "/l/rank-1.json"}), "/l/rank-{0..1}.json");
  EXPECT_EQ(pattern_of({"/r0/0", "/r1/1"}), "/r{0..1}/{0..1}");
  EXPECT_EQ(pattern_of({"a1", "a1"}), "a1");
  EXPECT_EQ(pattern_of({"0,1", "2,3"}), "") << "steps of two";
  EXPECT_EQ(pattern_of({"0", "2"}), "");
  EXPECT_EQ(pattern_of({"00", "01"}), "");
  EXPECT_EQ(pattern_of({"0", "-"}), "");
  EXPECT_EQ(pattern_of({"1", "x2"}), "");
}

TEST(RankPattern, SeparatesTheWordsThatDiffer) {
  std::string common;
  EXPECT_THAT(differing_words({"node 0 of GPU a (f)", "node 1 of GPU b (f)"}, common),
              ElementsAre("0 a", "1 b"));
  EXPECT_EQ(common, "node ... of GPU ... (f)");
  EXPECT_THAT(differing_words({"a", "b c"}, common), ElementsAre("a", "b c"));
  EXPECT_EQ(common, "");
}

}  // namespace
}  // namespace envgen
