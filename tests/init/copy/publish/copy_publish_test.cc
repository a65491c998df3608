#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "init/copy/publish/claim.h"
#include "init/copy/publish/copy_tree.h"
#include "init/copy/publish/publish.h"
#include "init/copy/tree/copy.h"
#include "init/copy/tree/pass.h"
#include "tests/init/child.h"
#include "tests/init/copy/tree/copy_job.h"
#include "tests/init/refuse.h"

namespace {

copy::CopyRecord some_record(const copy::Destination& destination) {
  copy::CopyRecord record;
  record.source = "/source";
  record.path = destination.data();
  record.boot_id = "this one";
  record.digest = std::string(32, '0');
  return record;
}

bool exists(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0;
}

class CopyPublish : public child::Scratch {
 protected:
  CopyPublish() { sys::make_directories(path("source/sub"), 0755).value(); }

  // What a copy has made by then; it is told apart by the text of its file.
  [[nodiscard]] copy::Destination prepare(const std::string& destination_path,
                                          const std::string& text, mode_t mode = 0755) const {
    auto destination = copy::find_destination(path(destination_path));
    EXPECT_TRUE(destination) << to_line(destination.error());
    EXPECT_TRUE(sys::make_directories(destination->state, 0755));
    write("source/sub/file", text);
    EXPECT_EQ(::chmod(path("source").c_str(), mode), 0);
    fill(path("source"), *destination);
    return *destination;
  }
  // The same of one file.
  void prepare_file(const copy::Destination& destination, const std::string& text) const {
    EXPECT_TRUE(sys::make_directories(destination.state, 0755));
    fill(write("one", text), destination);
  }
  static void fill(const std::string& source, const copy::Destination& destination) {
    copy::Options options;
    options.headroom.percent = 0;
    options.workers = 1;
    auto counters = copy::SharedCounters::anonymous();
    auto filled = copy::run_copy_job(copy::root_of(source, !source.ends_with("one")),
                                     copy::tree_of(destination), copy::filling_of(destination),
                                     options, *counters);
    EXPECT_TRUE(filled) << to_line(filled.error());
  }

  // "" = as it was published.
  static std::string changed(const copy::Destination& destination) {
    auto counters = copy::SharedCounters::anonymous();
    const auto unmodified = copy::check_published(destination, "", {}, *counters);
    return unmodified ? "" : unmodified.error().found;
  }
  // What of the state directory holds `name`.
  static std::vector<std::string> kept(const copy::Destination& destination,
                                       const std::string& name) {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(destination.state)) {
      if (exists(entry.path().string() + "/" + name)) found.push_back(entry.path().filename());
    }
    return found;
  }

  static copy::Publication publish(const copy::Destination& destination) {
    auto published = copy::publish(destination, some_record(destination));
    EXPECT_TRUE(published) << to_line(published.error());
    return published.value_or(copy::Publication{});
  }

