#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace base {
namespace {

using testing::ElementsAre;

TEST(Text, PiecesAreCutOffTheFront) {
  std::string_view rest = "a,,b";
  EXPECT_EQ(take_part(rest, ','), "a");
  EXPECT_EQ(take_part(rest, ','), "");
  EXPECT_EQ(take_part(rest, ','), "b");
  EXPECT_TRUE(rest.empty());
  EXPECT_EQ(trimmed(" \t a b\r\n"), "a b");
  EXPECT_EQ(trimmed(" \n"), "");
  EXPECT_THAT(split("a,", ','), ElementsAre("a", ""));
  EXPECT_THAT(split("", ','), ElementsAre(""));
  EXPECT_THAT(words_of("  a \t b\n"), ElementsAre("a", "b"));
  EXPECT_EQ(joined({"a", "b"}, ", "), "a, b");
}

TEST(Text, ANumberIsAllOfTheText) {
  EXPECT_EQ(parse_number<int>("-7"), -7);
  EXPECT_EQ(parse_number<unsigned>("ff", 16), 255U);
  for (const char* bad : {"", " 1", "1 ", "+1", "1x", "99999999999"}) {
    EXPECT_EQ(parse_number<int>(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(parse_count<int>("-0"), std::nullopt);
  EXPECT_EQ(parse_count<int>("07"), 7);
}

TEST(Text, WhatComesFromOutsideIsQuotedWithinBounds) {
  EXPECT_EQ(base::quoted("a b"), "\"a b\"");
  EXPECT_EQ(base::quoted("a\033[2J\n"), R"("a\x1b[2J\n")");
  EXPECT_EQ(base::quoted(std::string(81, 'x')), '"' + std::string(80, 'x') + "...\"");
  EXPECT_EQ(base::quoted(std::string(79, 'x') + "ö"), '"' + std::string(79, 'x') + "...\"");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
}

TEST(Text, DurationsAreSecondsWithoutZerosAtTheEnd) {
  EXPECT_EQ(seconds(0), "0 s");
  EXPECT_EQ(seconds(50), "0.05 s");
  EXPECT_EQ(seconds(2500), "2.5 s");
  EXPECT_EQ(seconds(2667), "2.667 s");
  EXPECT_EQ(seconds(600'000), "600 s");
}

TEST(SizeText, IsInPowersOf1024) {
  EXPECT_EQ(size_text(0), "0 B");
  EXPECT_EQ(size_text(1023), "1023 B");
  EXPECT_EQ(size_text(1536), "1.5 KiB");
  EXPECT_EQ(size_text(4ULL << 30), "4.0 GiB");
  EXPECT_EQ(size_text(UINT64_MAX), "15.9 EiB");
}

}  // namespace

}  // namespace base
