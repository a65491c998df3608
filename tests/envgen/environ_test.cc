#include "envgen/environ.h"

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

TEST(PrependPath, PutsTheElementFirstOnce) {
  EXPECT_EQ(prepend_path("/new", "/a:/b"), "/new:/a:/b");
  EXPECT_EQ(prepend_path("/a", "/b:/a:/c"), "/a:/b:/c");
  EXPECT_EQ(prepend_path("/a", ""), "/a");
}

TEST(PrependPath, DropsEmptyElementsThatMeanTheCurrentDirectory) {
  EXPECT_EQ(prepend_path("/new", ":/a::/b:"), "/new:/a:/b");
}

TEST(Secrets, AreMaskedByName) {
  EXPECT_EQ(masked_entry("S3_SECRET_ACCESS_KEY=abc"), "S3_SECRET_ACCESS_KEY=***");
  EXPECT_EQ(masked_entry("hf_token=abc"), "hf_token=***");
  EXPECT_EQ(masked_entry("DB_PASSWORD="), "DB_PASSWORD=***");
  for (const char* name : {"OBS_AK", "OBS_SK", "SK", "DB_PASS", "MYSQL_PWD", "GIT_PAT", "AUTH",
                           "COOKIE", "ENC_KEY", "DSN"}) {
    EXPECT_TRUE(is_secret_name(name)) << name;
  }
  for (const char* name : {"PWD", "OLDPWD", "MASK", "KEYBOARD", "SKIP", "RANK_ID", "PASSES",
                           "HCCL_CONNECT_TIMEOUT", "TOKENIZERS_PARALLELISM", "MAX_TOKENS"}) {
    EXPECT_FALSE(is_secret_name(name)) << name;
  }
  EXPECT_EQ(masked_entry("PATH=/bin"), "PATH=/bin");
  EXPECT_EQ(masked_entry("no assignment"), "no assignment");
}

TEST(Secrets, InAddressesAreMasked) {
  EXPECT_EQ(masked_entry("http_proxy=http://bob:x@p:80"), "http_proxy=http://***@p:80");
  EXPECT_EQ(mask_url_credentials("a s3://k:s@b/p?x=a@b http://h/u@v c"),
            "a s3://***@b/p?x=a@b http://h/u@v c");
  EXPECT_EQ(mask_url_credentials("mysql://u:p@x@h"), "mysql://***@h");
  EXPECT_EQ(mask_url_credentials("no address: a@b"), "no address: a@b");
}

TEST(Secrets, InArgumentsAreMasked) {
  EXPECT_THAT(masked_arguments({"run", "--password=x", "--api-key", "x", "--token", "--lr", "0.1",
                                "http://u:p@h/f", "-k", "v"}),
              ElementsAre("run", "--password=***", "--api-key", "***", "--token", "--lr", "0.1",
                          "http://***@h/f", "-k", "v"));
}

}  // namespace
}  // namespace envgen