  // Its ticks are some milliseconds.
  void wait_for_the_clock_of_files() const {
    const auto now = [this] {
      write("clock", "");
      struct stat status{};
      EXPECT_EQ(::stat(path("clock").c_str(), &status), 0);
      return std::pair(status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
    };
    const auto before = now();
    while (now() <= before) {
    }
  }

  static std::string text_at(const copy::Destination& destination) {
    return read(destination.data() + "/sub/file");
  }
};

TEST_F(CopyPublish, ComesByRenameWhereNothingIs) {
  const copy::Destination destination = prepare("place", "new");
  const copy::Publication published = publish(destination);
  EXPECT_EQ(published.how, copy::Published::kRenamed);
  EXPECT_EQ(published.replaced, "");
  EXPECT_EQ(text_at(destination), "new");
  EXPECT_EQ(changed(destination), "");
  EXPECT_NE(read(destination.state + "/manifest").find("sub/file"), std::string::npos);
  EXPECT_TRUE(exists(destination.state + "/record.json"));
  EXPECT_FALSE(exists(copy::filling_of(destination)));
}

TEST_F(CopyPublish, TakesThePlaceOfAnEmptyDirectory) {
  ASSERT_EQ(::mkdir(path("place").c_str(), 0755), 0);
  const copy::Destination destination = prepare("place", "new");
  EXPECT_EQ(publish(destination).how, copy::Published::kRenamed);
  EXPECT_EQ(text_at(destination), "new");
}

TEST_F(CopyPublish, IsExchangedWithAnOlderCopyWhichIsRemoved) {
  publish(prepare("place", "old"));
  const copy::Destination destination = prepare("place", "new");
  const copy::Publication published = publish(destination);
  EXPECT_EQ(published.how, copy::Published::kExchanged);
  EXPECT_EQ(published.replaced, "");
  EXPECT_EQ(text_at(destination), "new");
  EXPECT_FALSE(exists(copy::tree_of(destination)));
  EXPECT_FALSE(exists(destination.state + "/old"));
}

TEST_F(CopyPublish, KeepsWhatWasThereAndIsNoCopyOfOurs) {
  ASSERT_EQ(::mkdir(path("place").c_str(), 0755), 0);
  write("place/precious", "mine");
  const copy::Destination destination = prepare("place", "new");
  const copy::Publication published = publish(destination);
  EXPECT_EQ(published.how, copy::Published::kExchanged);
  EXPECT_EQ(read(published.replaced + "/precious"), "mine");
  EXPECT_TRUE(copy::settle(destination));
  EXPECT_EQ(read(published.replaced + "/precious"), "mine");
}

TEST_F(CopyPublish, DirectoryThatSomebodyMadeInItsPlaceIsNotTakenForTheCopy) {
  const copy::Destination destination = prepare("place", "new");
  publish(destination);
  ASSERT_EQ(::rename(destination.path.c_str(), path("elsewhere").c_str()), 0);
  ASSERT_EQ(::mkdir(destination.path.c_str(), 0755), 0);
  EXPECT_NE(changed(destination), "");
}

TEST_F(CopyPublish, FileReplacesACopyOfOursAndKeepsWhatIsNot) {
  write("place", "mine");
  auto destination = copy::find_destination(path("place"));
  ASSERT_TRUE(destination);
  prepare_file(*destination, "first");
  const copy::Publication first = publish(*destination);
  EXPECT_EQ(first.how, copy::Published::kExchanged);
  EXPECT_EQ(read(first.replaced), "mine");
  EXPECT_EQ(read(destination->path), "first");
  prepare_file(*destination, "second");
  const copy::Publication second = publish(*destination);
  EXPECT_EQ(second.how, copy::Published::kExchanged);
  EXPECT_EQ(second.replaced, "");
  EXPECT_EQ(read(destination->path), "second");
  std::ofstream(destination->path) << "edited";
  prepare_file(*destination, "third");
  EXPECT_EQ(read(publish(*destination).replaced), "edited");
}

TEST_F(CopyPublish, KeepsThePermissionsOfItsRoot) {
  const auto outcome = child::run([this] {
    if (child::is_root() &&
        (::chown(path("").c_str(), 65534, 65534) != 0 ||
         ::chown(path("source").c_str(), 65534, 65534) != 0 ||
         ::chown(path("source/sub").c_str(), 65534, 65534) != 0 || !child::become_nobody())) {
      return 1;
    }
    for (int round = 0; round < 2; ++round) {
      const copy::Destination destination = prepare("place", "new", 0555);
      publish(destination);
      struct stat status{};
      if (::stat(destination.path.c_str(), &status) != 0 || (status.st_mode & 07777) != 0555)
        return 2;
    }
    return testing::Test::HasFailure() ? 3 : 0;
  });
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
}

TEST_F(CopyPublish, EndsWhatWasKilledBeforeTheRecord) {
  publish(prepare("place", "old"));
  const copy::Destination destination = prepare("place", "new");
  publish(destination);
  // As it is right after the exchange.
  struct stat status{};
  ASSERT_EQ(::stat(destination.path.c_str(), &status), 0);
  ASSERT_EQ(::mkdir(copy::tree_of(destination).c_str(), 0755), 0);
  struct stat old{};
  ASSERT_EQ(::stat(copy::tree_of(destination).c_str(), &old), 0);
  std::ofstream(destination.state + "/journal")
      << "publishing " << status.st_ino << " " << old.st_ino << " 1 " << 0755 << "\n";
  ASSERT_EQ(::rename((destination.state + "/record.json").c_str(),
                     (destination.state + "/record.next").c_str()),
            0);
  EXPECT_NE(changed(destination), "");
  ASSERT_EQ(::chmod(destination.path.c_str(), 0700), 0);
  ASSERT_TRUE(copy::settle(destination));
  EXPECT_EQ(changed(destination), "");
  EXPECT_TRUE(exists(destination.state + "/record.json"));
  EXPECT_FALSE(exists(copy::tree_of(destination)));
  ASSERT_EQ(::stat(destination.path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0755U);
}

// A full disk or a kill leaves the last line of the journal unwritten. What changes the file
// afterwards is no part of the publication.
TEST_F(CopyPublish, SeesAChangeBehindAPublicationThatIsEndedTwice) {
  const auto found = copy::find_destination(path("place"));
  ASSERT_TRUE(found);
  const copy::Destination& destination = *found;
  prepare_file(destination, "one");
  publish(destination);
  struct stat status{};
  ASSERT_EQ(::stat(destination.path.c_str(), &status), 0);
  std::ofstream(destination.state + "/journal")
      << "publishing " << status.st_ino << " 0 1 " << 0644 << "\n";
  EXPECT_EQ(changed(destination), "");
  wait_for_the_clock_of_files();
  std::ofstream(destination.path) << "two";
  const std::array times = {status.st_atim, status.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, destination.path.c_str(), times.data(), 0), 0);
  wait_for_the_clock_of_files();
  ASSERT_TRUE(copy::settle(destination));
  EXPECT_NE(changed(destination), "");
}

TEST_F(CopyPublish, EndsWhatWasKilledBetweenTwoRenames) {
  publish(prepare("place", "old"));
  const copy::Destination destination = prepare("place", "new");
  struct stat tree{};
  struct stat old{};
  ASSERT_EQ(::stat(copy::tree_of(destination).c_str(), &tree), 0);
  ASSERT_EQ(::rename(destination.path.c_str(), (destination.state + "/old").c_str()), 0);
  ASSERT_EQ(::stat((destination.state + "/old").c_str(), &old), 0);
  std::ofstream(destination.state + "/journal")
      << "publishing " << tree.st_ino << " " << old.st_ino << " 1 " << 0755 << "\n";
  ASSERT_TRUE(copy::settle(destination));
  EXPECT_EQ(text_at(destination), "new");
  EXPECT_FALSE(exists(destination.state + "/old"));
}

TEST_F(CopyPublish, PutsBackWhatWasThereWhenTheNewOneIsGone) {
  publish(prepare("place", "old"));
  auto destination = copy::find_destination(path("place"));
  ASSERT_TRUE(destination);
  struct stat old{};
  ASSERT_EQ(::stat(destination->path.c_str(), &old), 0);
  ASSERT_EQ(::rename(destination->path.c_str(), (destination->state + "/old").c_str()), 0);
  std::ofstream(destination->state + "/journal") << "publishing 1 " << old.st_ino << " 1 493\n";
  ASSERT_TRUE(copy::settle(*destination));
  EXPECT_EQ(text_at(*destination), "old");
  EXPECT_EQ(changed(*destination), "");
}

// Killed halfway; and before the next run somebody made, or took away, what is at the place.
TEST_F(CopyPublish, KeepsWhatIsNoCopyOfOursWhoeverChangedThePlaceMeanwhile) {
  for (const char* away : {"old", "tree"}) {
    const std::string name = std::string("place-") + away;
    auto destination = copy::find_destination(path(name));
    ASSERT_TRUE(destination);
    const std::string there = destination->state + "/" + away;
    ASSERT_TRUE(sys::make_directories(there, 0755));
    std::ofstream(there + "/precious") << "mine";
    struct stat status{};
    ASSERT_EQ(::stat(there.c_str(), &status), 0);
    std::ofstream(destination->state + "/journal")
        << "publishing 1 " << status.st_ino << " 0 493\n";
    if (away == std::string("old")) {
      ASSERT_EQ(::mkdir(destination->path.c_str(), 0755), 0);
    }
    ASSERT_TRUE(copy::settle(*destination));
    EXPECT_FALSE(exists(there)) << "it would be taken for what an earlier run left";
    const auto names = kept(*destination, "precious");
    ASSERT_EQ(names.size(), 1U);
    EXPECT_TRUE(names[0].starts_with("replaced-")) << names[0];
  }
}

// Whatever a job did to its copy, at the place or right before somebody replaces it.
TEST_F(CopyPublish, CopyThatWasChangedIsKept) {
  const std::vector<std::pair<std::string, std::function<void(const std::string&)>>> changes = {
      {"5 entries, not 3",
       [](const std::string& at) {
         ASSERT_TRUE(sys::make_directories(at + "/ckpt", 0755));
         std::ofstream(at + "/ckpt/precious") << "mine";
       }},
      {"2 bytes, not 3", [](const std::string& at) { std::ofstream(at + "/sub/file") << "me"; }},
      {"another mtime", [](const std::string& at) { std::ofstream(at + "/sub/file") << "our"; }},
      {"touched after it was copied",
       [](const std::string& at) {
         struct stat status{};
         ASSERT_EQ(::stat((at + "/sub/file").c_str(), &status), 0);
         std::ofstream(at + "/sub/file") << "our";
         const timespec times[2] = {status.st_atim, status.st_mtim};
         ASSERT_EQ(::utimensat(AT_FDCWD, (at + "/sub/file").c_str(), times, 0), 0);
       }},
      {"something of another type",
       [](const std::string& at) {
         ASSERT_EQ(::rename((at + "/sub").c_str(), (at + "-sub").c_str()), 0);
         ASSERT_EQ(::symlink((at + "-sub").c_str(), (at + "/sub").c_str()), 0);
       }},
  };
  int number = 0;
  for (const auto& [found, change] : changes) {
    const std::string name = "place-" + std::to_string(number++);
    const copy::Destination destination = prepare(name, "old");
    publish(destination);
    wait_for_the_clock_of_files();
    change(destination.path);
    EXPECT_EQ(changed(destination), found);
    const std::string before = copy_job::listing(destination.path);
    const copy::Publication published = publish(prepare(name, "new"));
    EXPECT_EQ(published.why, found);
    EXPECT_EQ(copy_job::listing(published.replaced), before);
    EXPECT_EQ(text_at(destination), "new");
    EXPECT_EQ(changed(destination), "");
  }
}

// Killed right after the exchange; before the next run the old copy, or what is now at the place,
// gets something.
TEST_F(CopyPublish, KeepsWhatCameToTheOldCopyBeforeTheRecovery) {
  publish(prepare("place", "old"));
  const copy::Destination destination = prepare("place", "new");
  struct stat tree{};
  struct stat old{};
  ASSERT_EQ(::stat(copy::tree_of(destination).c_str(), &tree), 0);
  ASSERT_EQ(::stat(destination.path.c_str(), &old), 0);
  ASSERT_EQ(::rename(destination.path.c_str(), path("aside").c_str()), 0);
  ASSERT_EQ(::rename(copy::tree_of(destination).c_str(), destination.path.c_str()), 0);
  ASSERT_EQ(::rename(path("aside").c_str(), copy::tree_of(destination).c_str()), 0);
  std::ofstream(destination.state + "/journal")
      << "publishing " << tree.st_ino << " " << old.st_ino << " 1 " << 0755 << "\n";
  std::ofstream(destination.state + "/record.next") << record_to_json(some_record(destination));
  std::ofstream(copy::tree_of(destination) + "/precious") << "mine";
  const auto settled = copy::settle(destination);
  ASSERT_TRUE(settled) << to_line(settled.error());
  EXPECT_EQ(settled->why, "4 entries, not 3");
  EXPECT_EQ(read(settled->replaced + "/precious"), "mine");
  EXPECT_EQ(text_at(destination), "new");
  EXPECT_EQ(changed(destination), "");
}

// Another machine takes the place over, and fills a tree of its own: before the journal is written,
// and after it.
TEST_F(CopyPublish, ClaimThatIsLostMeanwhileEndsItAndPublishesNothing) {
  publish(prepare("place", "old"));
  for (const int turn : {1, 2}) {
    const copy::Destination destination = prepare("place", "new");
    const std::string record = read(copy::record_of(destination));
    auto claim = copy::Claim::take(destination.state, {}, "here", {.beat_ms = 0});
    ASSERT_TRUE(claim);
    std::optional<copy::Claim> other;
    int calls = 0;
    const auto published = copy::publish(destination, some_record(destination), [&] {
      if (++calls == turn) {
        other.emplace(
            copy::Claim::take(destination.state, {}, "there", {.stale_ms = 0, .settle_ms = 1})
                .value());
        EXPECT_TRUE(sys::remove_tree(copy::tree_of(destination)));
        EXPECT_TRUE(sys::make_directories(copy::tree_of(destination) + "/half", 0755));
      }
      return claim->keep();
    });
    EXPECT_EQ(calls, turn) << "nothing is done after it";
    ASSERT_FALSE(published);
    EXPECT_NE(published.error().found.find("another machine"), std::string::npos);
    EXPECT_EQ(text_at(destination), "old");
    EXPECT_EQ(read(copy::record_of(destination)), record);
    EXPECT_TRUE(exists(copy::tree_of(destination) + "/half"));
  }
}

TEST_F(CopyPublish, AnotherTreeThanTheOneItBeganWithIsNotPublished) {
  const copy::Destination destination = prepare("place", "new");
  const auto published =
      copy::publish(destination, some_record(destination), [&destination]() -> base::Status {
        ::rename(copy::tree_of(destination).c_str(), (destination.state + "/away").c_str());
        return sys::make_directories(copy::tree_of(destination), 0755);
      });
  ASSERT_FALSE(published);
  EXPECT_FALSE(exists(destination.path));
}

TEST_F(CopyPublish, ClaimIsTouchedWhileATreeIsRemoved) {
  ASSERT_TRUE(sys::make_directories(path("tree/sub"), 0755));
  EXPECT_TRUE(copy::remove_tree(path("tree"), [] { return base::Status(); }));
  EXPECT_FALSE(exists(path("tree")));
}

TEST_F(CopyPublish, LinkOfSomebodyElseIsNotReplacedAtAMountPoint) {
  auto destination = copy::find_destination(path("disk"));
  ASSERT_TRUE(destination);
  destination->mount_point = true;
  ASSERT_EQ(::mkdir(path("disk").c_str(), 0755), 0);
  ASSERT_EQ(::symlink("/elsewhere", path("disk/current").c_str()), 0);
  EXPECT_FALSE(copy::check_publishable(*destination));
}

TEST_F(CopyPublish, KeepsAllWhenTheJournalIsTorn) {
  const copy::Destination destination = prepare("place", "new");
  std::ofstream(destination.state + "/journal") << "publish";
  ASSERT_TRUE(copy::settle(destination));
  EXPECT_FALSE(exists(copy::tree_of(destination)));
  EXPECT_NE(changed(destination), "");
}

TEST_F(CopyPublish, TreeOfARunThatWasKilledWhileItFilledStays) {
  const copy::Destination destination = prepare("place", "new");
  ASSERT_TRUE(copy::settle(destination));
  EXPECT_TRUE(exists(copy::tree_of(destination) + "/sub/file"));
  EXPECT_TRUE(exists(copy::filling_of(destination)));
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
      const copy::Destination destination = prepare("disk", text);
      EXPECT_TRUE(destination.mount_point);
      EXPECT_EQ(publish(destination).how, copy::Published::kVersioned);
      EXPECT_EQ(destination.data(), path("disk/current"));
      EXPECT_EQ(text_at(destination), text);
      EXPECT_EQ(changed(destination), "");
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
    const copy::Destination destination = prepare("bound", "new");
    EXPECT_TRUE(destination.mount_point);
    publish(destination);
    EXPECT_EQ(text_at(destination), "new");
    return testing::Test::HasFailure() ? 1 : 0;
  });
  if (outcome.code == 77) GTEST_SKIP() << "no mount namespace here";
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
}

