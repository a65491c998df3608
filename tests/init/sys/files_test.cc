#include "init/sys/files.h"

#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "init/sys/safe_path.h"
#include "tests/init/child.h"
#include "tests/init/refuse.h"

namespace {

using Kind = envgen::PathState::Kind;

class Look : public child::Scratch {};
class WriteFileAtomic : public child::Scratch {};
class OverwriteFile : public child::Scratch {};
class MakeDirectories : public child::Scratch {};
class RemoveTree : public child::Scratch {};

mode_t mode_of(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

bool is_there(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0;
}

TEST_F(Look, ReadsAFile) {
  const auto state = sys::inspect(write("table.json", std::string("a\0b", 3)), true);
  EXPECT_EQ(state.kind, Kind::kFile);
  EXPECT_EQ(state.content, std::string("a\0b", 3));
  EXPECT_EQ(state.size_bytes, 3U);
  EXPECT_TRUE(state.writable);
}

TEST_F(Look, ReadsALargeFileWhole) {
  const std::string content(5'000'001, 'x');
  EXPECT_EQ(sys::inspect(write("large", content), true).content, content);
}

TEST_F(Look, TellsSizeAndAccessWithoutReading) {
  const auto state = sys::inspect(write("table.json", "{}"), false);
  EXPECT_EQ(state.kind, Kind::kFile);
  EXPECT_EQ(state.content, "");
  EXPECT_EQ(state.size_bytes, 2U);
  EXPECT_TRUE(state.writable);
}

TEST_F(Look, TellsAProgramFromAFile) {
  const std::string file = write("file", "");
  const std::string program = write("program", "");
  ::chmod(program.c_str(), 0755);
  for (const bool read : {false, true}) {
    EXPECT_FALSE(sys::inspect(file, read).executable);
    EXPECT_TRUE(sys::inspect(program, read).executable);
    EXPECT_FALSE(sys::inspect(path(""), read).executable);
  }
}

TEST_F(Look, KnowsALinkToTheNullDevice) {
  ::symlink("/dev/null", path("null").c_str());
  ::symlink("/dev/zero", path("zero").c_str());
  for (const bool read : {false, true}) {
    EXPECT_EQ(sys::inspect(path("null"), read).kind, Kind::kError);
    EXPECT_TRUE(sys::inspect(path("null"), read).null_device);
    EXPECT_FALSE(sys::inspect(path("zero"), read).null_device);
  }
}

TEST_F(Look, ListsADirectorySorted) {
  write("b", "");
  write("a", "");
  write(".c", "");
  const auto state = sys::inspect(path(""), true);
  EXPECT_EQ(state.kind, Kind::kDirectory);
  EXPECT_EQ(state.entries, (std::vector<std::string>{".c", "a", "b"}));
  EXPECT_TRUE(state.writable);
  EXPECT_TRUE(state.listed);
  EXPECT_TRUE(sys::inspect(path(""), false).entries.empty());
  EXPECT_FALSE(sys::inspect(path(""), false).listed);
}

TEST_F(Look, AMissingFileAnEndOfALinkAndAPathThroughAFileAreAbsent) {
  ::symlink("nowhere", path("link").c_str());
  for (const std::string& name :
       {path("missing"), path("link"), write("file", "") + "/x", std::string()}) {
    EXPECT_EQ(sys::inspect(name, true), envgen::PathState()) << name;
    EXPECT_EQ(sys::inspect(name, false), envgen::PathState()) << name;
  }
}

TEST_F(Look, FollowsLinksAnewEachTime) {
  // A ConfigMap's update: a link is renamed over the link to the old data.
  ::mkdir(path("1").c_str(), 0755);
  ::mkdir(path("2").c_str(), 0755);
  write("1/table", "initializing");
  write("2/table", "completed");
  ::symlink("1", path("data").c_str());
  EXPECT_EQ(sys::inspect(path("data/table"), true).content, "initializing");
  ::symlink("2", path("data_tmp").c_str());
  ::rename(path("data_tmp").c_str(), path("data").c_str());
  EXPECT_EQ(sys::inspect(path("data/table"), true).content, "completed");
}

TEST_F(Look, ALoopOfLinksIsAnError) {
  ::symlink("b", path("a").c_str());
  ::symlink("a", path("b").c_str());
  EXPECT_EQ(sys::inspect(path("a"), true).kind, Kind::kError);
  EXPECT_EQ(sys::inspect(path("a"), true).error, ELOOP);
}

TEST_F(Look, AFifoADeviceAndASocketAreNoInputAndDoNotBlock) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0644), 0);
  const sys::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path("socket").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  for (const std::string& name :
       {path("fifo"), path("socket"), std::string("/dev/null"), std::string("/dev/tty")}) {
    for (const bool read_content : {true, false}) {
      const auto state = sys::inspect(name, read_content);
      EXPECT_EQ(state.kind, Kind::kError) << name;
      EXPECT_EQ(state.error, EINVAL) << name;
    }
  }
}

