#include "base/environ.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace base {
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

// Kubernetes makes these of a Service called master, Docker of --link.
TEST(Environ, DoesNotSeeALinkToAService) {
  for (const char* sign : {"MASTER_SERVICE_HOST=10.3.2.1", "MASTER_PORT_29500_TCP=tcp://h:29500"}) {
    for (const char* link : {"tcp://10.3.2.1:29500", "udp://[fd00::1]:53", "sctp://h:1"}) {
      Environ env({std::string("MASTER_PORT=") + link, sign});
      EXPECT_EQ(env.get("MASTER_PORT"), std::nullopt) << link;
      EXPECT_EQ(env.service_link("MASTER_PORT"), link);
      env.apply({Kind::kSetDefault, "MASTER_PORT", "29500"});
      EXPECT_THAT(env.entries(), ElementsAre("MASTER_PORT=29500", sign));
      EXPECT_EQ(env.get("MASTER_PORT"), "29500");
    }
  }
}

TEST(Environ, SeesWhatOnlyLooksLikeALink) {
  const Environ env({"A_PORT=tcp://10.3.2.1:80", "B_PORT=29500", "B_SERVICE_HOST=10.3.2.1",
                     "C_PORT=http://c:80", "C_SERVICE_HOST=10.3.2.1", "D_ADDR=tcp://d:1",
                     "D_SERVICE_HOST=10.3.2.1", "AB_SERVICE_HOST=10.3.2.1", "A_PORT_NAME=x"});
  for (const char* name : {"A_PORT", "B_PORT", "C_PORT", "D_ADDR", "B_SERVICE_HOST"}) {
    EXPECT_TRUE(env.get(name)) << name;
    EXPECT_EQ(env.service_link(name), "") << name;
  }
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
}  // namespace base
