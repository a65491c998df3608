#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "init/copy/publish.h"
#include "tests/init/child.h"

namespace {

envgen::CopyRecord some_record(const copy::Destination& place) {
  envgen::CopyRecord record;
  record.source = "/source";
  record.path = place.data();
  record.identity = std::string(32, '0');
  return record;
}

bool exists(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0;
}

class CopyPublish : public child::Scratch {
 protected:
  // What a copy has made by then; it is told apart by the text of its file.
  [[nodiscard]] copy::Destination prepare(const std::string& destination, const std::string& text,
                                          mode_t mode = 0755) const {
    auto place = copy::find_place(path(destination));
    EXPECT_TRUE(place) << to_line(place.error());
    EXPECT_TRUE(sys::make_directories(place->state, 0755));
    EXPECT_TRUE(sys::make_directories(copy::tree_of(*place) + "/sub", 0755));
    EXPECT_TRUE(sys::make_directories(copy::filling_of(*place), 0755));
    std::ofstream(copy::tree_of(*place) + "/sub/file") << text;
    std::ofstream(copy::filling_of(*place) + "/manifest") << text;
    EXPECT_EQ(::chmod(copy::tree_of(*place).c_str(), mode), 0);
    return *place;
  }

  static copy::Publication publish(const copy::Destination& place) {
    auto published = copy::publish(place, some_record(place));
    EXPECT_TRUE(published) << envgen::to_line(published.error());
    return published.value_or(copy::Publication{});
  }

