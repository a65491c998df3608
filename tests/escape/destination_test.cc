// The place of a copy (--data SRC=DST) in a directory of the job's.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mount.h>

#include <array>
#include <filesystem>
#include <tuple>

#include "tests/escape/border.h"

namespace {

using escape::Border;
using escape::kJob;
using escape::kOther;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Place : public Border {
 protected:
  void SetUp() override {
    Border::SetUp();
    make("mnt", 0, 0755);
    make("mnt/ds", 0, 0755);
    make("mnt/ds/pre-start.d", 0, 0755);
    write("mnt/ds/pre-start.d/hook", "evil");
    make("etc", 0, 0755);
    make("etc/hooks", 0, 0755);
    make("etc/hooks/pre-start.d", 0, 0755);
    write("etc/hooks/pre-start.d/hook", "ours");
  }

  [[nodiscard]] rules::Result run(const std::string& place) const {
    return rules::run(contained({"--user", "1000:1000", "--data", path("mnt/ds") + "=" + place,
                                 "--", "/bin/sh", "-c", "echo reads $TRAINIT_DATASET_DS"}));
  }
  void expect_hooks_untouched() const {
    EXPECT_EQ(read(path("etc/hooks/pre-start.d/hook")), "ours");
    EXPECT_EQ(owner_of("etc/hooks"), 0U);
    EXPECT_EQ(owner_of("etc/hooks/pre-start.d"), 0U);
    EXPECT_FALSE(exists("etc/.trainit-copy.hooks"));
  }
};

TEST_F(Place, IsMadeInADirectoryOfTheJobs) {
  for (int round = 0; round < 2; ++round) {
    const rules::Result result = run(path("home/new/ds"));
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, "reads " + path("home/new/ds") + "\n") << result.err;
    EXPECT_THAT(result.err, HasSubstr(round == 0 ? "copied in" : "found in"));
    EXPECT_THAT(result.err, Not(HasSubstr("/proc/self")));
  }
  EXPECT_EQ(owner_of("home/new"), kJob);
  EXPECT_EQ(owner_of("home/new/ds"), kJob);
  EXPECT_EQ(read(path("home/new/ds/pre-start.d/hook")), "evil");
  EXPECT_EQ(owner_of("home/new/.trainit-copy.ds"), 0U);
  write("home/new/ds/ckpt", "precious");
  const rules::Result again = run(path("home/new/ds"));
  EXPECT_THAT(again.err, AllOf(HasSubstr(path("home/new/.trainit-copy.ds/replaced-")),
                               Not(HasSubstr("/proc/self"))));
}

TEST_F(Place, LinkOfTheJobsIsFollowedAsFarAsTheJobMayWrite) {
  make("scratch", kJob, 0755);
  as(kJob, path("home"), "mkdir ../scratch/real; ln -s ../scratch/real ds");
  const rules::Result inside = run(path("home/ds"));
  EXPECT_EQ(inside.out, "reads " + path("scratch/real") + "\n") << inside.err;
  as(kJob, path("home"), "rm ds; ln -s " + path("etc/hooks") + " ds");
  const rules::Result outside = run(path("home/ds"));
  EXPECT_EQ(outside.out, "reads " + path("mnt/ds") + "\n") << outside.err;
  EXPECT_THAT(outside.err, HasSubstr("where user 1000 may not write"));
  expect_hooks_untouched();
}

// In a sticky directory the job may write, but not take away what is another user's.
TEST_F(Place, LinkOfTheJobsToWhatIsOthersInAStickyDirectoryIsRefused) {
  make("tmp/roots", 0, 0700);
  make("tmp/others", kOther, 0755);
  for (const char* name : {"roots", "others"}) {
    write(std::string("tmp/") + name + "/keep", "precious");
    as(kJob, path("home"), "rm -f ds; ln -s " + path("tmp/") + name + " ds");
    const rules::Result result = run(path("home/ds"));
    EXPECT_THAT(result.err, HasSubstr("where user 1000 may not write")) << name;
    EXPECT_EQ(read(path(std::string("tmp/") + name + "/keep")), "precious");
  }
  EXPECT_EQ(owner_of("tmp/roots"), 0U);
  EXPECT_EQ(owner_of("tmp/others"), kOther);
}

