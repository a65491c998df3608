#include "init/sys/safe_path.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "init/sys/as_user.h"
#include "init/sys/open_log.h"
#include "tests/init/child.h"

namespace {

using sys::resolve_safely;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uid_t kOther = 2000;

// Nothing is deleted or run by them: root's directories of a scratch directory.
class Reach : public child::Scratch {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs other users";
    ::chmod(path("").c_str(), 0755);
    make("ours", 0, 0755);
    make("theirs", kOther, 0755);
    make("sticky", 0, 01777);
    make("all", 0, 0777);
    write("ours/file", "text");
  }
  void make(const std::string& name, uid_t owner, mode_t mode) const {
    ASSERT_EQ(::mkdir(path(name).c_str(), 0700), 0);
    ASSERT_EQ(::chown(path(name).c_str(), owner, owner), 0);
    ASSERT_EQ(::chmod(path(name).c_str(), mode), 0);
  }
  void link(const std::string& to, const std::string& name, uid_t owner) const {
    ASSERT_EQ(::symlink(to.c_str(), path(name).c_str()), 0);
    ASSERT_EQ(::lchown(path(name).c_str(), owner, owner), 0);
  }
  // The name of the file that is reached, from the directory that is held.
  static bool leads_to(const base::Result<sys::SafePath>& reached, const std::string& file) {
    struct stat left{};
    struct stat right{};
    return reached && ::fstatat(reached->directory.get(), reached->name.c_str(), &left, 0) == 0 &&
           ::stat(file.c_str(), &right) == 0 && left.st_ino == right.st_ino;
  }
};

TEST_F(Reach, GoesThroughDirectoriesOfOurs) {
  for (const char* name :
       {"ours/file", "ours//./file", "ours/../ours/file", "theirs/../ours/file"}) {
    EXPECT_TRUE(leads_to(resolve_safely(path(name)), path("ours/file"))) << name;
  }
  EXPECT_THAT(resolve_safely(path("ours/file"))->untrusted_directory, IsEmpty());
  EXPECT_EQ(resolve_safely("/")->name, ".");
  EXPECT_EQ(resolve_safely("/")->untrusted_directory, "");
  EXPECT_EQ(resolve_safely(path("ours/absent/x")).error().found.substr(0, 9), "No such f");
  EXPECT_FALSE(resolve_safely(path("ours/file/x")));
  EXPECT_FALSE(resolve_safely(""));
}

TEST_F(Reach, TellsWhoMayChangeWhatAPathMeans) {
  make("theirs/below", 0, 0755);
  make("sticky/ours", 0, 0755);
  make("sticky/theirs", kOther, 0755);
  make("group", 0, 0775);
  ASSERT_EQ(::chown(path("group").c_str(), 0, kOther), 0);
  EXPECT_THAT(resolve_safely(path("theirs/x"))->untrusted_directory,
              AllOf(HasSubstr("theirs (owner 2000"), HasSubstr("mode 0755")));
  EXPECT_THAT(resolve_safely(path("theirs/below/x"))->untrusted_directory, HasSubstr("theirs ("));
  EXPECT_THAT(resolve_safely(path("all/x"))->untrusted_directory, HasSubstr("all ("));
  EXPECT_THAT(resolve_safely(path("sticky/x"))->untrusted_directory, HasSubstr("sticky ("));
  EXPECT_THAT(resolve_safely(path("sticky/ours/x"))->untrusted_directory, IsEmpty());
  EXPECT_THAT(resolve_safely(path("sticky/theirs/x"))->untrusted_directory, HasSubstr("sticky ("));
  EXPECT_THAT(resolve_safely(path("group/x"))->untrusted_directory, HasSubstr("group ("));
}

