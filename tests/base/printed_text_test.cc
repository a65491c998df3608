#include "base/printed_text.h"

#include <gtest/gtest.h>

namespace base {
namespace {

TEST(LastLine, IsTheLastOneWithAnythingInIt) {
  EXPECT_EQ(last_line("first\r\nlast one\n \n"), "last one");
  EXPECT_EQ(last_line("only"), "only");
  EXPECT_EQ(last_line("drawn\rover"), "over");
  EXPECT_EQ(last_line("\n"), "");
  EXPECT_EQ(last_line(""), "");
}

TEST(LastLine, HasNothingThatATerminalObeys) {
  EXPECT_EQ(last_line("\x1b[2Jgone \x7f\xc3\xa9\n"), "\\x1b[2Jgone \\x7f\xc3\xa9");
}

TEST(LastLine, IsCut) { EXPECT_EQ(last_line(std::string(5000, 'a')).size(), 300U); }

}  // namespace
}  // namespace base