// What is mounted there decides, not the directory above it.
TEST_F(Place, LinkOfTheJobsToAVolumeOfRootsIsRefused) {
  make("scratch", kJob, 0755);
  make("scratch/volume", kJob, 0755);
  as(kJob, path("home"), "ln -s " + path("scratch/volume") + " ds");
  rules::Spec mounted =
      contained({"--user", "1000:1000", "--data", path("mnt/ds") + "=" + path("home/ds"), "--",
                 "/bin/sh", "-c", "ls -A " + path("scratch/volume")});
  mounted.before = [before = mounted.before, volume = path("scratch/volume")] {
    if (before) before();
    if (::mount("none", volume.c_str(), "tmpfs", 0, "mode=755") != 0) ::_exit(98);
  };
  const rules::Result result = rules::run(mounted);
  EXPECT_EQ(result.out, "") << result.err;
  EXPECT_THAT(result.err, HasSubstr("where user 1000 may not write"));
}

TEST_F(Place, MayBeAVolumeBelowADirectoryOfTheJobs) {
  make("home/volume", kJob, 0755);
  rules::Spec mounted =
      contained({"--user", "1000:1000", "--data", path("mnt/ds") + "=" + path("home/volume"), "--",
                 "/bin/sh", "-c", "cat $TRAINIT_DATASET_DS/pre-start.d/hook"});
  mounted.before = [before = mounted.before, volume = path("home/volume")] {
    if (before) before();
    if (::mount("none", volume.c_str(), "tmpfs", 0, "mode=755,uid=1000") != 0) ::_exit(98);
  };
  const rules::Result result = rules::run(mounted);
  EXPECT_EQ(result.out, "evil") << result.err;
  EXPECT_THAT(result.err, HasSubstr("copied in"));
}

TEST_F(Place, ParentThatTheJobMadeALinkIsNotFollowed) {
  as(kJob, path("home"), "ln -s " + path("etc") + " data");
  const rules::Result result = run(path("home/data/hooks"));
  EXPECT_EQ(result.out, "reads " + path("mnt/ds") + "\n") << result.err;
  EXPECT_THAT(result.err, HasSubstr("link"));
  expect_hooks_untouched();
}

// What copies keep beside a place is trusted: it must be ours.
TEST_F(Place, StateDirectoryOfTheJobsIsRefused) {
  as(kJob, path("home"),
     "mkdir .trainit-copy.ds; ln -s " + path("etc/hooks") + " .trainit-copy.ds/tree");
  const rules::Result made = run(path("home/ds"));
  EXPECT_THAT(made.err, HasSubstr("a directory of user 1000"));
  as(kJob, path("home"),
     "rm -r .trainit-copy.ds; ln -s " + path("etc/hooks") + " .trainit-copy.ds");
  const rules::Result linked = run(path("home/ds"));
  EXPECT_THAT(linked.err, HasSubstr("no directory"));
  EXPECT_EQ(linked.out, "reads " + path("mnt/ds") + "\n");
  expect_hooks_untouched();
}

// The job cannot write to root's directories in its home, but give them other names.
TEST_F(Place, DirectoryOfRootsThatGotTheNameOfAStateDirectoryIsRefused) {
  make("home/logs", 0, 0755);
  write("home/logs/journal", "precious");
  make("home/logs/tree", 0, 0755);
  write("home/logs/tree/file", "precious");
  as(kJob, path("home"), "mv logs .trainit-copy.ds");
  const rules::Result renamed = run(path("home/ds"));
  EXPECT_THAT(renamed.err, HasSubstr("a directory that is not trainit's"));
  EXPECT_EQ(read(path("home/.trainit-copy.ds/journal")), "precious");
  EXPECT_EQ(read(path("home/.trainit-copy.ds/tree/file")), "precious");
  EXPECT_EQ(renamed.out, "reads " + path("mnt/ds") + "\n");
  // Nor one of another place.
  EXPECT_THAT(run(path("home/one")).err, HasSubstr("copied in"));
  as(kJob, path("home"), "mv .trainit-copy.one .trainit-copy.two");
  const rules::Result other = run(path("home/two"));
  EXPECT_THAT(other.err, HasSubstr("a directory that was made for another place"));
  EXPECT_FALSE(exists("home/two"));
}