TEST_F(Look, AFileAboveTheLimitIsRefusedUnread) {
  const std::string file = write("huge", "");
  const auto size = static_cast<off_t>(envgen::kMaxInputBytes) + 1;
  ASSERT_EQ(::truncate(file.c_str(), size), 0);
  const auto state = sys::inspect(file, true);
  EXPECT_EQ(state.kind, Kind::kError);
  EXPECT_EQ(state.error, EFBIG);
  EXPECT_EQ(state.size_bytes, static_cast<std::uint64_t>(size));
  EXPECT_TRUE(state.content.empty());
  EXPECT_EQ(sys::inspect(file, false).kind, Kind::kFile);
}

TEST_F(Look, TheSizeIsOnlyAHint) {
  // One of /proc says 0 and grows while it is read; one of sysfs says 4096 and is shorter.
  const auto grows = sys::inspect("/proc/self/status", true);
  EXPECT_NE(grows.content.find("\nPid:"), std::string::npos);
  EXPECT_EQ(grows.size_bytes, grows.content.size());
  const auto shrinks = sys::inspect("/sys/kernel/mm/transparent_hugepage/enabled", true);
  if (shrinks.kind == Kind::kFile) {
    EXPECT_EQ(shrinks.size_bytes, shrinks.content.size());
  }
}

