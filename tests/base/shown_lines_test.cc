#include "base/shown_lines.h"

#include <gtest/gtest.h>

#include "base/printed_text.h"

namespace base {
namespace {

TEST(ShownLines, AreALineForEachAddWhateverItsPartsHold) {
  ShownLines lines;
  lines.add({"a", "\nb\r", "\x1b[2K", "\xc2\x9b", "\xff", "\t\x7f", "é\u200d"});
  lines.add({"HF_TOKEN=", "abc"});
  ShownLines more;
  more.add({});
  lines.add(more);
  EXPECT_EQ(lines.text(), "a\\nb\\r\\x1b[2K\\x9b\\xff\\t\\x7fé\u200d\nHF_TOKEN=***\n\n");
}

TEST(PrintedText, IsEscapedOnce) {
  EXPECT_EQ(escaped_text("a\\n\n"), "a\\n\\n");
  EXPECT_EQ(escaped_text(escaped_text("\x1b")), "\\x1b");
  EXPECT_EQ(escaped_text("a\u202eb\u2028\u2029\u2066\u2069\u061c\u200b\ufeff\xad\u00ad"),
            "a\\u202eb\\u2028\\u2029\\u2066\\u2069\\u061c\\u200b\\ufeff\\xad\\xad");
  EXPECT_EQ(escaped_text("\U000e0041"), "\\U000e0041");
  EXPECT_EQ(plain_text("a\u202eb\u2028c"), "abc");
}

}  // namespace
}  // namespace base
