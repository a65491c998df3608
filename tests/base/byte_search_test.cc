#include "base/byte_search.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace base {
namespace {

// In memory of just its size, so that a sanitizer sees each byte that is read beside it.
class Bytes {
 public:
  explicit Bytes(std::string_view text) : bytes_(text.begin(), text.end()) {}
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), bytes_.size()}; }

 private:
  std::vector<char> bytes_;
};

TEST(FindWord, IsWhatFindIsWhereverTheWordStands) {
  for (const std::string word : {"x", "ab", "aba", "iteration", "a word of twenty-five ..."}) {
    for (std::size_t before = 0; before < 70; ++before) {
      for (const std::size_t behind : {0U, 1U, 15U, 16U, 17U, 40U}) {
        const std::string text = std::string(before, 'a') + word + std::string(behind, 'n');
        const Bytes bytes(text);
        for (const std::size_t from : {std::size_t{0}, before, before + 1, text.size() + 1}) {
          EXPECT_EQ(find_word(bytes.view(), word, from), text.find(word, from))
              << word << " behind " << before << ", from " << from;
        }
      }
    }
  }
}

TEST(FindWord, FirstAndLastLetterAreNotTheWord) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "iterating in intention ";
  EXPECT_EQ(find_word(text, "iteration", 0), std::string_view::npos);
  text += "iteration";
  EXPECT_EQ(find_word(text, "iteration", 0), text.size() - 9);
  EXPECT_EQ(find_word("", "iteration", 0), std::string_view::npos);
  EXPECT_EQ(find_word("iter", "iteration", 0), std::string_view::npos);
}

TEST(LineAround, IsTheLineWhereverItsEndsAre) {
  for (std::size_t before = 0; before < 40; ++before) {
    for (std::size_t behind = 0; behind < 40; ++behind) {
      for (const char end : {'\n', '\r'}) {
        const std::string line = std::string(before, '\t') + "x" + std::string(behind, '\xff');
        const Bytes bytes("\033\n" + line + end + "\033");
        const LineAround around = line_around(bytes.view(), 0, 2 + before);
        EXPECT_EQ(bytes.view().substr(around.begin, around.end - around.begin), line);
        EXPECT_FALSE(around.escaped) << "in its neighbours";
        const Bytes alone(line);
        EXPECT_EQ(line_around(alone.view(), 0, before).begin, 0U);
        EXPECT_EQ(line_around(alone.view(), 0, before).end, line.size()) << "no end, no break";
      }
    }
  }
}

TEST(LineAround, KnowsAnEscapeAnywhereInIt) {
  for (std::size_t at = 0; at < 60; ++at) {
    std::string line(60, '.');
    if (at != 30) line[at] = '\033';
    EXPECT_EQ(line_around(Bytes("\n" + line + "\n").view(), 0, 31).escaped, at != 30) << at;
  }
}

TEST(LineAround, DoesNotBeginBeforeWhatHasBeenTaken) {
  EXPECT_EQ(line_around("step 1 step 2", 7, 7).begin, 7U);
}

}  // namespace
}  // namespace base