TEST_F(Reach, GoesOnFromADirectoryThatItCameToBefore) {
  make("sticky/ours", 0, 0755);
  make("sticky/theirs", kOther, 0755);
  make("ours/below", 0, 0755);
  link(path("ours"), "sticky/link", kOther);
  link("../ours", "ours/link", 0);
  const auto ours = resolve_safely(path("ours/file"));
  for (const char* name : {"ours//below/../file", "ours/link/file", "ours/./file"}) {
    EXPECT_TRUE(leads_to(resolve_safely_from(*ours, path("ours"), path(name)), path("ours/file")))
        << name;
  }
  const auto made =
      resolve_safely_from(*ours, path("ours"), path("ours/new/deep/x"), {.make_parents = 0750});
  EXPECT_EQ(made->name, "x");
  EXPECT_TRUE(std::filesystem::is_directory(path("ours/new/deep")));
  // What one entry may be trusted with says nothing of another.
  const auto sticky = resolve_safely(path("sticky/ours"));
  ASSERT_THAT(sticky->untrusted_directory, IsEmpty());
  EXPECT_THAT(
      resolve_safely_from(*sticky, path("sticky"), path("sticky/ours/x"))->untrusted_directory,
      IsEmpty());
  EXPECT_THAT(
      resolve_safely_from(*sticky, path("sticky"), path("sticky/theirs/x"))->untrusted_directory,
      HasSubstr("sticky ("));
  const auto refused = resolve_safely_from(*sticky, path("sticky"), path("sticky/link/file"));
  EXPECT_TRUE(!refused && sys::is_foreign_link(refused.error()));
  // Below what others may change a link is followed as little as from the root.
  make("all/x", 0, 0755);
  link(path("ours"), "all/x/roots", 0);
  const auto weak = resolve_safely(path("all/x/file"));
  ASSERT_THAT(weak->untrusted_directory, HasSubstr("all ("));
  const auto below = resolve_safely_from(*weak, path("all/x"), path("all/x/roots/file"));
  EXPECT_TRUE(!below && sys::is_foreign_link(below.error()));
}

TEST_F(Reach, DoesNotGoOnFromADirectoryThatWasRemoved) {
  make("gone", 0, 0755);
  const auto known = resolve_safely(path("gone/x"));
  std::filesystem::remove(path("gone"));
  make("gone", 0, 0755);
  write("gone/file", "another");
  EXPECT_TRUE(
      leads_to(resolve_safely_from(*known, path("gone"), path("gone/file")), path("gone/file")));
}

// As images have it that were built with umask 002, until the job has root's group.
TEST_F(Reach, TrustsRootsGroupWhereTheJobIsNotInIt) {
  make("roots", 0, 0775);
  EXPECT_THAT(resolve_safely(path("roots/x"))->untrusted_directory, IsEmpty());
  const envgen::Identity job_user{
      .uid = 1000, .gid = 1000, .groups = {1000, 0}, .name = "", .home = "/"};
  EXPECT_THAT(resolve_safely(path("roots/x"), {.job_user = &job_user})->untrusted_directory,
              HasSubstr("roots ("));
}

TEST_F(Reach, FollowsLinksThatOnlyRootCouldMake) {
  link(path("ours"), "link", 0);
  link("../ours", "sticky/link", 0);
  link("ours/file", "file", 0);
  EXPECT_TRUE(leads_to(resolve_safely(path("link/file")), path("ours/file")));
  EXPECT_TRUE(leads_to(resolve_safely(path("sticky/link/file")), path("ours/file")));
  EXPECT_TRUE(leads_to(resolve_safely(path("file"), {.follow_last = true}), path("ours/file")));
  // Where it is not followed it is what is reached.
  EXPECT_EQ(resolve_safely(path("file"))->name, "file");
}

TEST_F(Reach, RefusesLinksThatOthersCouldMake) {
  link(path("ours"), "theirs/link", kOther);
  link(path("ours"), "theirs/roots", 0);
  link(path("ours"), "sticky/theirs", kOther);
  link(path("ours"), "all/roots", 0);
  for (const char* name : {"theirs/link/file", "theirs/roots/file", "sticky/theirs/file",
                           "all/roots/file", "ours/../theirs/link/file"}) {
    const auto reached = resolve_safely(path(name));
    ASSERT_FALSE(reached) << name;
    EXPECT_THAT(reached.error().found, HasSubstr("the link")) << name;
    EXPECT_THAT(reached.error().where, path(name));
  }
  EXPECT_FALSE(resolve_safely(path("theirs/link"), {.follow_last = true}));
  EXPECT_TRUE(resolve_safely(path("theirs/link")));
}

TEST_F(Reach, EndsInARingOfLinks) {
  link("ring", "ring", 0);
  EXPECT_THAT(resolve_safely(path("ring/x")).error().found, HasSubstr("ELOOP"));
  EXPECT_THAT(resolve_safely(path("ring"), {.follow_last = true}).error().found,
              HasSubstr("ELOOP"));
}