// The job swaps its directory for a link again and again while the copy is made.
TEST_F(Place, WhatIsSwappedMeanwhileHasNoEffect) {
  make("home/a", kJob, 0755);
  const pid_t attacker = ::fork();
  if (attacker == 0) {
    if (::setresgid(kJob, kJob, kJob) != 0 || ::setresuid(kJob, kJob, kJob) != 0) ::_exit(1);
    const std::string place = path("home/a");
    const std::string target = path("etc");
    while (::getppid() != 1) {
      std::ignore = ::rename(place.c_str(), (place + "-away").c_str());
      std::ignore = ::symlink(target.c_str(), place.c_str());
      std::ignore = ::unlink(place.c_str());
      std::ignore = ::rename((place + "-away").c_str(), place.c_str());
    }
    ::_exit(0);
  }
  for (int round = 0; round < 20; ++round) {
    write("mnt/ds/round", std::to_string(round));
    std::ignore = run(path("home/a/hooks"));
  }
  ::kill(attacker, SIGKILL);
  ::waitpid(attacker, nullptr, 0);
  expect_hooks_untouched();
}

TEST_F(Place, OfAnotherUserInASharedDirectoryIsNotWorkedAt) {
  as(kOther, path("tmp"), "mkdir -m 0777 .trainit-copy.ds; ln -s " + path("etc/hooks") + " link");
  EXPECT_THAT(run(path("tmp/ds")).err, HasSubstr("a directory of user 2000"));
  EXPECT_THAT(run(path("tmp/link")).err, HasSubstr("others may change"));
  expect_hooks_untouched();
}

// A bind mount of the source's own directory: the same device, and none of ours.
TEST_F(Place, WithSomethingMountedInItLosesNothingOfThat) {
  make("mnt/ds/sub", 0, 0755);
  write("mnt/ds/sub/a", "precious");
  const auto copy = [this](bool mounted) {
    escape::Spec spec = contained({"copy", "--headroom", "0", path("mnt/ds"), path("out/place")});
    spec.before = [before = spec.before, mounted, from = path("mnt/ds/sub"),
                   to = path("out/place/sub")] {
      before();
      if (mounted && ::mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr) != 0) {
        ::_exit(rules::kCannotStart);
      }
    };
    return rules::run(spec);
  };
  ASSERT_EQ(copy(false).code, 0);
  write("mnt/ds/new", "x");
  const rules::Result again = copy(true);
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(read(path("mnt/ds/sub/a")), "precious");
}

TEST_F(Place, OfAFileThatWasChangedKeepsIt) {
  write("mnt/file", "AAAAAAAA");
  const escape::Spec spec =
      contained({"copy", "--headroom", "0", path("mnt/file"), path("out/file")});
  ASSERT_EQ(rules::run(spec).code, 0);
  struct stat status = status_of("out/file");
  write("out/file", "PRECIOUS");
  const std::array<timespec, 2> times = {status.st_atim, status.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, path("out/file").c_str(), times.data(), 0), 0);
  ASSERT_EQ(rules::run(spec).code, 0);
  EXPECT_EQ(read(path("out/file")), "AAAAAAAA");
  std::string kept;
  for (const auto& entry : std::filesystem::directory_iterator(path("out/.trainit-copy.file"))) {
    if (entry.path().filename().string().starts_with("replaced-")) kept = read(entry.path());
  }
  EXPECT_EQ(kept, "PRECIOUS");
}