TEST_F(CopyPublish, CopyInUseIsSeenThroughABindMountOfIt) {
  if (!child::is_root()) GTEST_SKIP() << "mounting takes root";
  const auto outcome = child::run([this] {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      return 77;
    }
    ::mkdir(path("from").c_str(), 0755);
    ::mkdir(path("a mount").c_str(), 0755);
    write("from/a", "one");
    copy::Options options;
    options.headroom.percent = 0;
    auto used = copy::copy_tree(path("from"), path("copied"), options);
    EXPECT_TRUE(used) << to_line(used.error());
    if (!used || ::mkdir(path("copied/sub").c_str(), 0755) != 0 ||
        ::mount(path("copied").c_str(), path("a mount").c_str(), nullptr, MS_BIND, nullptr) != 0) {
      return 2;
    }
    for (const char* name : {"a mount", "a mount/sub", "a mount/new"}) {
      const auto refused = copy::copy_tree(path("from"), path(name), options);
      EXPECT_TRUE(!refused && refused.error().found.starts_with("a copy that is in use")) << name;
    }
    used->lease.reset();
    EXPECT_TRUE(copy::copy_tree(path("from"), path("a mount"), options));
    return testing::Test::HasFailure() ? 1 : 0;
  });
  if (outcome.code == 77) GTEST_SKIP() << "no mount namespace";
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
}