TEST_F(Reach, MakesTheDirectoriesOnTheWay) {
  EXPECT_TRUE(resolve_safely(path("ours/a/b/c"), {.make_parents = 0750}));
  struct stat status{};
  ASSERT_EQ(::stat(path("ours/a/b").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0750U);
  EXPECT_NE(::stat(path("ours/a/b/c").c_str(), &status), 0);
}

TEST_F(Reach, AsAUserGoesWhereThatOneMayWrite) {
  const envgen::Identity other{.uid = kOther, .gid = kOther, .groups = {}, .name = "", .home = "/"};
  make("theirs/real", kOther, 0755);
  link("real", "theirs/link", kOther);
  link(path("ours"), "theirs/out", kOther);
  const auto inside = sys::resolve_safely_as(other, path("theirs/link/x"));
  ASSERT_TRUE(inside);
  EXPECT_THAT(inside->untrusted_directory, HasSubstr("owner 2000"));
  EXPECT_FALSE(sys::resolve_safely_as(other, path("theirs/out/x")));
  // What root gave to nobody is reached by root.
  EXPECT_TRUE(sys::resolve_safely_as(other, path("ours/x")));
  EXPECT_EQ(::geteuid(), 0U);
  EXPECT_EQ(::getegid(), 0U);
}

TEST_F(Reach, OpensOnlyFilesThatAreMeant) {
  const envgen::Identity other{.uid = kOther, .gid = kOther, .groups = {}, .name = "", .home = "/"};
  write("all/theirs", "x");
  ASSERT_EQ(::chown(path("all/theirs").c_str(), kOther, kOther), 0);
  EXPECT_FALSE(sys::open_to_append(path("all/theirs"), 0644, nullptr));
  EXPECT_TRUE(sys::open_to_append(path("all/theirs"), 0644, &other));
  write("all/two", "x");
  ASSERT_EQ(::link(path("all/two").c_str(), path("all/names").c_str()), 0);
  EXPECT_THAT(sys::open_to_append(path("all/two"), 0644, nullptr).error().found,
              HasSubstr("2 names"));
  EXPECT_TRUE(sys::open_to_append(path("all/new"), 0640, nullptr));
  EXPECT_TRUE(sys::open_to_read(path("all/new"), nullptr));
}

TEST_F(Reach, ChecksWhatRunsWithOurRights) {
  link("ours/file", "file", 0);
  EXPECT_TRUE(sys::check_ours_alone(path("ours/file")));
  EXPECT_TRUE(sys::check_ours_alone(path("file")));
  write("theirs/file", "x");
  EXPECT_THAT(sys::check_ours_alone(path("theirs/file")).error().found, HasSubstr("theirs ("));
  ASSERT_EQ(::chmod(path("ours/file").c_str(), 0757), 0);
  EXPECT_THAT(sys::check_ours_alone(path("ours/file")).error().found, HasSubstr("mode 0757"));
  ASSERT_EQ(::chmod(path("ours/file").c_str(), 0755), 0);
  ASSERT_EQ(::chown(path("ours/file").c_str(), kOther, 0), 0);
  EXPECT_THAT(sys::check_ours_alone(path("file")).error().found, HasSubstr("owner 2000"));
}

TEST_F(Reach, ChecksTheInterpreterThatEnvFinds) {
  write("ours/interpreter", "x", 0755);
  ASSERT_EQ(::chown(path("ours/interpreter").c_str(), kOther, 0), 0);
  for (const char* line :
       {"#!/usr/bin/env interpreter\n", "#! /usr/bin/env  -S A=b interpreter -e\n"}) {
    write("ours/script", line, 0755);
    const std::string search = "/not/there:" + path("ours") + ":/usr/bin";
    const auto checked = sys::check_ours_alone(path("ours/script"), nullptr, search);
    ASSERT_FALSE(checked) << line;
    EXPECT_EQ(checked.error().where, path("ours/interpreter"));
    EXPECT_TRUE(sys::check_ours_alone(path("ours/script"), nullptr, "/usr/bin")) << line;
  }
}

TEST_F(Reach, EnvPassesOverADirectoryOfTheInterpretersName) {
  write("ours/interpreter", "x", 0755);
  ASSERT_EQ(::chown(path("ours/interpreter").c_str(), kOther, 0), 0);
  write("ours/script", "#!/usr/bin/env interpreter\n", 0755);
  ASSERT_EQ(::mkdir(path("first").c_str(), 0755), 0);
  ASSERT_EQ(::mkdir(path("first/interpreter").c_str(), 0755), 0);
  const std::string search = path("first") + ":" + path("ours");
  const auto checked = sys::check_ours_alone(path("ours/script"), nullptr, search);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().where, path("ours/interpreter"));
}

}  // namespace