TEST_F(Look, WhatTheUserMayNotReadIsAnErrorAndMayNotWriteIsSaid) {
  write("secret", "s", 0600);
  write("public", "p", 0644);
  const auto outcome = child::run([this] {
    if (child::is_root() && !child::become_nobody()) return 9;
    ::chmod(path("secret").c_str(), 0);
    ::chmod(path("public").c_str(), 0444);
    if (sys::inspect(path("secret"), true).error != EACCES) return 1;
    const auto state = sys::inspect(path("public"), true);
    return state.content == "p" && !state.writable ? 0 : 2;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST_F(WriteFileAtomic, WritesWithTheModeWhateverTheUmask) {
  const mode_t mask = ::umask(0077);
  EXPECT_TRUE(sys::write_file_atomic(path("open"), 0644, "content"));
  ::umask(0);
  EXPECT_TRUE(sys::write_file_atomic(path("closed"), 0600, ""));
  ::umask(mask);
  EXPECT_EQ(mode_of(path("open")), 0644U);
  EXPECT_EQ(mode_of(path("closed")), 0600U);
  EXPECT_EQ(read(path("open")), "content");
}

TEST_F(WriteFileAtomic, ReplacesAFileThatOthersStillRead) {
  const std::string file = write("state.json", "old");
  const sys::Fd reader(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_TRUE(sys::write_file_atomic(file, 0644, "new"));
  EXPECT_EQ(child::read_to_end(reader.get()), "old");
  EXPECT_EQ(read(file), "new");
  EXPECT_EQ(sys::inspect(path(""), true).entries, std::vector<std::string>{"state.json"});
}

TEST_F(WriteFileAtomic, TakesATextInPieces) {
  const auto pieces = [](const sys::Sink& sink) {
    for (std::string_view piece : {"a", "", "bc"}) sink(piece);
  };
  EXPECT_TRUE(sys::write_file_atomic(path("pieces"), 0644, pieces));
  EXPECT_EQ(read(path("pieces")), "abc");

  const sys::Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full.valid());
  EXPECT_EQ(sys::write_pieces(full.get(), pieces), ENOSPC);
}

TEST_F(WriteFileAtomic, ReplacesALinkNotWhatItNames) {
  write("target", "old");
  ::symlink("target", path("link").c_str());
  EXPECT_TRUE(sys::write_file_atomic(path("link"), 0644, "new"));
  EXPECT_EQ(read(path("target")), "old");
  EXPECT_EQ(read(path("link")), "new");
}

TEST_F(WriteFileAtomic, TakesTheLongestNameThatThereIs) {
  EXPECT_TRUE(sys::write_file_atomic(path(std::string(255, 'n')), 0644, "x"));
}

TEST_F(WriteFileAtomic, AMissingParentIsNamedWithWhatToDo) {
  const auto status = sys::write_file_atomic(path("no/hostfile"), 0644, "x");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().where, path("no/hostfile"));
  EXPECT_EQ(status.error().found, "No such file or directory (ENOENT)");
  EXPECT_EQ(status.error().fix, "create the directory first");
}

TEST_F(WriteFileAtomic, LeavesNoDebrisWhenTheTargetIsADirectory) {
  ::mkdir(path("d").c_str(), 0755);
  EXPECT_FALSE(sys::write_file_atomic(path("d"), 0644, "x"));
  EXPECT_EQ(sys::inspect(path(""), true).entries, std::vector<std::string>{"d"});
}

// Of a file that goes with the machine, which changes places with the old one.
class ReplaceOfTheMachine : public WriteFileAtomic {
 protected:
  base::Status replace(const std::string& name, std::string_view content,
                       sys::Lifetime lifetime = sys::Lifetime::kMachine) const {
    auto place = sys::resolve_safely(path(name));
    return place ? sys::write_file_atomic(*place, path(name), 0644, content, lifetime)
                 : std::unexpected(place.error());
  }
  [[nodiscard]] std::vector<std::string> names() const {
    return sys::inspect(path(""), true).entries;
  }
  // Whether the file system has given it no place yet.
  [[nodiscard]] bool is_delayed(const std::string& name) const {
    const sys::Fd fd(::open(path(name).c_str(), O_RDONLY | O_CLOEXEC));
    alignas(fiemap) std::array<char, sizeof(fiemap) + sizeof(fiemap_extent)> room{};
    auto* map = reinterpret_cast<fiemap*>(room.data());
    map->fm_length = ~std::uint64_t{0};
    map->fm_extent_count = 1;
    return ::ioctl(fd.get(), FS_IOC_FIEMAP, map) == 0 && map->fm_mapped_extents == 1 &&
           (map->fm_extents[0].fe_flags & FIEMAP_EXTENT_DELALLOC) != 0;
  }
};

TEST_F(ReplaceOfTheMachine, DoesAsTheOtherOne) {
  EXPECT_TRUE(replace("state.json", "first"));
  const sys::Fd reader(::open(path("state.json").c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_TRUE(replace("state.json", "second"));
  EXPECT_EQ(child::read_to_end(reader.get()), "first");
  EXPECT_EQ(read(path("state.json")), "second");
  EXPECT_EQ(names(), std::vector<std::string>{"state.json"});
}

TEST_F(ReplaceOfTheMachine, LeavesADirectoryWhereItIs) {
  ::mkdir(path("d").c_str(), 0755);
  write("d/of-somebody", "content");
  const auto status = replace("d", "x");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().found, "Is a directory (EISDIR)");
  EXPECT_EQ(read(path("d/of-somebody")), "content");
  EXPECT_EQ(names(), std::vector<std::string>{"d"});
}

TEST_F(ReplaceOfTheMachine, ReplacesALinkNotWhatItNames) {
  write("target", "old");
  ::symlink("target", path("link").c_str());
  EXPECT_TRUE(replace("link", "new"));
  EXPECT_EQ(read(path("target")), "old");
  EXPECT_EQ(read(path("link")), "new");
  EXPECT_EQ(names(), (std::vector<std::string>{"link", "target"}));
}

// gVisor and NFS.
TEST_F(ReplaceOfTheMachine, DoesWithoutAKernelThatSwaps) {
  for (const int error : {EINVAL, ENOSYS, EPERM, EACCES, EXDEV, EOPNOTSUPP}) {
    write("state.json", "old");
    const auto outcome = child::run([&] {
      if (!refuse::calls({SYS_renameat2}, error)) return 9;
      return replace("state.json", "new") ? 0 : 1;
    });
    EXPECT_EQ(outcome.code, 0) << error;
    EXPECT_EQ(read(path("state.json")), "new") << error;
    EXPECT_EQ(names(), std::vector<std::string>{"state.json"}) << error;
  }
}

// A full file system that copies on write may refuse a removal. What is left is hidden.
TEST_F(ReplaceOfTheMachine, StaysWhereTheOldOneCannotBeRemoved) {
  for (const int error : {EIO, ENOSPC, EDQUOT}) {
    write("state.json", "old");
    const auto outcome = child::run([&] {
      if (!refuse::calls({SYS_unlinkat, SYS_renameat}, error)) return 9;
      return replace("state.json", "new") ? 0 : 1;
    });
    EXPECT_EQ(outcome.code, 0) << error;
    EXPECT_EQ(read(path("state.json")), "new") << error;
  }
}

TEST_F(ReplaceOfTheMachine, DoesNotWaitForTheDisk) {
  constexpr int kAttempts = 20;  // somebody else may sync meanwhile
  const auto stays_off_the_disk = [this](sys::Lifetime lifetime) {
    for (int i = 0; i < kAttempts; ++i) {
      if (replace("state.json", "state", lifetime) && is_delayed("state.json")) return true;
    }
    return false;
  };
  ASSERT_TRUE(replace("state.json", "old"));
  if (stays_off_the_disk(sys::Lifetime::kLasting)) GTEST_SKIP() << "no auto_da_alloc here";
  write("new", "bytes");
  if (!is_delayed("new")) GTEST_SKIP() << "a file system that delays nothing";
  EXPECT_TRUE(stays_off_the_disk(sys::Lifetime::kMachine));
}

TEST_F(WriteFileAtomic, SaysWhatHelpsWhereDescriptorsAreOut) {
  const std::string file = path("hostfile");
  const auto outcome = child::run([&file] {
    constexpr rlim_t kMax = 16;
    int refused = 0;
    for (rlim_t most = 0; most <= kMax; ++most) {
      const rlimit limit{.rlim_cur = most, .rlim_max = kMax};
      if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
      const auto status = sys::write_file_atomic(file, 0644, "x");
      if (status) continue;
      ++refused;
      if (status.error().fix != "raise the limit on open files") return 2;
    }
    return refused > 1 && sys::write_file_atomic(file, 0644, "x") ? 0 : 3;
  });
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
}

TEST_F(OverwriteFile, LeavesTheNewContentAlone) {
  write("state.json", "a long old one");
  EXPECT_TRUE(sys::overwrite_file(path("state.json"), "new"));
  EXPECT_EQ(read(path("state.json")), "new");
  EXPECT_FALSE(sys::overwrite_file(path("missing"), "new"));
  EXPECT_FALSE(is_there(path("missing")));
}

// On a full disk somebody else would have it at once.
TEST_F(OverwriteFile, GivesNoRoomBackBeforeItIsWritten) {
  const std::string file = write("state.json", "old");
  const auto outcome = child::run([&file] {
    constexpr rlimit kNothing{.rlim_cur = 0, .rlim_max = 0};
    return ::setrlimit(RLIMIT_FSIZE, &kNothing) == 0 && !sys::overwrite_file(file, "new") ? 0 : 1;
  });
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(read(file), "old");
}

// A file system of 64 KiB of its own.
class SmallDisk : public child::Scratch {
 protected:
  void SetUp() override {
    ::mkdir(path("disk").c_str(), 0755);
    if (!mounts_.add_tmpfs(path("disk"), 0, "size=64k")) {
      GTEST_SKIP() << "mount: " << std::strerror(errno);
    }
  }

 private:
  child::OwnMounts mounts_;
};

TEST_F(SmallDisk, AFullOneLeavesTheOldFileAndNoDebris) {
  write("disk/state.json", "old");
  const auto status =
      sys::write_file_atomic(path("disk/state.json"), 0644, std::string(100'000, 'x'));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().where, path("disk/state.json"));
  EXPECT_EQ(status.error().found, "No space left on device (ENOSPC)");
  EXPECT_EQ(status.error().fix, "make room on that file system, or choose another path");
  EXPECT_EQ(read(path("disk/state.json")), "old");
  EXPECT_EQ(sys::inspect(path("disk"), true).entries, std::vector<std::string>{"state.json"});
}

TEST_F(SmallDisk, AReadOnlyOneIsNamed) {
  ASSERT_EQ(::mount("none", path("disk").c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr), 0);
  const auto status = sys::write_file_atomic(path("disk/hostfile"), 0644, "x");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().found, "Read-only file system (EROFS)");
  EXPECT_EQ(status.error().fix, "mount it writable, or choose another path");
  EXPECT_FALSE(sys::inspect(path("disk"), false).writable);
  EXPECT_TRUE(sys::make_directories(path("disk"), 0755)) << "it exists";
}

TEST_F(SmallDisk, ABindMountedFileCannotBeReplaced) {
  write("disk/file", "host's");
  write("log", "");
  ASSERT_EQ(::mount(path("disk/file").c_str(), path("log").c_str(), nullptr, MS_BIND, nullptr), 0);
  const auto status = sys::write_file_atomic(path("log"), 0644, "x");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().found, "Device or resource busy (EBUSY)");
  EXPECT_EQ(read(path("disk/file")), "host's");
}

TEST_F(SmallDisk, WhatIsMountedInATreeIsNotRemoved) {
  write("disk/dataset", "precious");
  const auto status = sys::remove_tree(path(""));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().where, path("disk"));
  EXPECT_EQ(status.error().fix, "unmount what is mounted there first");
  EXPECT_EQ(read(path("disk/dataset")), "precious");
}

TEST_F(MakeDirectories, MakesAllOfAPathWithTheMode) {
  const mode_t mask = ::umask(0077);
  EXPECT_TRUE(sys::make_directories(path("a//b/c/"), 0755));
  ::umask(mask);
  EXPECT_EQ(mode_of(path("a")), 0755U);
  EXPECT_EQ(mode_of(path("a/b/c")), 0755U);
}

TEST_F(MakeDirectories, LeavesWhatExists) {
  ::mkdir(path("a").c_str(), 0700);
  ::symlink("a", path("link").c_str());
  EXPECT_TRUE(sys::make_directories(path("link/b"), 0755));
  EXPECT_EQ(mode_of(path("a")), 0700U);
  EXPECT_TRUE(is_there(path("a/b")));
  EXPECT_TRUE(sys::make_directories("/", 0755));
}

TEST_F(MakeDirectories, SaysWhichPartIsNoDirectory) {
  write("file", "");
  const auto status = sys::make_directories(path("file/logs"), 0755);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().where, path("file/logs"));
  EXPECT_EQ(status.error().found, "Not a directory (ENOTDIR) at " + path("file"));
}

TEST_F(RemoveTree, RemovesFilesDirectoriesAndLinksButNotWhatLinksName) {
  ::mkdir(path("kept").c_str(), 0755);
  write("kept/file", "x");
  ASSERT_TRUE(sys::make_directories(path("tree/a/b"), 0755));
  write("tree/a/file", "x");
  ::symlink("../kept", path("tree/link").c_str());
  ::symlink("/nowhere", path("tree/a/dangling").c_str());
  EXPECT_TRUE(sys::remove_tree(path("tree")));
  EXPECT_FALSE(is_there(path("tree")));
  EXPECT_EQ(read(path("kept/file")), "x");
}

TEST_F(RemoveTree, OfALinkRemovesTheLink) {
  ::mkdir(path("kept").c_str(), 0755);
  ::symlink("kept", path("link").c_str());
  EXPECT_TRUE(sys::remove_tree(path("link/")));
  EXPECT_FALSE(is_there(path("link")));
  EXPECT_TRUE(is_there(path("kept")));
}

TEST_F(RemoveTree, AnAbsentPathIsFine) { EXPECT_TRUE(sys::remove_tree(path("absent"))); }

// Only where a mistake can remove nothing but the scratch directory: never outside of a chroot.
TEST_F(RemoveTree, RefusesTheRootAndWhatIsNoNameOfADirectory) {
  if (!child::is_root()) GTEST_SKIP() << "chroot needs root";
  ASSERT_TRUE(sys::make_directories(path("a/b"), 0755));
  write("a/b/file", "kept");
  const auto outcome = child::run([this] {
    if (::chdir(path("").c_str()) != 0 || ::chroot(".") != 0 || ::chdir("/a/b") != 0) return 99;
    int failed = 0;
    for (const char* name : {"", "/", "//", "/.", "/a/..", ".", "..", "./..", "/a/."}) {
      if (sys::remove_tree(name)) ++failed;
    }
    return failed;
  });
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(read(path("a/b/file")), "kept");
}

TEST_F(RemoveTree, RemovesAFile) {
  EXPECT_TRUE(sys::remove_tree(write("file", "x")));
  EXPECT_FALSE(is_there(path("file")));
}

TEST_F(RemoveTree, NeedsNoDescriptorPerLevel) {
  const auto outcome = child::run([this] {
    constexpr int kDepth = 2100;  // of two bytes each: more than a path may have
    if (::mkdir(path("deep").c_str(), 0755) != 0 || ::chdir(path("deep").c_str()) != 0) return 1;
    for (int i = 0; i < kDepth; ++i) {
      if (::mkdir("d", 0755) != 0 || ::chdir("d") != 0) return 2;
    }
    if (::chdir("/") != 0) return 3;
    const rlimit few{16, 16};
    ::setrlimit(RLIMIT_NOFILE, &few);
    return sys::remove_tree(path("deep")) ? 0 : 4;
  });
  EXPECT_EQ(outcome.code, 0);
  EXPECT_FALSE(is_there(path("deep")));
}

TEST_F(RemoveTree, NamesTheEntryThatStays) {
  ASSERT_TRUE(sys::make_directories(path("tree/locked"), 0777));
  write("tree/locked/file", "x");
  ::chmod(path("tree/locked").c_str(), 0555);
  const auto outcome = child::run([this] {
    if (child::is_root() && !child::become_nobody()) return 9;
    const auto status = sys::remove_tree(path("tree"));
    if (!status) std::fputs(to_line(status.error()).c_str(), stdout);
    return 0;
  });
  ::chmod(path("tree/locked").c_str(), 0755);
  EXPECT_EQ(outcome.out, "removing a directory tree: " + path("tree/locked/file") +
                             ": found Permission denied (EACCES); remove it by hand");
}

TEST(ErrnoText, NamesTheNumber) {
  EXPECT_EQ(sys::errno_text(ENOSPC), "No space left on device (ENOSPC)");
  EXPECT_EQ(sys::errno_text(4711), "error 4711");
}

}  // namespace
