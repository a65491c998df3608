// Destinations that round, drop or refuse what a copy sets, and that give it more than it asks for.

#include <fcntl.h>
#include <grp.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/copy/mounts.h"
#include "tests/copy/tree.h"
#include "tests/rules/job.h"

namespace {

using rules::Result;
using rules::Words;

class OddDestination : public child::Scratch {
 protected:
  OddDestination() {
    for (const char* name : {"source", "source/d", "disk", "back"}) {
      EXPECT_EQ(::mkdir(path(name).c_str(), 0755), 0);
    }
    write("source/d/a", "one");
    write("source/b", "two");
    EXPECT_EQ(::symlink("d/a", path("source/l").c_str()), 0);
    date("source/d/a", 1'704'067'200, 123'456'789);
    date("source/b", 1'704'067'201, 0);
    date("source/l", 1'704'067'202, 1);
    date("source/d", 1'704'067'203, 5);
  }
  void date(const std::string& name, time_t seconds, long ns) const {
    const timespec time{.tv_sec = seconds, .tv_nsec = ns};
    const timespec times[2] = {time, time};
    EXPECT_EQ(::utimensat(AT_FDCWD, path(name).c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
  }
  [[nodiscard]] Result copy(Words args) const {
    args.insert(args.begin(), "copy");
    return rules::run({.args = std::move(args), .env = {}, .pid1 = false});
  }
  [[nodiscard]] timespec mtime(const std::string& name) const {
    struct stat status{};
    EXPECT_EQ(::lstat(path(name).c_str(), &status), 0) << name;
    return status.st_mtim;
  }
  void on_lying(const std::string& lies, const std::function<void()>& body) const {
    if (!mounts::may_lie()) GTEST_SKIP() << "no tests/lying_fs, or no right to mount";
    mounts::with([&] { return mounts::lie(lies, path("back"), path("disk")); }, body);
  }
};

TEST_F(OddDestination, LyingFileSystemPassesThrough) {
  on_lying("none", [this] {
    EXPECT_EQ(copy({path("source"), path("disk/c")}).code, 0);
    EXPECT_EQ(
        trees::differences(trees::entries_of(path("source")), trees::entries_of(path("disk/c"))),
        Words{});
    EXPECT_NE(copy({path("source"), path("disk/c")}).out.find("unchanged"), std::string::npos);
  });
}

// Whatever is there made of what was set: the copy is found again, and what it replaces goes.
class OddAttributes : public OddDestination {
 protected:
  [[nodiscard]] bool keeps_old() const {
    const std::string state = path("disk/.trainit-copy.c");
    for (const Name& entry : trees::entries_of(state)) {
      if (entry.first.starts_with("replaced-")) return true;
    }
    return false;
  }
  using Name = trees::Entries::value_type;
  void expect_found() const {
    const Result first = copy({path("source"), path("disk/c")});
    EXPECT_EQ(first.code, 0) << first.err;
    const Result found = copy({path("source"), path("disk/c")});
    EXPECT_NE(found.out.find("unchanged"), std::string::npos) << found.out << found.err;
    const Result verified = copy({"--verify", path("source"), path("disk/c")});
    EXPECT_EQ(verified.code, 0) << verified.err;
    EXPECT_NE(copy({"--verify", path("source"), path("disk/c")}).out.find("unchanged"),
              std::string::npos);
    EXPECT_FALSE(keeps_old());
    warned = first.err;
  }
  // Copies of the cache in one start.
  void expect_taken_from_the_cache() const {
    ASSERT_EQ(::mkdir(path("disk/cache").c_str(), 0755), 0);
    const Result job =
        rules::run({.args = {"--data", path("source"), "--data-root", path("disk/cache"), "--",
                             "sh", "-c", "echo at $TRAINIT_DATASET_SOURCE"},
                    .env = {"TRAINIT_RUN_DIR=" + path("run"), "PATH=/usr/bin:/bin"},
                    .pid1 = false});
    EXPECT_NE(job.out.find("at " + path("disk/cache")), std::string::npos) << job.out << job.err;
  }
  mutable std::string warned;
};

TEST_F(OddAttributes, TimesOfWholeSecondsAreTimes) {
  mounts::with(
      [this] {
        return mounts::mount_image({"mkfs.ext4", "-qF", "-I", "128"}, path("image"), 64 << 20,
                                   path("disk"));
      },
      [this] {
        date("source/b", 2'300'000'000, 0);  // after 2038
        expect_found();
        EXPECT_NE(warned.find("ext4) keeps mtimes in steps of 1s"), std::string::npos) << warned;
        expect_taken_from_the_cache();
      });
}

class OddTimes : public OddAttributes, public testing::WithParamInterface<const char*> {};

TEST_P(OddTimes, AreComparedAsTheFileSystemHasThem) {
  date("source/b", 0, 0);
  on_lying(GetParam(), [this] {
    expect_found();
    expect_taken_from_the_cache();
  });
}

INSTANTIATE_TEST_SUITE_P(
    Of, OddTimes,
    testing::Values("mtime=1000", "mtime=100", "mtime=10000000", "mtime=2000000000",
                    "mtime=2000000000,mtime-min=315532800,mtime-max=4354819199", "mtime-new",
                    "no-utimens", "mtime-max=1000000000"));

TEST_F(OddAttributes, TimesAreSetWhereBothHaveToBe) {
  for (const char* lie : {"no-utime-omit", "mtime-at-close"}) {
    ASSERT_TRUE(sys::remove_tree(path("back")));
    ASSERT_EQ(::mkdir(path("back").c_str(), 0755), 0);
    on_lying(lie, [this] {
      expect_found();
      for (const std::string name : {"", "/d/a", "/b", "/d", "/l"}) {
        const timespec there = mtime("disk/c" + name);
        EXPECT_EQ(there.tv_sec, mtime("source" + name).tv_sec) << name;
        EXPECT_EQ(there.tv_nsec, mtime("source" + name).tv_nsec) << name;
      }
    });
  }
}

class OddModes : public OddAttributes, public testing::WithParamInterface<const char*> {};

TEST_P(OddModes, AreLeftAsTheFileSystemHasThem) {
  ASSERT_EQ(::chmod(path("source/b").c_str(), 0640), 0);
  on_lying(GetParam(), [this] {
    expect_found();
    EXPECT_NE(warned.find(") keeps no permissions"), std::string::npos) << warned;
  });
}

INSTANTIATE_TEST_SUITE_P(Of, OddModes, testing::Values("no-chmod", "refuse-chmod"));

// A file that was changed counts as one wherever its file system can tell.
TEST_F(OddAttributes, ChangesAreSeenWhereTimesAreNotKept) {
  on_lying("no-utimens", [this] {
    EXPECT_EQ(copy({path("source"), path("disk/c")}).code, 0);
    write("disk/c/b", "owt");
    const Result again = copy({path("source"), path("disk/c")});
    EXPECT_EQ(again.out.find("unchanged"), std::string::npos) << again.out;
    EXPECT_EQ(read(path("disk/c/b")), "two");
    EXPECT_TRUE(keeps_old());
  });
}

// A place that gives what is made in it to others: a default ACL for user 4300, or the group 4200.
class GenerousPlace : public OddDestination {
 protected:
  static constexpr uid_t kOwner = 4000;
  static constexpr uid_t kListed = 4300;
  static constexpr gid_t kGroup = 4200;

  GenerousPlace() {
    ::chmod(path("source").c_str(), 0770);
    ::chmod(path("source/b").c_str(), 0640);
    for (const char* name : {"source", "source/d", "source/d/a", "source/b", "disk"}) {
      if (::chown(path(name).c_str(), kOwner, kOwner) != 0) return;
    }
  }
  void SetUp() override {
    if (!child::is_root()) GTEST_SKIP() << "another user takes root";
  }
  [[nodiscard]] bool give_default_acl(const std::string& name) const {
    struct Entry {
      std::uint16_t tag;
      std::uint16_t permissions;
      std::uint32_t id;
    };
    constexpr std::uint32_t kNoId = 0xffffffff;
    const struct {
      std::uint32_t version = 2;
      Entry entries[5] = {
          {1, 7, kNoId}, {2, 7, kListed}, {4, 5, kNoId}, {0x10, 7, kNoId}, {0x20, 5, kNoId}};
    } list;
    return ::setxattr(path(name).c_str(), "system.posix_acl_default", &list, sizeof list, 0) == 0;
  }
  void be_a_group_place(const std::string& name) const {
    EXPECT_EQ(::chown(path(name).c_str(), kOwner, kGroup), 0);
    EXPECT_EQ(::chmod(path(name).c_str(), 02775), 0);
  }
  static bool become(uid_t user, const std::vector<gid_t>& groups) {
    return ::setgroups(groups.size(), groups.data()) == 0 &&
           ::setresgid(groups.front(), groups.front(), groups.front()) == 0 &&
           ::setresuid(user, user, user) == 0;
  }
  [[nodiscard]] Result copy_as_owner(const std::string& to) const {
    return rules::run(
        {.args = {"copy", path("source"), path(to)}, .env = {}, .pid1 = false, .before = [] {
           if (!become(kOwner, {kOwner, kGroup})) ::_exit(1);
         }});
  }
  // Lists what this user may do with entries of a copy: the source allows nothing.
  [[nodiscard]] std::string access_of(uid_t user, gid_t group, const std::string& name) const {
    const Words entries = {"", "/d", "/d/a", "/b"};
    const auto outcome = child::run([&] {
      if (!become(user, {group})) return 1;
      for (const std::string& entry : entries) {
        for (const int what : {R_OK, W_OK, X_OK}) {
          if (::access((name + entry).c_str(), what) == 0) {
            std::printf("%s %d\n", entry.c_str(), what);
          }
        }
      }
      return 0;
    });
    EXPECT_EQ(outcome.code, 0);
    return outcome.out;
  }
};

TEST_F(GenerousPlace, GivesStrangersNothingOfACopy) {
  if (!give_default_acl("disk")) GTEST_SKIP() << "no ACLs here";
  EXPECT_EQ(access_of(kListed, kListed, path("source")), "");
  const Result copied = copy_as_owner("disk/c");
  EXPECT_EQ(copied.code, 0) << copied.err;
  EXPECT_EQ(access_of(kListed, kListed, path("disk/c")), "");
  EXPECT_EQ(copy({path("source/b"), path("disk/file")}).code, 0);
  EXPECT_NE(::access(path("disk/file").c_str(), F_OK), -1);
  EXPECT_EQ(access_of(kListed, kListed, path("disk/file")), "");
}

TEST_F(GenerousPlace, GivesItsGroupNothingOfACopy) {
  be_a_group_place("disk");
  EXPECT_EQ(access_of(kListed, kGroup, path("source")), "");
  const Result copied = copy_as_owner("disk/c");
  EXPECT_EQ(copied.code, 0) << copied.err;
  EXPECT_EQ(access_of(kListed, kGroup, path("disk/c")), "");
  EXPECT_EQ(copy_as_owner("disk/c").out.find("unchanged") == std::string::npos, false);
  EXPECT_EQ(copy_as_owner("disk/d").code, 0);
  struct stat status{};
  EXPECT_EQ(::stat(path("disk/c/d").c_str(), &status), 0);
  EXPECT_EQ(status.st_gid, kOwner);
  EXPECT_EQ(status.st_mode & 07777, 0755U);
}

TEST_F(GenerousPlace, GivesStrangersNothingOfTheCache) {
  ASSERT_EQ(::mkdir(path("disk/cache").c_str(), 0755), 0);
  if (!give_default_acl("disk/cache")) GTEST_SKIP() << "no ACLs here";
  const Result job =
      rules::run({.args = {"--data", path("source"), "--data-root", path("disk/cache"), "--", "sh",
                           "-c", "echo at=$TRAINIT_DATASET_SOURCE"},
                  .env = {"TRAINIT_RUN_DIR=" + path("run"), "PATH=/usr/bin:/bin"},
                  .pid1 = false});
  const std::size_t at = job.out.find("at=" + path("disk/cache"));
  ASSERT_NE(at, std::string::npos) << job.out << job.err;
  const std::string data = job.out.substr(at + 3, job.out.find('\n', at) - at - 3);
  EXPECT_EQ(access_of(kListed, kListed, data), "");
}

// A destination that cannot be replaced is named before the first byte.
TEST_F(OddDestination, DirectoryOfAnImageIsRefusedBeforeItIsCopiedTo) {
  for (const char* name : {"layer", "layer/c", "layer/c/old", "layer/empty"}) {
    ASSERT_EQ(::mkdir(path(name).c_str(), 0755), 0);
  }
  ASSERT_EQ(::mkdir(path("merged").c_str(), 0755), 0);
  const auto mount = [this] {
    const std::string options = "lowerdir=" + path("layer") + ",upperdir=" + path("disk/u") +
                                ",workdir=" + path("disk/w") + ",redirect_dir=off";
    return ::mount("tmpfs", path("disk").c_str(), "tmpfs", 0, "") == 0 &&
           ::mkdir(path("disk/u").c_str(), 0755) == 0 &&
           ::mkdir(path("disk/w").c_str(), 0755) == 0 &&
           ::mount("overlay", path("merged").c_str(), "overlay", 0, options.c_str()) == 0;
  };
  mounts::with(mount, [this] {
    const Result refused = copy({path("source"), path("merged/c")});
    EXPECT_EQ(refused.code, 1);
    EXPECT_NE(refused.err.find("Invalid cross-device link"), std::string::npos) << refused.err;
    struct stat status{};
    EXPECT_NE(::stat(path("merged/.trainit-copy.c/filling").c_str(), &status), 0);
    EXPECT_EQ(::stat(path("merged/c/old").c_str(), &status), 0);
    EXPECT_EQ(copy({path("source"), path("merged/empty")}).code, 0);
    EXPECT_EQ(copy({path("source"), path("merged/fresh")}).code, 0);
  });
}

TEST_F(OddDestination, SourceThatCountsNoBlocksNeedsRoom) {
  if (!mounts::may_lie()) GTEST_SKIP() << "no tests/lying_fs, or no right to mount";
  write("back/large", std::string(3 << 20, 'x'));
  const auto mount = [this] {
    return mounts::lie("no-blocks", path("back"), path("source")) &&
           ::mount("tmpfs", path("disk").c_str(), "tmpfs", 0, "size=2m") == 0;
  };
  mounts::with(mount, [this] {
    const Result refused = copy({"--headroom", "0", path("source"), path("disk/c")});
    EXPECT_EQ(refused.code, 1);
    EXPECT_NE(refused.err.find("looking for room for a copy"), std::string::npos) << refused.err;
  });
}

TEST_F(OddDestination, FileSystemThatDoesNotSayItsSizeHasRoom) {
  on_lying("statfs-nothing", [this] {
    const Result copied = copy({path("source"), path("disk/c")});
    EXPECT_EQ(copied.code, 0) << copied.err;
  });
}

TEST_F(OddDestination, NamesThatAreOneThereAreNotMerged) {
  ASSERT_EQ(::mkdir(path("source/D").c_str(), 0755), 0);
  write("source/D/c", "three");
  on_lying("fold-case", [this] {
    for (int run = 0; run < 2; ++run) {
      const Result merged = copy({"--workers", "1", path("source"), path("disk/c")});
      EXPECT_EQ(merged.code, 1) << merged.out;
      EXPECT_NE(merged.err.find("takes two names of the source for one"), std::string::npos)
          << merged.err;
    }
    const Result other = copy({"--exclude", "D/", path("source"), path("disk/c")});
    EXPECT_EQ(other.code, 0) << other.err;
  });
}

TEST_F(OddDestination, LinksThatCannotBeThereAreNamed) {
  EXPECT_EQ(::link(path("source/b").c_str(), path("source/b2").c_str()), 0);
  on_lying("no-symlinks,no-links,refuse-chown", [this] {
    const Result refused = copy({path("source"), path("disk/c")});
    EXPECT_EQ(refused.code, 1);
    EXPECT_NE(refused.err.find("/l: found a file system without symbolic links"), std::string::npos)
        << refused.err;
    const Result copied = copy({"--exclude", "l", path("source"), path("disk/c")});
    EXPECT_EQ(copied.code, 0) << copied.err;
    EXPECT_NE(copied.err.find("has no hard links"), std::string::npos) << copied.err;
    EXPECT_NE(copy({"--exclude", "l", path("source"), path("disk/c")}).out.find("unchanged"),
              std::string::npos);
  });
}

// The owner is another one than the one that was asked for: its group gets what all get.
TEST_F(OddDestination, OwnersThatAreNotKeptGetNoMore) {
  ASSERT_EQ(::chown(path("source/b").c_str(), 4000, 4000), 0);
  ASSERT_EQ(::chmod(path("source/b").c_str(), 0660), 0);
  on_lying("no-chown", [this] {
    const Result copied = copy({path("source"), path("disk/c")});
    EXPECT_EQ(copied.code, 0) << copied.err;
    EXPECT_NE(copied.err.find(") keeps no owners: "), std::string::npos) << copied.err;
    struct stat status{};
    EXPECT_EQ(::stat(path("disk/c/b").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600U);
    EXPECT_NE(copy({path("source"), path("disk/c")}).out.find("unchanged"), std::string::npos);
  });
}

}  // namespace
