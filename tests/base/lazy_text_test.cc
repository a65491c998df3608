#include "base/lazy_text.h"

#include <gtest/gtest.h>

namespace base {
namespace {

TEST(LazyText, IsTheTextThatItIsGiven) {
  EXPECT_TRUE(LazyText().empty());
  EXPECT_TRUE(LazyText("").empty());
  EXPECT_EQ(LazyText().text(), "");
  EXPECT_FALSE(LazyText("a").empty());
  EXPECT_EQ(LazyText("ab").size(), 2U);
  EXPECT_EQ(LazyText("").size(), 0U);
  EXPECT_EQ(LazyText(std::string("a\0b", 3)).text(), std::string("a\0b", 3));
}

TEST(LazyText, IsMadeEachTimeThatItIsWritten) {
  int made = 0;
  const LazyText text([&made](const LazyText::Sink& sink) {
    ++made;
    sink("a");
    sink("bc");
  });
  EXPECT_FALSE(text.empty());
  EXPECT_FALSE(text.size());
  EXPECT_EQ(made, 0);
  std::vector<std::string> pieces;
  text.write([&pieces](std::string_view piece) { pieces.emplace_back(piece); });
  EXPECT_EQ(pieces, (std::vector<std::string>{"a", "bc"}));
  EXPECT_EQ(text, LazyText("abc"));
  EXPECT_FALSE(text == LazyText("ab"));
  EXPECT_EQ(made, 3);
}

}  // namespace
}  // namespace base