// What the job may not read it does not get by a copy of ours.
class DataSource : public Border {
 protected:
  [[nodiscard]] rules::Result run(const std::string& source) const {
    return rules::run(contained({"--user", "1000:1000", "--data", path(source), "--data-root",
                                 path("cache"), "--data-headroom", "0", "--", "/bin/sh", "-c",
                                 "cat $TRAINIT_DATASET_DS/* 2>/dev/null || true"}));
  }
  void SetUp() override {
    Border::SetUp();
    make("cache", 0, 0755);
    write("root/file", "the secret of root");
  }
  // Whether a file of the cache has it, finished or not.
  [[nodiscard]] bool copied(const std::string& text) const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path("cache"))) {
      const std::string file = entry.path().string().substr(path("").size());
      if (entry.is_regular_file() && read(path(file)).find(text) != std::string::npos) return true;
    }
    return false;
  }
};

TEST_F(DataSource, BehindALinkOfTheJobsIsNotRead) {
  as(kJob, path("home"), "ln -s " + path("root") + " ds");
  const rules::Result result = run("home/ds");
  EXPECT_THAT(result.out, Not(HasSubstr("the secret")));
  EXPECT_THAT(result.err, HasSubstr("the link"));
}

TEST_F(DataSource, BehindALinkOfAnotherUserIsNotReadWithoutAJobsUserEither) {
  as(kOther, path("tmp"), "ln -s " + path("root") + " ds; ln -s " + path("") + " up");
  for (const char* source : {"tmp/ds", "tmp/up/root", "tmp/up/root/file"}) {
    const rules::Result result =
        rules::run(contained({"copy", "--owner", "1000:1000", path(source), path("cache/place")}));
    EXPECT_THAT(result.err, HasSubstr("the link")) << source;
    EXPECT_FALSE(copied("the secret"));
  }
}

TEST_F(DataSource, ThatWasMovedToAPlaceOfTheJobsIsNotRead) {
  make("home/private", 0, 0700);
  write("home/private/file", "the secret of root");
  as(kJob, path("home"), "mv private ds");
  const rules::Result result = run("home/ds");
  EXPECT_THAT(result.out, Not(HasSubstr("the secret")));
  EXPECT_THAT(result.err, HasSubstr("may not read it"));
}

TEST_F(DataSource, OfTheJobsAndOfAnotherUserThatMayBeReadIsCopied) {
  make("home/ds", kJob, 0700);
  write("home/ds/file", "of the job");
  make("other", kOther, 0755);
  make("other/ds", kOther, 0755);
  write("other/ds/file", "of another");
  EXPECT_EQ(run("home/ds").out, "of the job");
  EXPECT_EQ(run("other/ds").out, "of another");
}

// In a directory of the job's, where the kernel lets it make such links (protected_hardlinks = 0).
TEST_F(DataSource, ThatIsALinkToAFileOfRootsIsNotRead) {
  for (const char* source : {"home/ds", "mnt-ds/ds", "mnt-ds"}) {
    make("mnt-ds", 0, 0755);
    make(std::string(source).ends_with("ds/ds") ? "mnt-ds/ds" : source, kJob, 0755);
    const std::string link = std::string(source) + "/a";
    give("root/file", 0, 0600);
    ASSERT_EQ(::link(path("root/file").c_str(), path(link).c_str()), 0) << source;
    const rules::Result result = run(source);
    EXPECT_THAT(result.out, Not(HasSubstr("the secret"))) << source;
    EXPECT_THAT(result.err, HasSubstr("/a: found Permission denied (EACCES) as user 1000"));
    ASSERT_EQ(::unlink(path(link).c_str()), 0);
  }
}

// Below one of root's: what may be listed and read there, but not reached.
TEST_F(DataSource, WithADirectoryOfRootsInItIsNotRead) {
  make("home/ds", kJob, 0755);
  make("home/ds/private", 0, 0700);
  make("home/ds/private/sub", 0, 0755);
  write("home/ds/private/sub/a", "the secret of root");
  const rules::Result result = run("home/ds");
  EXPECT_THAT(result.err, HasSubstr("/private: found Permission denied"));
  EXPECT_FALSE(copied("the secret"));
}

