// Sources that are wrong about themselves.

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>

#include "tests/copy/mounts.h"
#include "tests/rules/job.h"

namespace {

using rules::Result;
using rules::Words;

class OddSource : public child::Scratch {
 protected:
  OddSource() {
    for (const char* name : {"back", "back/d", "source", "cache", "names"}) {
      EXPECT_EQ(::mkdir(path(name).c_str(), 0755), 0);
    }
    write("back/a", "one of them");
    write("back/d/b", "another one");
    write("back/large", std::string(300'000, 'x') + "end");
    for (const char* name : {"a", "d/b", "large"}) {
      const timespec times[2] = {{.tv_sec = 1'600'000'000, .tv_nsec = 0},
                                 {.tv_sec = 1'600'000'000, .tv_nsec = 0}};
      EXPECT_EQ(::utimensat(AT_FDCWD, path(std::string("back/") + name).c_str(), times, 0), 0);
    }
  }

  void on_lying(const std::string& lies, const std::function<void()>& body) const {
    if (!mounts::may_lie()) GTEST_SKIP() << "no tests/lying_fs, or no right to mount";
    mounts::with([&] { return mounts::lie(lies, path("back"), path("source")); }, body);
  }
  [[nodiscard]] Result copy(const std::string& to, Words options = {}) const {
    Words args = {"copy"};
    args.insert(args.end(), options.begin(), options.end());
    args.insert(args.end(), {path("source"), path(to)});
    return rules::run({.args = std::move(args), .env = {}, .pid1 = false});
  }
  // Runs a job with a copy in the cache.
  [[nodiscard]] Result run(Words options = {}) const {
    Words args = {"--data",      path("source"),      "--data-root",
                  path("cache"), "--data-on-failure", "fail"};
    args.insert(args.end(), options.begin(), options.end());
    args.insert(args.end(), {"--", "true"});
    return rules::run({.args = std::move(args), .env = {}, .pid1 = false});
  }
  [[nodiscard]] mode_t mode_of(const std::string& name) const {
    struct stat status{};
    EXPECT_EQ(::stat(path(name).c_str(), &status), 0);
    return status.st_mode & 07777U;
  }
  [[nodiscard]] static bool tells(const Result& result, const std::string& text) {
    return (result.out + result.err).find(text) != std::string::npos;
  }
  void expect_contents(const std::string& to) const {
    for (const char* name : {"/a", "/d/b", "/large"}) {
      EXPECT_EQ(read(path(to + name)), read(path(std::string("back") + name))) << name;
    }
  }
};

TEST_F(OddSource, OneInodeOfAllFilesMakesNoLinks) {
  ASSERT_EQ(::link(path("back/a").c_str(), path("names/a").c_str()), 0);
  ASSERT_EQ(::link(path("back/d/b").c_str(), path("names/b").c_str()), 0);
  on_lying("one-inode", [this] {
    EXPECT_EQ(copy("place").code, 0);
    expect_contents("place");
  });
}

TEST_F(OddSource, TimesOfDirectoriesMakeNoOtherCopy) {
  on_lying("mtime-dirs-now", [this] {
    EXPECT_TRUE(tells(run(), ": copied in "));
    const Result second = run();
    EXPECT_TRUE(tells(second, ": found in ")) << second.err;
    EXPECT_FALSE(tells(second, "other times at each look"));
  });
}

TEST_F(OddSource, TimesThatAreNewAtEachLookAreLeftOutAndTold) {
  for (const char* option : {"--durable", "--verify"}) {
    on_lying("mtime-new", [this, option] {
      const Result first = run({option});
      EXPECT_TRUE(tells(first, ": copied in ")) << first.err;
      EXPECT_TRUE(tells(first, "its files have other times at each look")) << first.err;
      EXPECT_TRUE(tells(run({option}), ": found in "));
      EXPECT_EQ(copy("place").code, 0);
      expect_contents("place");
      EXPECT_TRUE(tells(copy("place"), "unchanged"));
    });
  }
}

TEST_F(OddSource, PartsAreThoseOfOneFileThoughItsTimeIsNew) {
  std::filesystem::resize_file(path("back/large"), 80ULL << 20U);
  on_lying("mtime-new", [this] {
    EXPECT_EQ(copy("place").code, 0);
    expect_contents("place");
  });
}

TEST_F(OddSource, CallThatFailsOnceIsTriedAgain) {
  ASSERT_EQ(::symlink("../names", path("back/link").c_str()), 0);
  ASSERT_EQ(::link(path("back/a").c_str(), path("back/d/another").c_str()), 0);
  const std::map<std::string, int> calls{{"open", EIO},       {"stat", ESTALE},
                                         {"read", ETIMEDOUT}, {"readdir", EHOSTDOWN},
                                         {"readlink", EIO},   {"getxattr", ESTALE}};
  for (const auto& [call, error] : calls) {
    const std::string lies = "fail-" + call + "=1,fail-errno=" + std::to_string(error);
    on_lying(lies, [this, call] {
      const Result result = copy("place-" + call, {"--verify"});
      EXPECT_EQ(result.code, 0) << call << ": " << result.err;
      expect_contents("place-" + call);
      EXPECT_EQ(mode_of("place-" + call + "/a"), mode_of("back/a")) << call;
    });
  }
}

TEST_F(OddSource, CallThatAlwaysFailsIsNamedWithItsTries) {
  for (const char* call : {"open", "read", "readdir"}) {
    on_lying(std::string("fail-") + call + "=1000", [this, call] {
      const Result result = copy("place");
      EXPECT_EQ(result.code, 1);
      const std::string what =
          std::string(call) == "readdir" ? path("source") : path("source") + "/";
      EXPECT_TRUE(tells(result, ": " + what)) << result.err;
      EXPECT_TRUE(tells(result, "Input/output error (EIO) at each of 4 tries")) << result.err;
      EXPECT_TRUE(tells(result, "check the storage and the network to it")) << result.err;
    });
  }
}

TEST_F(OddSource, FileThatIsRemovedWhileItIsReadIsNotInTheCopy) {
  for (const char* lie : {"unlink-on-read", "stale-on-read"}) {
    write("back/gone", "text");
    on_lying(lie, [this, lie] {
      const Result result = copy(std::string("place-") + lie);
      EXPECT_EQ(result.code, 0) << result.err;
      EXPECT_FALSE(std::filesystem::exists(path(std::string("place-") + lie + "/gone")));
    });
  }
}

TEST_F(OddSource, EntriesThatComeAndGoAreNamed) {
  on_lying("new-name", [this] {
    const Result result = copy("place");
    EXPECT_EQ(result.code, 1);
    EXPECT_TRUE(tells(result, "changes while it is copied: .new")) << result.err;
    EXPECT_TRUE(tells(result, "--exclude")) << result.err;
    EXPECT_EQ(copy("place", {"--exclude", ".new"}).code, 0);
    expect_contents("place");
  });
}

TEST_F(OddSource, PersistentlyStaleFileIsNotTakenForOneThatChanges) {
  on_lying("fail-read=1000,fail-errno=" + std::to_string(ESTALE), [this] {
    const Result result = copy("place");
    EXPECT_EQ(result.code, 1);
    EXPECT_TRUE(tells(result, "Stale file handle (ESTALE) at each of 4 tries")) << result.err;
  });
}

// An access control list that cannot be read may shut out the group, or all others.
TEST_F(OddSource, ListThatCannotBeReadGivesNobodyMore) {
  on_lying("fail-getxattr=1000", [this] {
    EXPECT_EQ(copy("place").code, 0);
    EXPECT_EQ(mode_of("place/a") & 0077U, 0U);
  });
}

TEST_F(OddSource, FileIsReadToItsEnd) {
  std::filesystem::create_hard_link(path("back/a"), path("back/d/another"));
  for (const char* lie : {"size-half", "size-zero"}) {
    on_lying(lie, [this, lie] {
      const std::string place = std::string("place-") + lie;
      const Result result = copy(place, {"--verify"});
      EXPECT_EQ(result.code, 0) << result.err;
      expect_contents(place);
      EXPECT_TRUE(tells(copy(place), "unchanged"));
    });
  }
}

// The top of each ext4 volume has one, which a user who copies may not read.
TEST_F(OddSource, LostFoundOfAVolumeIsPassedOver) {
  ASSERT_EQ(::chmod(path("cache").c_str(), 0777), 0);
  const auto volume = [this] {
    return ::mount("none", path("source").c_str(), "tmpfs", 0, "mode=755") == 0 &&
           ::mkdir(path("source/lost+found").c_str(), 0700) == 0 &&
           ::mkdir(path("source/closed").c_str(), 0755) == 0;
  };
  mounts::with(volume, [this] {
    write("source/file", "text");
    const auto as_user = [this](const std::string& from, const std::string& to) {
      return rules::run(
          {.args = {"copy", path(from), path(to)}, .env = {}, .pid1 = false, .before = [] {
             EXPECT_EQ(::setresuid(65534, 65534, 65534), 0);
           }});
    };
    const Result result = as_user("source", "cache/place");
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_TRUE(tells(result, "lost+found: passed over")) << result.err;
    EXPECT_EQ(read(path("cache/place/file")), "text");
    EXPECT_TRUE(tells(as_user("source", "cache/place"), "unchanged"));
    ASSERT_EQ(::chmod(path("source/closed").c_str(), 0700), 0);
    EXPECT_TRUE(tells(as_user("source", "cache/place"), "closed: found Permission denied"));
  });
}

}  // namespace
