// "Did you mean".

#include "base/nearest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using base::edit_distance;
using base::nearest;
using base::nearest_within;
using Words = std::vector<std::string_view>;

TEST(EditDistance, CountsInsertionsRemovalsChangesAndExchanges) {
  EXPECT_EQ(edit_distance("grace", "grace", 9), 0U);
  EXPECT_EQ(edit_distance("grase", "grace", 9), 1U);
  EXPECT_EQ(edit_distance("grce", "grace", 9), 1U);
  EXPECT_EQ(edit_distance("graace", "grace", 9), 1U);
  EXPECT_EQ(edit_distance("garce", "grace", 9), 1U);
  EXPECT_EQ(edit_distance("", "grace", 9), 5U);
  EXPECT_EQ(edit_distance("grace", "", 9), 5U);
  EXPECT_EQ(edit_distance("kitten", "sitting", 9), 3U);
  EXPECT_EQ(edit_distance("ca", "abc", 9), 3U) << "nothing is put between exchanged letters";
}

TEST(EditDistance, EndsAtTheMostThatIsAskedFor) {
  EXPECT_EQ(edit_distance("kitten", "sitting", 2), 3U);
  EXPECT_EQ(edit_distance("abcdef", "uvwxyz", 2), 3U);
  EXPECT_EQ(edit_distance(std::string(65, 'a'), std::string(65, 'a'), 2), 3U) << "too long";
  EXPECT_EQ(edit_distance(std::string(64, 'a'), std::string(64, 'a'), 2), 0U);
}

TEST(Nearest, IsTheOneWithTheFewestEdits) {
  const Words words = {"status", "stacks", "copy", "install"};
  EXPECT_EQ(nearest("statsu", words), "status");
  EXPECT_EQ(nearest("stack", words), "stacks");
  EXPECT_EQ(nearest("cpoy", words), "copy");
  EXPECT_EQ(nearest("python", words), "");
  EXPECT_EQ(nearest("", words), "");
  EXPECT_EQ(nearest("status", {}), "");
}

TEST(Nearest, TakesTheFirstOfTwoThatAreAsNear) {
  EXPECT_EQ(nearest("cat", Words{"car", "can"}), "car");
}

TEST(Nearest, TakesNoNoticeOfCaseAndDashes) {
  EXPECT_EQ(nearest("MAX_RESTARTS", Words{"max-restarts"}), "max-restarts");
  EXPECT_EQ(nearest("TEE", Words{"tee", "files"}), "tee");
}

TEST(Nearest, IsTheOnlyOneThatHasTheWordAsAPart) {
  const Words words = {"max-restarts", "restart-delay", "data", "data-root"};
  EXPECT_EQ(nearest("restarts", words), "max-restarts");
  EXPECT_EQ(nearest("restart", words), "") << "two have it";
  EXPECT_EQ(nearest("root", words), "data-root");
  EXPECT_EQ(nearest("roo", words), "") << "too short";
}

TEST(Nearest, OfAShortWordIsOneThatSharesALetter) {
  EXPECT_EQ(nearest("x", Words{"o"}), "");
  EXPECT_EQ(nearest("ls", Words{"gc", "ls"}), "ls");
  EXPECT_EQ(nearest("gx", Words{"gc", "ls"}), "gc");
  EXPECT_EQ(nearest("ab", Words{"gc", "ls"}), "");
}

TEST(NearestWithin, HasNoMoreEditsThanThat) {
  const Words words = {"TRAINIT_GRACE", "TRAINIT_HOSTS"};
  EXPECT_EQ(nearest_within("TRAINIT_GRASE", words, 1), "TRAINIT_GRACE");
  EXPECT_EQ(nearest_within("TRAINIT_GARSE", words, 1), "");
  EXPECT_EQ(nearest_within("TRAINIT_GARSE", words, 2), "TRAINIT_GRACE");
  EXPECT_EQ(nearest_within("TRAINIT_GRACE", words, 0), "TRAINIT_GRACE");
}

}  // namespace