// The path of a lease; what was seen of it in place of the call that publishes.
std::string g_lease;
int g_refused = 0;
int g_given = 0;

void ask_for_lease(int /*signal*/, siginfo_t* /*info*/, void* context) {
  const int fd = ::open(g_lease.c_str(), O_RDWR | O_CLOEXEC);
  const bool given = ::flock(fd, LOCK_SH | LOCK_NB) == 0;
  (given || errno != EWOULDBLOCK ? g_given : g_refused) += 1;
  ::close(fd);
  refuse::answer(context, ENOSYS);
}

TEST_F(CopyPublish, NobodyBeginsToUseWhatIsBeingReplaced) {
  write("source/sub/file", "one");
  copy::Options options;
  options.headroom.percent = 0;
  ASSERT_TRUE(copy::copy_tree(path("source"), path("copied"), options));
  write("source/sub/file", "another");
  g_lease = path(".trainit-copy.copied/lease");
  const auto outcome = child::run([&] {
    struct sigaction action{};
    action.sa_sigaction = ask_for_lease;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGSYS, &action, nullptr);
    if (!refuse::trap({SYS_renameat2})) return 77;
    const auto copied = copy::copy_tree(path("source"), path("copied"), options);
    EXPECT_TRUE(copied) << to_line(copied.error());
    EXPECT_GT(g_refused, 0);
    EXPECT_EQ(g_given, 0);
    return testing::Test::HasFailure() ? 1 : 0;
  });
  if (outcome.code == 77) GTEST_SKIP() << "no seccomp here";
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(read(path("copied/sub/file")), "another");
}

