#include "init/sandbox/passwd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sandbox {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kPasswd =
    "root:x:0:0:root:/root:/bin/bash\n"
    "# a comment: x:1:1\n"
    "\n"
    "daemon:*:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
    "ma-user:x:1000:100:ModelArts,,,:/home/ma-user:/bin/bash\n"
    "twin:x:1000:7::/home/twin:/bin/sh\n"
    "1234:x:4321:50::/home/digits:/bin/sh\n"
    "homeless:x:1001:100:::\n"
    "+nis:x:77:77:::\n"
    "+\n"
    "broken line\n"
    "nouid:x::5::/:/bin/sh\n"
    "nogid:x:5\n";

constexpr std::string_view kGroup =
    "root:x:0:\n"
    "users:x:100:\n"
    "HwHiAiUser:x:1000:ma-user,other\n"
    "video:x:44:other, ma-user\n"
    "twice:x:44:ma-user\n"
    "users2:x:100:ma-user\n"
    "mixed:x:45:ma-user2,xma-user\n"
    "4567:x:7654:\n"
    "broken:x:\n"
    "+:::\n";

envgen::Identity identity(std::string_view spec, std::string_view passwd = kPasswd,
                          std::string_view group = kGroup) {
  auto found = find_identity(spec, passwd, group, "--user");
  if (!found) ADD_FAILURE() << to_line(found.error());
  return found.value_or(envgen::Identity());
}

std::string refusal(std::string_view spec) {
  auto found = find_identity(spec, kPasswd, kGroup, "--user");
  EXPECT_FALSE(found.has_value()) << spec;
  return found ? "" : to_line(found.error());
}

TEST(Passwd, EachLineIsAnEntry) {
  EXPECT_THAT(parse_passwd("ma-user:x:1000:100:ModelArts,,,:/home/ma-user:/bin/bash\n"),
              ElementsAre(PasswdEntry{.name = "ma-user",
                                      .uid = 1000,
                                      .gid = 100,
                                      .home = "/home/ma-user",
                                      .shell = "/bin/bash"}));
  EXPECT_THAT(parse_passwd("a:x:1:2:::"), ElementsAre(PasswdEntry{"a", 1, 2, "", ""}));
}

TEST(Passwd, WhatFollowsTheGidMayBeMissing) {
  EXPECT_THAT(parse_passwd("a:x:1:2"), ElementsAre(PasswdEntry{"a", 1, 2, "", ""}));
  EXPECT_THAT(parse_passwd("a:x:1:2:A:/a"), ElementsAre(PasswdEntry{"a", 1, 2, "/a", ""}));
}

TEST(Passwd, LinesThatAreNoEntriesArePassedOver) {
  for (const char* line :
       {"", "\n\n", "#a:x:1:2:::", "  # a:x:1:2", "+a:x:1:2:::", "-a:x:1:2:::", "+", "a", "a:x",
        "a:x:1", "a:x::2:::", "a:x:1::::", "a:x:one:2:::", "a:x:-1:2:::", "a:x:1x:2:::",
        ":x:1:2:::", "a:x:4294967295:2:::", "a:x:99999999999999999999:2:::"}) {
    EXPECT_THAT(parse_passwd(line), IsEmpty()) << line;
  }
  EXPECT_EQ(parse_passwd("  a:x:1:2:::\nb:x:4294967294:4294967294:::").size(), 2U);
}

TEST(Group, EachLineIsAnEntryWithItsMembers) {
  EXPECT_THAT(parse_group("video:x:44:a,b\nempty:x:45:\nshort:x:46\n"),
              ElementsAre(GroupEntry{"video", 44, {"a", "b"}}, GroupEntry{"empty", 45, {}},
                          GroupEntry{"short", 46, {}}));
  EXPECT_THAT(parse_group("spaced:x:1: a , b ,,c"),
              ElementsAre(GroupEntry{"spaced", 1, {"a", "b", "c"}}));
  EXPECT_THAT(parse_group("a:x:\na:x:one:\n+:::\n#a:x:1:\na\n"), IsEmpty());
}

