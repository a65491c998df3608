#include "init/copy/path_filter.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace copy {
namespace {

using Patterns = std::vector<std::string>;

PathFilter filter(const Patterns& include, const Patterns& exclude) {
  const auto made = PathFilter::make(include, exclude);
  return made ? *made : PathFilter();
}

bool matches(const std::string& pattern, const std::string& path) {
  return filter({pattern}, {}).takes_file(path);
}

std::string error_of(const std::string& pattern) {
  const auto made = PathFilter::make({}, {pattern});
  return made ? "accepted" : to_line(made.error());
}

TEST(PathFilter, TakesAllByDefault) {
  EXPECT_TRUE(PathFilter().takes_all());
  EXPECT_TRUE(PathFilter().takes_file("a/b"));
  EXPECT_TRUE(PathFilter().enters("a"));
  EXPECT_EQ(PathFilter().text(), "");
}

TEST(PathFilter, MatchesANameAnywhere) {
  EXPECT_TRUE(matches("*.jpg", "a.jpg"));
  EXPECT_TRUE(matches("*.jpg", "x/y/.jpg"));
  EXPECT_FALSE(matches("*.jpg", "a.jpg.tmp"));
  EXPECT_TRUE(matches("?[0-9][!a-c]", "x/z5d"));
  EXPECT_FALSE(matches("?[0-9][!a-c]", "x/z5b"));
  EXPECT_TRUE(matches("a*b*c", "aXbYbZc"));
  EXPECT_FALSE(matches("a*b*c", "aXcYc"));
  EXPECT_TRUE(matches("\xff?", "\xff\xfe")) << "names are bytes";
}

TEST(PathFilter, MatchesAPathFromTheRootWhereItHasASlash) {
  EXPECT_TRUE(matches("train/*.jpg", "train/a.jpg"));
  EXPECT_FALSE(matches("train/*.jpg", "x/train/a.jpg"));
  EXPECT_FALSE(matches("train/*.jpg", "train/x/a.jpg"));
  EXPECT_TRUE(matches("/a.jpg", "a.jpg"));
  EXPECT_FALSE(matches("/a.jpg", "x/a.jpg"));
  EXPECT_FALSE(matches("a?b/c", "a/b/c"));
  EXPECT_FALSE(matches("a[!x]b/c", "a/b/c")) << "no set holds a /";
}

TEST(PathFilter, TwoStarsTakeDirectoriesToo) {
  EXPECT_TRUE(matches("**/a.jpg", "a.jpg"));
  EXPECT_TRUE(matches("**/a.jpg", "x/y/a.jpg"));
  EXPECT_FALSE(matches("**/a.jpg", "xa.jpg"));
  EXPECT_FALSE(matches("**/a.jpg", "y/xa.jpg"));
  EXPECT_TRUE(matches("x/**/a", "x/a"));
  EXPECT_TRUE(matches("x/**/a", "x/y/z/a"));
  EXPECT_FALSE(matches("x/**/a", "x/ya"));
  EXPECT_TRUE(matches("x/**", "x/y/z"));
  EXPECT_TRUE(matches("/x**z", "x/y/z"));
  EXPECT_TRUE(matches("**/b/*c/**/d", "a/b/bc/xc/d"));
}

TEST(PathFilter, ASetMayHoldItsOwnSigns) {
  EXPECT_TRUE(matches("[]]", "]"));
  EXPECT_TRUE(matches("[!]]", "a"));
  EXPECT_FALSE(matches("[!]]", "]"));
  EXPECT_TRUE(matches("[a-]", "-"));
  EXPECT_TRUE(matches("[[]x]", "[x]"));
  EXPECT_TRUE(matches("[*]", "*"));
  EXPECT_FALSE(matches("[*]", "a"));
}

TEST(PathFilter, DoesNotEnterWhatIsExcluded) {
  const PathFilter excluding = filter({}, {".git/", "*.tmp", "a/b"});
  EXPECT_FALSE(excluding.enters("x/.git"));
  EXPECT_TRUE(excluding.takes_file("x/.git")) << "a file; the pattern is for directories";
  EXPECT_FALSE(excluding.enters("x.tmp"));
  EXPECT_FALSE(excluding.takes_file("d/x.tmp"));
  EXPECT_FALSE(excluding.enters("a/b"));
  EXPECT_TRUE(excluding.enters("c/a/b"));
}

TEST(PathFilter, TakesWhatIsIncludedOrLiesInADirectoryThatIs) {
  const PathFilter including = filter({"train/", "/val/0*", "*.txt"}, {"*.bak"});
  EXPECT_TRUE(including.takes_file("x/train/a/b"));
  EXPECT_FALSE(including.takes_file("train")) << "a file of that name";
  EXPECT_TRUE(including.takes_file("val/01/a"));
  EXPECT_FALSE(including.takes_file("val/11/a"));
  EXPECT_TRUE(including.takes_file("val/11/a.txt"));
  EXPECT_FALSE(including.takes_file("train/a.bak")) << "exclusion wins";
  EXPECT_TRUE(including.enters("val/11")) << "what is in it may be wanted";
}

TEST(PathFilter, TakesNoLongerForManyStars) {
  std::string stars;
  for (int star = 0; star < 200; ++star) stars += "*a";
  EXPECT_FALSE(matches(stars + "b", std::string(2000, 'a')));
  std::string deep;
  for (int star = 0; star < 200; ++star) deep += "**/";
  EXPECT_FALSE(matches(deep + "b", std::string(2000, '/')));
  EXPECT_FALSE(matches(stars + "b/c", "x/" + std::string(2000, 'a') + "/d"));
}

TEST(PathFilter, IsRefusedWithWhatIsWrong) {
  EXPECT_EQ(error_of("[a"),
            "reading a pattern: --exclude [a: found a [ without its ]; write [[] for the sign");
  EXPECT_EQ(error_of(""),
            "reading a pattern: --exclude : found an empty pattern; name files, as in *.tmp");
  EXPECT_NE(error_of("//"), "accepted");
  EXPECT_NE(error_of("[]"), "accepted");
  EXPECT_NE(error_of("[!]"), "accepted");
  EXPECT_EQ(error_of(std::string(4096, 'a')), "accepted");
  EXPECT_NE(error_of(std::string(4097, 'a')).find("found 4097 bytes"), std::string::npos);
}

TEST(PathFilter, HasTheSameTextForTheSameChoiceOnly) {
  EXPECT_EQ(filter({"a", "b"}, {}).text(), filter({"b", "a", "b"}, {}).text());
  EXPECT_NE(filter({"a"}, {}).text(), filter({}, {"a"}).text());
  EXPECT_NE(filter({"a/"}, {}).text(), filter({"a"}, {}).text());
  EXPECT_NE(filter({"/a"}, {}).text(), filter({"a"}, {}).text());
  EXPECT_NE(filter({"a+1:b"}, {}).text(), filter({"a", "b"}, {}).text());
}

}  // namespace
}  // namespace copy