  static std::string text_at(const copy::Destination& place) {
    return read(place.data() + "/sub/file");
  }
};

TEST_F(CopyPublish, ComesByRenameWhereNothingIs) {
  const copy::Destination place = prepare("place", "new");
  const copy::Publication published = publish(place);
  EXPECT_EQ(published.how, copy::Published::kRenamed);
  EXPECT_EQ(published.replaced, "");
  EXPECT_EQ(text_at(place), "new");
  EXPECT_TRUE(copy::is_published(place));
  EXPECT_EQ(read(place.state + "/manifest"), "new");
  EXPECT_TRUE(exists(place.state + "/record.json"));
  EXPECT_FALSE(exists(copy::filling_of(place)));
}

TEST_F(CopyPublish, TakesThePlaceOfAnEmptyDirectory) {
  ASSERT_EQ(::mkdir(path("place").c_str(), 0755), 0);
  const copy::Destination place = prepare("place", "new");
  EXPECT_EQ(publish(place).how, copy::Published::kRenamed);
  EXPECT_EQ(text_at(place), "new");
}

TEST_F(CopyPublish, IsExchangedWithAnOlderCopyWhichIsRemoved) {
  publish(prepare("place", "old"));
  const copy::Destination place = prepare("place", "new");
  const copy::Publication published = publish(place);
  EXPECT_EQ(published.how, copy::Published::kExchanged);
  EXPECT_EQ(published.replaced, "");
  EXPECT_EQ(text_at(place), "new");
  EXPECT_FALSE(exists(copy::tree_of(place)));
  EXPECT_FALSE(exists(place.state + "/old"));
}

TEST_F(CopyPublish, KeepsWhatWasThereAndIsNoCopyOfOurs) {
  ASSERT_EQ(::mkdir(path("place").c_str(), 0755), 0);
  write("place/precious", "mine");
  const copy::Destination place = prepare("place", "new");
  const copy::Publication published = publish(place);
  EXPECT_EQ(published.how, copy::Published::kExchanged);
  EXPECT_EQ(read(published.replaced + "/precious"), "mine");
  EXPECT_TRUE(copy::settle(place));
  EXPECT_EQ(read(published.replaced + "/precious"), "mine");
}

TEST_F(CopyPublish, DirectoryThatSomebodyMadeInItsPlaceIsNotTakenForTheCopy) {
  const copy::Destination place = prepare("place", "new");
  publish(place);
  ASSERT_EQ(::rename(place.path.c_str(), path("elsewhere").c_str()), 0);
  ASSERT_EQ(::mkdir(place.path.c_str(), 0755), 0);
  EXPECT_FALSE(copy::is_published(place));
}

TEST_F(CopyPublish, FileReplacesACopyOfOursAndKeepsWhatIsNot) {
  write("place", "mine");
  auto place = copy::find_place(path("place"));
  ASSERT_TRUE(place);
  ASSERT_TRUE(sys::make_directories(place->state, 0755));
  std::ofstream(copy::tree_of(*place)) << "first";
  const copy::Publication first = publish(*place);
  EXPECT_EQ(first.how, copy::Published::kExchanged);
  EXPECT_EQ(read(first.replaced), "mine");
  EXPECT_EQ(read(place->path), "first");
  std::ofstream(copy::tree_of(*place)) << "second";
  const copy::Publication second = publish(*place);
  EXPECT_EQ(second.how, copy::Published::kRenamed);
  EXPECT_EQ(second.replaced, "");
  EXPECT_EQ(read(place->path), "second");
}

TEST_F(CopyPublish, KeepsThePermissionsOfItsRoot) {
  const auto outcome = child::run([this] {
    if (child::is_root() &&
        (::chown(path("").c_str(), 65534, 65534) != 0 || !child::become_nobody())) {
      return 1;
    }
    for (int round = 0; round < 2; ++round) {
      const copy::Destination place = prepare("place", "new", 0555);
      publish(place);
      struct stat status{};
      if (::stat(place.path.c_str(), &status) != 0 || (status.st_mode & 07777) != 0555) return 2;
    }
    return testing::Test::HasFailure() ? 3 : 0;
  });
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
}

TEST_F(CopyPublish, EndsWhatWasKilledBeforeTheRecord) {
  publish(prepare("place", "old"));
  const copy::Destination place = prepare("place", "new");
  publish(place);
  // As it is right after the exchange.
  struct stat status{};
  ASSERT_EQ(::stat(place.path.c_str(), &status), 0);
  ASSERT_EQ(::mkdir(copy::tree_of(place).c_str(), 0755), 0);
  struct stat old{};
  ASSERT_EQ(::stat(copy::tree_of(place).c_str(), &old), 0);
  std::ofstream(place.state + "/journal")
      << "publishing " << status.st_ino << " " << old.st_ino << " 1 " << 0750 << "\n";
  ASSERT_EQ(
      ::rename((place.state + "/record.json").c_str(), (place.state + "/record.next").c_str()), 0);
  EXPECT_FALSE(copy::is_published(place));
  ASSERT_TRUE(copy::settle(place));
  EXPECT_TRUE(copy::is_published(place));
  EXPECT_TRUE(exists(place.state + "/record.json"));
  EXPECT_FALSE(exists(copy::tree_of(place)));
  ASSERT_EQ(::stat(place.path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0750U);
}

TEST_F(CopyPublish, EndsWhatWasKilledBetweenTwoRenames) {
  publish(prepare("place", "old"));
  const copy::Destination place = prepare("place", "new");
  struct stat tree{};
  struct stat old{};
  ASSERT_EQ(::stat(copy::tree_of(place).c_str(), &tree), 0);
  ASSERT_EQ(::rename(place.path.c_str(), (place.state + "/old").c_str()), 0);
  ASSERT_EQ(::stat((place.state + "/old").c_str(), &old), 0);
  std::ofstream(place.state + "/journal")
      << "publishing " << tree.st_ino << " " << old.st_ino << " 1 " << 0755 << "\n";
  ASSERT_TRUE(copy::settle(place));
  EXPECT_EQ(text_at(place), "new");
  EXPECT_FALSE(exists(place.state + "/old"));
}

TEST_F(CopyPublish, PutsBackWhatWasThereWhenTheNewOneIsGone) {
  publish(prepare("place", "old"));
  auto place = copy::find_place(path("place"));
  ASSERT_TRUE(place);
  struct stat old{};
  ASSERT_EQ(::stat(place->path.c_str(), &old), 0);
  ASSERT_EQ(::rename(place->path.c_str(), (place->state + "/old").c_str()), 0);
  std::ofstream(place->state + "/journal") << "publishing 1 " << old.st_ino << " 1 493\n";
  ASSERT_TRUE(copy::settle(*place));
  EXPECT_EQ(text_at(*place), "old");
  EXPECT_TRUE(copy::is_published(*place));
}

// Killed halfway; and before the next run somebody made, or took away, what is at the place.
TEST_F(CopyPublish, KeepsWhatIsNoCopyOfOursWhoeverChangedThePlaceMeanwhile) {
  for (const char* away : {"old", "tree"}) {
    const std::string name = std::string("place-") + away;
    auto place = copy::find_place(path(name));
    ASSERT_TRUE(place);
    const std::string there = place->state + "/" + away;
    ASSERT_TRUE(sys::make_directories(there, 0755));
    std::ofstream(there + "/precious") << "mine";
    struct stat status{};
    ASSERT_EQ(::stat(there.c_str(), &status), 0);
    std::ofstream(place->state + "/journal") << "publishing 1 " << status.st_ino << " 0 493\n";
    if (away == std::string("old")) {
      ASSERT_EQ(::mkdir(place->path.c_str(), 0755), 0);
    }
    ASSERT_TRUE(copy::settle(*place));
    EXPECT_FALSE(exists(there)) << "it would be taken for what an earlier run left";
    std::vector<std::string> kept;
    for (const auto& entry : std::filesystem::directory_iterator(place->state)) {
      if (exists(entry.path().string() + "/precious")) kept.push_back(entry.path().filename());
    }
    ASSERT_EQ(kept.size(), 1U);
    EXPECT_TRUE(kept[0].starts_with("replaced-")) << kept[0];
  }
}

TEST_F(CopyPublish, DirectoryThatHasTheInodeOfACopyThatIsGoneIsKept) {
  ASSERT_EQ(::mkdir(path("place").c_str(), 0755), 0);
  write("place/precious", "mine");
  struct statx born{};
  if (::statx(AT_FDCWD, path("place").c_str(), 0, STATX_BTIME, &born) != 0 ||
      (born.stx_mask & STATX_BTIME) == 0) {
    GTEST_SKIP() << "no times of birth here";
  }
  const copy::Destination place = prepare("place", "new");
  std::ofstream(place.state + "/record.json") << record_to_json(some_record(place));
  const timespec earlier[2] = {{.tv_sec = 1, .tv_nsec = 0}, {.tv_sec = 1, .tv_nsec = 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (place.state + "/record.json").c_str(), earlier, 0), 0);
  std::ofstream(place.state + "/journal") << "published " << born.stx_ino << " 0 0 0\n";
  EXPECT_FALSE(copy::is_published(place));
  const copy::Publication published = publish(place);
  EXPECT_EQ(read(published.replaced + "/precious"), "mine");
}

TEST_F(CopyPublish, KeepsAllWhenTheJournalIsTorn) {
  const copy::Destination place = prepare("place", "new");
  std::ofstream(place.state + "/journal") << "publish";
  ASSERT_TRUE(copy::settle(place));
  EXPECT_FALSE(exists(copy::tree_of(place)));
  EXPECT_FALSE(copy::is_published(place));
}

TEST_F(CopyPublish, TreeOfARunThatWasKilledWhileItFilledStays) {
  const copy::Destination place = prepare("place", "new");
  ASSERT_TRUE(copy::settle(place));
  EXPECT_TRUE(exists(copy::tree_of(place) + "/sub/file"));
  EXPECT_TRUE(exists(copy::filling_of(place)));
}

TEST_F(CopyPublish, MountPointGetsAVersionAndALink) {
  if (!child::is_root()) GTEST_SKIP() << "mounting takes root";
  ASSERT_EQ(::mkdir(path("disk").c_str(), 0755), 0);
  const auto outcome = child::run([this] {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", path("disk").c_str(), "tmpfs", 0, "size=4m") != 0) {
      return 77;
    }
    for (const char* text : {"old", "new"}) {
      const copy::Destination place = prepare("disk", text);
      EXPECT_TRUE(place.mount_point);
      EXPECT_EQ(publish(place).how, copy::Published::kVersioned);
      EXPECT_EQ(place.data(), path("disk/current"));
      EXPECT_EQ(text_at(place), text);
      EXPECT_TRUE(copy::is_published(place));
    }
    return testing::Test::HasFailure() ? 1 : 0;
  });
  if (outcome.code == 77) GTEST_SKIP() << "no mount namespace here";
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
}

TEST_F(CopyPublish, BindMountOfTheSameFileSystemIsAMountPoint) {
  if (!child::is_root()) GTEST_SKIP() << "mounting takes root";
  ASSERT_EQ(::mkdir(path("bound").c_str(), 0755), 0);
  ASSERT_EQ(::mkdir(path("disk").c_str(), 0755), 0);
  const auto outcome = child::run([this] {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount(path("disk").c_str(), path("bound").c_str(), "", MS_BIND, nullptr) != 0) {
      return 77;
    }
    const copy::Destination place = prepare("bound", "new");
    EXPECT_TRUE(place.mount_point);
    publish(place);
    EXPECT_EQ(text_at(place), "new");
    return testing::Test::HasFailure() ? 1 : 0;
  });
  if (outcome.code == 77) GTEST_SKIP() << "no mount namespace here";
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
}

