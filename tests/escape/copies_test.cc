// What a copy gives away: whoever makes its source must not gain by it.

#include <gmock/gmock.h>
#include <sys/xattr.h>

#include <array>
#include <cstdint>

#include "tests/escape/border.h"

namespace {

using escape::Border;
using escape::kJob;
using escape::kOther;
using escape::Result;
using escape::Words;
using testing::HasSubstr;

constexpr mode_t kPermissions = 07777;

class Copies : public Border {
 protected:
  // A tree of another user's with a program in it that runs as that user.
  void make_source() const {
    make("source", kOther, 02755);
    write("source/program", "#!/bin/sh\n");
    give("source/program", kOther, 06755);
  }
  [[nodiscard]] mode_t mode_of(const std::string& name) const {
    return status_of(name).st_mode & kPermissions;
  }
  [[nodiscard]] Result copy(const Words& args) const {
    return rules::run(contained(escape::joined({"copy", "--headroom", "0"}, args)));
  }
  // Where the data of a job is that runs with these options.
  [[nodiscard]] std::string data(const std::string& spec, const Words& options,
                                 const std::string& name = "SOURCE") const {
    const Result result = rules::run(contained(escape::joined(
        escape::joined({"--data", path(spec), "--data-root", path("cache"), "--data-headroom", "0"},
                       options),
        {"--", "/bin/sh", "-c", "echo $TRAINIT_DATASET_" + name})));
    EXPECT_EQ(result.code, 0) << result.err;
    const std::size_t above = path("").size();
    EXPECT_TRUE(result.out.starts_with(path(""))) << result.out;
    return result.out.substr(above, result.out.find('\n') - above);
  }
};

// It would run as the new owner: chown takes the bits away, too.
TEST_F(Copies, OfAnotherOwnerHaveNoSetIds) {
  make_source();
  for (const char* owner : {"0:0", "2000:0", "0:2000"}) {
    const Result result = copy({"--owner", owner, path("source"), path("out/place")});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(mode_of("out/place/program"), 0755U) << owner;
    EXPECT_EQ(mode_of("out/place"), 0755U) << owner;
    EXPECT_THAT(copy({"--owner", owner, path("source"), path("out/place")}).out,
                HasSubstr("unchanged"));
  }
}

TEST_F(Copies, OfTheSameOwnerKeepThem) {
  make_source();
  const Result result = copy({path("source"), path("out/place")});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(owner_of("out/place/program"), kOther);
  EXPECT_EQ(mode_of("out/place/program"), 06755U);
}

TEST_F(Copies, OfAnOrdinaryUserHaveNoSetIds) {
  make_source();
  as(kJob, path(""), "'" + rules::trainit() + "' copy --headroom 0 source home/place");
  EXPECT_EQ(owner_of("home/place/program"), kJob);
  EXPECT_EQ(mode_of("home/place/program"), 0755U);
}

TEST_F(Copies, ThatAreDataNeverHaveSetIds) {
  make_source();
  make("cache", 0, 0755);
  for (const Words& options : {Words{}, Words{"--user", "1000:1000"}, Words{"--user", "2000:2000"},
                               Words{"--user", "2000:2000", "--data-version", "1"}}) {
    const std::string cached = data("source", options);
    EXPECT_EQ(mode_of(cached + "/program"), 0755U) << cached;
    EXPECT_EQ(mode_of(cached), 0755U) << cached;
  }
}

struct AclEntry {
  std::uint16_t tag;
  std::uint16_t permissions;
  std::uint32_t id;
};

// Gives it an access control list, as setfacl does: owner rw-, group `group`, others `others`, and
// `user` of kOther, with a mask that lets all pass.
void set_acl(const std::string& path, std::uint16_t user, std::uint16_t group,
             std::uint16_t others) {
  constexpr std::uint32_t kNobody = 0xffffffff;
  const std::array<AclEntry, 5> entries = {AclEntry{0x01, 7, kNobody},
                                           {0x02, user, kOther},
                                           {0x04, group, kNobody},
                                           {0x10, 7, kNobody},
                                           {0x20, others, kNobody}};
  std::string bytes("\2\0\0\0", 4);
  bytes.append(reinterpret_cast<const char*>(entries.data()), sizeof entries);
  ASSERT_EQ(::setxattr(path.c_str(), "system.posix_acl_access", bytes.data(), bytes.size(), 0), 0)
      << "no access control lists here";
}

// The group's bits of such a file are the mask.
TEST_F(Copies, GiveTheGroupWhatItHadAndNotTheMask) {
  make("source", 0, 0755);
  make("source/directory", 0, 0755);
  write("source/file", "secret");
  write("source/shut", "not for everybody");
  set_acl(path("source/file"), 4, 0, 0);
  set_acl(path("source/shut"), 0, 4, 4);
  set_acl(path("source/directory"), 7, 0, 0);
  ASSERT_EQ(mode_of("source/file"), 0770U);
  const Result result = copy({path("source"), path("out/place")});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(mode_of("out/place/file"), 0700U);
  EXPECT_EQ(mode_of("out/place/directory"), 0700U);
  EXPECT_EQ(mode_of("out/place/shut"), 0700U);
  EXPECT_THAT(copy({path("source"), path("out/place")}).out, HasSubstr("unchanged"));
}

TEST_F(Copies, OfAnOrdinaryUserGiveItsGroupNoMoreThanTheOthers) {
  make("source", kOther, 0755);
  write("source/file", "of a group that kJob may be in");
  give("source/file", kOther, 0664);
  as(kJob, path(""), "'" + rules::trainit() + "' copy --headroom 0 source home/place >/dev/null");
  EXPECT_EQ(mode_of("home/place/file"), 0644U);
}

// Who could not come to the source does not come to its copy in the cache.
TEST_F(Copies, InTheCacheHaveTheAccessOfTheWayToTheirSource) {
  make("closed", 0, 0700);
  make("closed/source", 0, 0755);
  write("closed/source/file", "secret", 0644);
  write("closed/source.tar", "secret", 0644);
  make("cache", 0, 01777);
  const std::string tree = data("closed/source", {});
  EXPECT_EQ(mode_of(tree), 0700U);
  const std::string file = data("closed/source.tar", {}, "SOURCE_TAR");
  EXPECT_EQ(mode_of(file), 0600U);
  as(kOther, path(""), "! cat " + tree + "/file 2>/dev/null; ! cat " + file + " 2>/dev/null");
  // It is found, and still the copy of its source.
  EXPECT_EQ(data("closed/source", {}), tree);
  // The same with a group that may pass, and is that of the copy.
  give("closed", kJob, 0750);
  make("closed/for-group", 0, 0755);
  ASSERT_EQ(::chown(path("closed/for-group").c_str(), 0, kJob), 0);
  EXPECT_EQ(mode_of(data("closed/for-group", {}, "FOR_GROUP")), 0750U);
  give("closed", kOther, 0750);
  make("closed/another", 0, 0755);
  EXPECT_EQ(mode_of(data("closed/another", {}, "ANOTHER")), 0700U);
}

// A copy that was made by itself had them.
TEST_F(Copies, ThatBecomeDataLoseThem) {
  make_source();
  make("cache", 0, 0755);
  ASSERT_EQ(copy({path("source"), path("out/place")}).code, 0);
  const std::string spec = "source=" + path("out/place");
  EXPECT_EQ(data(spec, {}), "out/place");
  EXPECT_EQ(mode_of("out/place/program"), 0755U);
}

}  // namespace