TEST_F(CopyPublish, DirectoryNamedCurrentIsNotOverwritten) {
  ASSERT_EQ(::mkdir(path("disk").c_str(), 0755), 0);
  ASSERT_EQ(::mkdir(path("disk/current").c_str(), 0755), 0);
  auto destination = copy::find_destination(path("disk"));
  ASSERT_TRUE(destination);
  destination->mount_point = true;
  EXPECT_FALSE(copy::check_publishable(*destination));
}

class CopyPlace : public child::Scratch {
 protected:
  [[nodiscard]] std::string refusal(const std::string& source,
                                    const std::string& destination_path) const {
    auto from = copy::find_source(path(source), {});
    auto destination = copy::find_destination(path(destination_path));
    EXPECT_TRUE(from && destination);
    const base::Status apart = copy::check_apart(*from, *destination);
    return apart ? "" : to_line(apart.error());
  }
};

TEST_F(CopyPlace, FollowsALinkToADirectory) {
  ASSERT_EQ(::mkdir(path("real").c_str(), 0755), 0);
  ASSERT_EQ(::symlink("real", path("link").c_str()), 0);
  auto destination = copy::find_destination(path("link/"));
  ASSERT_TRUE(destination);
  EXPECT_EQ(destination->path, path("real"));
  EXPECT_EQ(destination->state, path(".trainit-copy.real"));
}