TEST_F(CopyPublish, DirectoryNamedCurrentIsNotOverwritten) {
  ASSERT_EQ(::mkdir(path("disk").c_str(), 0755), 0);
  ASSERT_EQ(::mkdir(path("disk/current").c_str(), 0755), 0);
  auto place = copy::find_place(path("disk"));
  ASSERT_TRUE(place);
  place->mount_point = true;
  EXPECT_FALSE(copy::check_publishable(*place));
}

class CopyPlace : public child::Scratch {
 protected:
  [[nodiscard]] std::string refusal(const std::string& source,
                                    const std::string& destination) const {
    auto from = copy::find_source(path(source), 0);
    auto place = copy::find_place(path(destination));
    EXPECT_TRUE(from && place);
    const envgen::Status apart = copy::check_apart(*from, *place);
    return apart ? "" : to_line(apart.error());
  }
};

TEST_F(CopyPlace, FollowsALinkToADirectory) {
  ASSERT_EQ(::mkdir(path("real").c_str(), 0755), 0);
  ASSERT_EQ(::symlink("real", path("link").c_str()), 0);
  auto place = copy::find_place(path("link/"));
  ASSERT_TRUE(place);
  EXPECT_EQ(place->path, path("real"));
  EXPECT_EQ(place->state, path(".trainit-copy.real"));
}