// A directory of root's that all may list, and that the job has moved to where the caller looks.
TEST_F(DataSource, OfRootsInADirectoryOfTheJobsIsReadAsTheJob) {
  make("home/ds", 0, 0755);
  write("home/ds/file", "the secret of root");
  give("home/ds/file", 0, 0600);
  const rules::Result result = run("home/ds");
  EXPECT_THAT(result.err, HasSubstr("/file: found Permission denied (EACCES) as user 1000"));
  EXPECT_FALSE(copied("the secret"));
}

TEST_F(DataSource, OfRootsIsReadWithItsRights) {
  make("mnt-ds", 0, 0700);
  make("mnt-ds/ds", 0, 0700);
  write("mnt-ds/ds/file", "for the job");
  give("mnt-ds/ds/file", 0, 0600);
  EXPECT_EQ(run("mnt-ds/ds").out, "for the job");
}

TEST_F(DataSource, ThatIsExchangedAllTheTimeLeadsNowhere) {
  make("home/ds", kJob, 0755);
  write("home/ds/file", "of no interest!!!!");
  as(kJob, path("home"), "ln -s " + path("root") + " link");
  const Exchange exchange(kJob, path("home/ds"), path("home/link"));
  for (int i = 0; i < 16; ++i) {
    std::ignore = run(i % 2 == 0 ? "home/ds" : "home/ds=" + path("cache/place"));
    ASSERT_FALSE(copied("the secret"));
  }
}

// The mount leads to the copy; what that was made of is asked as the mount would be.
TEST_F(DataSource, OfAnEarlierCopyBehindALinkOfTheJobsIsNotRead) {
  make("home/ds", kJob, 0755);
  write("home/ds/file", "of no interest!!!!");
  make("mnt-ds", 0, 0755);
  ASSERT_EQ(::symlink(path("home/ds").c_str(), path("mnt-ds/ds").c_str()), 0);
  const auto linked = [this] {
    return rules::run(
        contained({"--user", "1000:1000", "--data", path("mnt-ds/ds"), "--data-root", path("cache"),
                   "--data-headroom", "0", "--data-link", "--", "/bin/true"}));
  };
  EXPECT_EQ(linked().code, 0);
  as(kJob, path("home"), "mv ds old && ln -s " + path("root") + " ds");
  std::ignore = linked();
  EXPECT_FALSE(copied("the secret"));
}

// A copy that was touched is compared with its source: not with what the job put there.
TEST_F(DataSource, IsNoOracleOfWhatIsBehindALinkOfTheJobs) {
  make("home/ds", kJob, 0755);
  make("home/ds/sub", kJob, 0755);
  write("home/ds/sub/file", "of no interest!!!!");
  const auto start = [this](const std::string& command) {
    return rules::run(contained({"--user", "1000:1000", "--data", path("home/ds"), "--data-version",
                                 "1", "--data-root", path("cache"), "--data-headroom", "0", "--",
                                 "/bin/sh", "-c", command}));
  };
  EXPECT_EQ(start("cd $TRAINIT_DATASET_DS/sub && "
                  "when=$(stat -c %y file) && printf 'the secret of root' > file && "
                  "touch -d \"$when\" file")
                .code,
            0);
  as(kJob, path("home"), "mv ds/sub old && ln -s " + path("root") + " ds/sub");
  EXPECT_THAT(start("true").err, Not(HasSubstr("found in")));
}

// The way to the files of a directory leads elsewhere at any moment.
TEST_F(DataSource, WhoseDirectoriesAreExchangedAllTheTimeLeadsNowhere) {
  make("root/sub", 0, 0755);
  for (const char* name : {"home/ds", "home/ds/a", "home/ds/a/sub"}) make(name, kJob, 0755);
  for (int i = 0; i < 50; ++i) {
    const std::string file = "sub/" + std::to_string(i);
    write("root/" + file, "the secret of root");
    write("home/ds/a/" + file, "of no interest!!!!");
  }
  as(kJob, path("home"), "ln -s " + path("root") + " link");
  const Exchange exchange(kJob, path("home/ds/a"), path("home/link"));
  for (int i = 0; i < 8; ++i) {
    std::ignore = run("home/ds");
    ASSERT_FALSE(copied("the secret"));
  }
}

}  // namespace