TEST_F(CopyPlace, MissingParentsAreNoErrorAndAreNotMade) {
  auto destination = copy::find_destination(path("a/b/c"));
  ASSERT_TRUE(destination);
  EXPECT_EQ(destination->path, path("a/b/c"));
  EXPECT_FALSE(exists(path("a")));
}

TEST_F(CopyPlace, RefusesWhatCannotBeAPlace) {
  ASSERT_EQ(::symlink("nothing", path("link").c_str()), 0);
  EXPECT_FALSE(copy::find_destination("/"));
  EXPECT_FALSE(copy::find_destination(""));
  EXPECT_FALSE(copy::find_destination("/dev/null"));
  EXPECT_FALSE(copy::find_destination(path("link")));
  EXPECT_FALSE(copy::find_destination(path("no/../up")));
  EXPECT_FALSE(copy::find_destination(path(".trainit-copy.x")));
  ASSERT_TRUE(sys::make_directories(path("mount/.trainit-copy/v-1"), 0755));
  ASSERT_EQ(::symlink(".trainit-copy/v-1", path("mount/current").c_str()), 0);
  for (const char* name : {"mount/current", "mount/current/", "mount/current/below",
                           ".trainit-copy.x/replaced-1", "mount/.trainit-copy"}) {
    EXPECT_FALSE(copy::find_destination(path(name))) << name;
  }
}

TEST_F(CopyPlace, RefusesToReplaceTheWorkingDirectory) {
  ASSERT_TRUE(sys::make_directories(path("here/below"), 0755));
  const auto outcome = child::run([this] {
    if (::chdir(path("here/below").c_str()) != 0) return 1;
    EXPECT_FALSE(copy::find_destination("."));
    EXPECT_FALSE(copy::find_destination(".."));
    EXPECT_TRUE(copy::find_destination("new"));
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
  EXPECT_NE(refusal("data", "file").find("a directory to be copied to a file"), std::string::npos);
  EXPECT_NE(refusal("file", "data").find("name the place of the file: " + path("data/file")),
            std::string::npos);
  EXPECT_EQ(refusal("data", "data2"), "");
}

TEST_F(CopyPlace, SourceThatIsMissingIsNamed) {
  auto source = copy::find_source(path("nothing"), {});
  ASSERT_FALSE(source);
  EXPECT_NE(to_line(source.error()).find(path("nothing")), std::string::npos);
  EXPECT_FALSE(copy::find_source("/dev/null", {}));
}

}  // namespace