TEST_F(CopyPlace, MissingParentsAreNoErrorAndAreNotMade) {
  auto place = copy::find_place(path("a/b/c"));
  ASSERT_TRUE(place);
  EXPECT_EQ(place->path, path("a/b/c"));
  EXPECT_FALSE(exists(path("a")));
}

TEST_F(CopyPlace, RefusesWhatCannotBeAPlace) {
  ASSERT_EQ(::symlink("nothing", path("link").c_str()), 0);
  EXPECT_FALSE(copy::find_place("/"));
  EXPECT_FALSE(copy::find_place(""));
  EXPECT_FALSE(copy::find_place("/dev/null"));
  EXPECT_FALSE(copy::find_place(path("link")));
  EXPECT_FALSE(copy::find_place(path("no/../up")));
  EXPECT_FALSE(copy::find_place(path(".trainit-copy.x")));
}

TEST_F(CopyPlace, RefusesToReplaceTheWorkingDirectory) {
  ASSERT_TRUE(sys::make_directories(path("here/below"), 0755));
  const auto outcome = child::run([this] {
    if (::chdir(path("here/below").c_str()) != 0) return 1;
    EXPECT_FALSE(copy::find_place("."));
    EXPECT_FALSE(copy::find_place(".."));
    EXPECT_TRUE(copy::find_place("new"));
    return testing::Test::HasFailure() ? 2 : 0;
  });
  EXPECT_EQ(outcome.code, 0) << outcome.out;
}

TEST_F(CopyPlace, RefusesOneInsideTheOtherAndTheSame) {
  ASSERT_TRUE(sys::make_directories(path("data/sub"), 0755));
  write("file", "");
  EXPECT_NE(refusal("data", "data").find("one and the same"), std::string::npos);
  EXPECT_NE(refusal("data", "data/new").find("the place inside the source"), std::string::npos);
  EXPECT_NE(refusal("data/sub", "data").find("the source inside the place"), std::string::npos);
  EXPECT_NE(refusal("data", "file").find("a directory and a file"), std::string::npos);
  EXPECT_NE(refusal("file", "data").find("a file and a directory"), std::string::npos);
  EXPECT_EQ(refusal("data", "data2"), "");
}

TEST_F(CopyPlace, SourceThatIsMissingIsNamed) {
  auto source = copy::find_source(path("nothing"), 0);
  ASSERT_FALSE(source);
  EXPECT_NE(to_line(source.error()).find(path("nothing")), std::string::npos);
  EXPECT_FALSE(copy::find_source("/dev/null", 0));
}

}  // namespace