TEST(Identity, AUserHasItsEntrysIdsHomeAndGroups) {
  const envgen::Identity found = identity("ma-user");
  EXPECT_EQ(found.uid, 1000U);
  EXPECT_EQ(found.gid, 100U);
  EXPECT_EQ(found.name, "ma-user");
  EXPECT_EQ(found.home, "/home/ma-user");
  EXPECT_THAT(found.groups, ElementsAre(100, 44, 1000)) << "the primary one first, none twice";
}

TEST(Identity, ANumberIsTheFirstEntryThatHasIt) {
  EXPECT_EQ(identity("1000"), identity("ma-user"));
  EXPECT_EQ(identity("0").home, "/root");
  EXPECT_EQ(identity("0001000").name, "ma-user");
}

TEST(Identity, ANumberIsAnIdEvenWhenANameLooksLikeIt) {
  EXPECT_EQ(identity("1234").uid, 1234U);
  EXPECT_EQ(identity("1234").name, "");
  EXPECT_EQ(identity("1000:4567").gid, 4567U);
}

TEST(Identity, AUidWithoutAnEntryIsAllowed) {
  EXPECT_EQ(identity("54321"),
            (envgen::Identity{.uid = 54321, .gid = 0, .groups = {0}, .name = "", .home = "/"}));
  EXPECT_EQ(identity("4294967294", "", "").uid, 4294967294U);
}

TEST(Identity, WithAGroupThereAreNoOthers) {
  EXPECT_THAT(identity("ma-user:video").groups, ElementsAre(44));
  EXPECT_EQ(identity("ma-user:video").gid, 44U);
  EXPECT_EQ(identity("ma-user:video").home, "/home/ma-user");
  EXPECT_EQ(identity("54321:HwHiAiUser").gid, 1000U);
  EXPECT_EQ(identity("ma-user:99").gid, 99U) << "a gid needs no entry";
}

// As Docker does for its own --user and --group-add, and Kubernetes for fsGroup.
TEST(Identity, KeepsTheGroupsThatThePlatformGave) {
  envgen::Identity job = identity("ma-user:video");
  keep_platform_groups(job, {0, 6, 44, 2000, 2001}, {.gid = 0, .groups = {0, 6}});
  EXPECT_THAT(job.groups, ElementsAre(44, 2000, 2001)) << "without those of root's in the image";
}

TEST(Identity, AnEntryWithoutAHomeLivesInTheRoot) { EXPECT_EQ(identity("homeless").home, "/"); }

TEST(Identity, UnknownNamesAreRefused) {
  EXPECT_THAT(refusal("nobody"),
              AllOf(HasSubstr("--user"), HasSubstr("\"nobody\""), HasSubstr("/etc/passwd")));
  EXPECT_THAT(refusal("ma-user:wheel"), AllOf(HasSubstr("\"wheel\""), HasSubstr("/etc/group")));
  for (const char* spec : {"+nis", "+", "nogid", "nouid", "# a comment", "-1", "0x10", " 1000"}) {
    EXPECT_THAT(refusal(spec), HasSubstr("/etc/passwd")) << spec;
  }
}

TEST(Identity, WhatIsNoUserAndGroupIsRefused) {
  for (const char* spec : {"", ":", ":video", "ma-user:", "a:b:c", "0:0:"}) {
    EXPECT_THAT(refusal(spec), HasSubstr("USER:GROUP")) << spec;
  }
  for (const char* spec : {"4294967295", "0:4294967295", "99999999999999999999"}) {
    EXPECT_THAT(refusal(spec), HasSubstr("4294967294")) << spec;
  }
}

TEST(Identity, MoreGroupsThanTheKernelTakesAreRefused) {
  std::string group;
  for (int gid = 1; gid <= 65'536; ++gid) group += "g:x:" + std::to_string(gid) + ":root\n";
  auto found = find_identity("root", kPasswd, group, "--user");
  ASSERT_FALSE(found.has_value());
  EXPECT_THAT(to_line(found.error()), HasSubstr("65537 groups"));
}

}  // namespace
}  // namespace sandbox
