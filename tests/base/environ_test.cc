#include "base/environ.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace envgen {
namespace {

using testing::ElementsAre;
using Kind = EnvEdit::Kind;

TEST(Environ, AnswersAsGetenvDoesWithTheFirstOfDoubles) {
  Environ env({"A=1", "A=2", "AB=3"});
  EXPECT_EQ(env.get("A"), "1");
  EXPECT_EQ(env.get("AB"), "3");
  EXPECT_EQ(env.get("B"), std::nullopt);
  EXPECT_EQ(env.get_or("B", "none"), "none");
}

TEST(Environ, AnEmptyValueIsAValue) { EXPECT_EQ(Environ({"A="}).get("A"), ""); }

TEST(Environ, KeepsWhatIsNoAssignmentAndTheOrder) {
  Environ env({"Z=1", "no assignment", "A=1"});
  env.set("B", "2");
  EXPECT_THAT(env.entries(), ElementsAre("Z=1", "no assignment", "A=1", "B=2"));
}

TEST(Environ, SetReplacesInPlaceAndRemovesDoubles) {
  Environ env({"A=1", "B=1", "A=2"});
  env.set("A", "3");
  EXPECT_THAT(env.entries(), ElementsAre("A=3", "B=1"));
}

TEST(Environ, UnsetRemovesEveryDouble) {
  Environ env({"A=1", "B=1", "A=2", "AA=1"});
  env.unset("A");
  EXPECT_THAT(env.entries(), ElementsAre("B=1", "AA=1"));
}

TEST(Environ, ADefaultKeepsWhatTheUserSet) {
  Environ env({"KEPT=user", "EMPTY="});
  env.apply({Kind::kSetDefault, "KEPT", "ours"});
  env.apply({Kind::kSetDefault, "EMPTY", "ours"});
  env.apply({Kind::kSetDefault, "NEW", "ours"});
  EXPECT_THAT(env.entries(), ElementsAre("KEPT=user", "EMPTY=ours", "NEW=ours"));
}

TEST(Environ, PutsInFrontOfAListAsItIs) {
  Environ env({"A=:/a::/b", "B=", "C=/c"});
  for (const char* name : {"A", "B", "C", "D"}) env.apply({Kind::kPutInFront, name, "/new"});
  EXPECT_THAT(env.entries(), ElementsAre("A=/new::/a::/b", "B=/new", "C=/new:/c", "D=/new"));
}

TEST(PrependPath, PutsTheElementFirstOnce) {
  EXPECT_EQ(prepend_path("/new", "/a:/b"), "/new:/a:/b");
  EXPECT_EQ(prepend_path("/a", "/b:/a:/c"), "/a:/b:/c");
  EXPECT_EQ(prepend_path("/a", ""), "/a");
}

TEST(PrependPath, DropsEmptyElementsThatMeanTheCurrentDirectory) {
  EXPECT_EQ(prepend_path("/new", ":/a::/b:"), "/new:/a:/b");
}

}  // namespace
}  // namespace envgen
