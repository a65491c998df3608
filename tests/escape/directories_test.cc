// The directories of devices, below a directory of the job's: --work-dir.

#include <gmock/gmock.h>

#include "tests/escape/border.h"

namespace {

using escape::Border;
using escape::joined;
using escape::kJob;
using escape::kOther;
using escape::Result;
using escape::Words;
using testing::HasSubstr;

class WorkDir : public Border {
 protected:
  void SetUp() override {
    Border::SetUp();
    make("home/work", kJob, 0755);
    make("root/device0", 0, 0755);
    write("root/device0/precious", "x");
  }

  [[nodiscard]] Result start(const std::string& directory, bool clean) const {
    Words options = {"--user", "1000:1000"};
    if (clean) options.emplace_back("--clean-device-dirs");
    Words args = {"--rank-table", write("table.json", rules::rank_table(1)), "--work-dir",
                  path(directory)};
    args = joined(joined(std::move(args), options), {"--", "/bin/sh", "-c", "echo ran in $PWD"});
    return rules::run(contained(args));
  }
};

TEST_F(WorkDir, ThatWasSwappedLeadsNowhereElse) {
  as(kJob, path("home"), "rmdir work; ln -s " + path("root") + " work");
  for (const bool clean : {false, true}) {
    const Result result = start("home/work", clean);
    EXPECT_EQ(result.code, 125) << result.err;
    EXPECT_THAT(result.err, HasSubstr("home/work"));
    EXPECT_TRUE(exists("root/device0/precious")) << clean;
    EXPECT_EQ(owner_of("root/device0"), 0U) << clean;
  }
}

TEST_F(WorkDir, WithALinkForADeviceIsNotGivenAway) {
  make("root/device1", 0, 0755);
  as(kJob, path("home/work"), "ln -s " + path("root/device0") + " device0");
  const Result kept = start("home/work", false);
  EXPECT_EQ(owner_of("root/device0"), 0U) << kept.err;
  const Result cleaned = start("home/work", true);
  EXPECT_EQ(cleaned.code, 0) << cleaned.err;
  EXPECT_TRUE(exists("root/device0/precious"));
  EXPECT_EQ(owner_of("root/device0"), 0U);
  EXPECT_EQ(owner_of("home/work/device0"), kJob);
}

TEST_F(WorkDir, OfTheJobsIsMadeByTheJob) {
  const Result result = start("home/work", false);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("ran in " + path("home/work/device0")));
  EXPECT_EQ(owner_of("home/work/device0"), kJob);
}

// The job may have moved it there from anywhere.
TEST_F(WorkDir, WithWhatIsRootsIsNotCleanedInAPlaceOfTheJobs) {
  make("home/work/device0", kJob, 0755);
  make("home/work/device0/log", 0, 0755);
  write("home/work/device0/log/old", "x");
  const Result result = start("home/work", true);
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.err, HasSubstr("home/work/device0/log/old"));
  EXPECT_TRUE(exists("home/work/device0/log/old"));
}

// A directory of root's can be renamed in one of the job's.
TEST_F(WorkDir, ThatIsADirectoryOfRootsUnderAnotherNameIsLeftAlone) {
  make("home/private", 0, 0700);
  make("home/private/device0", 0, 0755);
  write("home/private/device0/precious", "x");
  as(kJob, path("home"), "mv private moved");
  const Result result = start("home/moved", true);
  EXPECT_EQ(result.code, 125) << result.err;
  EXPECT_TRUE(exists("home/moved/device0/precious"));
  EXPECT_EQ(owner_of("home/moved/device0"), 0U);
}

TEST_F(WorkDir, WithAFileForADeviceSaysSo) {
  make("work", 0, 0755);
  write("work/device0", "");
  const Result result = start("work", false);
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.err, HasSubstr("device0: found Not a directory"));
}

TEST_F(WorkDir, OfRootsIsMadeByRootAndGivenAway) {
  make("work", 0, 0755);
  const Result result = start("work/of/the/job", false);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(owner_of("work/of"), 0U);
  EXPECT_EQ(owner_of("work/of/the/job/device0"), kJob);
}

// Between any look and what is done after it.
TEST_F(WorkDir, ThatIsSwappedAllTheTimeLeadsNowhereElse) {
  make("root/victim", 0, 0755);
  constexpr int kStarts = 25;
  int ran = 0;
  for (int i = 0; i < kStarts; ++i) {
    make("root/victim/device0", 0, 0755);
    write("root/victim/device0/precious", "x");
    if (i == 0) as(kJob, path("home"), "ln -s " + path("root/victim") + " other");
    const Exchange exchange(kJob, path("home/work"), path("home/other"));
    ran += start("home/work", i % 2 == 0).code == 0 ? 1 : 0;
    EXPECT_TRUE(exists("root/victim/device0/precious"));
    EXPECT_EQ(owner_of("root/victim/device0"), 0U);
  }
  RecordProperty("starts that went through", ran);
}

// By a third user, in a directory that all may write.
TEST_F(WorkDir, InASharedDirectoryTakesNoLinkOfOthers) {
  make("tmp/shared", 0, 0777);
  as(kOther, path("tmp/shared"), "ln -s " + path("root") + " work");
  const Result result = start("tmp/shared/work", true);
  EXPECT_EQ(result.code, 125) << result.err;
  EXPECT_TRUE(exists("root/device0/precious"));
}

TEST_F(WorkDir, ByItsNameInProcIsOurs) {
  make("work", 0, 0755);
  escape::Spec spec =
      contained(ranks(2, {"/bin/pwd"}, {"--user", "1000:1000", "--work-dir", "/proc/self/cwd"}));
  spec.before = [before = spec.before] {
    before();
    if (::chdir("work") != 0) ::_exit(rules::kCannotStart);
  };
  const escape::Result result = rules::run(spec);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(owner_of("work/device1"), kJob);
}

}  // namespace
