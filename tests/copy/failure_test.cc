// What goes wrong with a copy: each time it says what to do, nothing partial is at the place, and
// the next run goes on.

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <set>

#include "init/sys/boot.h"
#include "tests/copy/tree.h"
#include "tests/rules/job.h"

namespace {

using rules::Instance;
using rules::Result;
using rules::Words;

constexpr int kNoNamespace = 77;

class CopyFailure : public child::Scratch {
 protected:
  [[nodiscard]] rules::Spec spec(Words args, std::function<void()> before = {}) const {
    args.insert(args.begin(), "copy");
    return {.args = std::move(args), .env = {}, .pid1 = false, .before = std::move(before)};
  }
  [[nodiscard]] Result copy(Words args, std::function<void()> before = {}) const {
    return rules::run(spec(std::move(args), std::move(before)));
  }
  void expect_same(const std::string& source, const std::string& place) const {
    EXPECT_EQ(trees::differences(trees::entries_of(source), trees::entries_of(place)), Words{});
  }
  [[nodiscard]] bool exists(const std::string& name) const {
    struct stat status{};
    return ::lstat(path(name).c_str(), &status) == 0;
  }
  // As trainit marks a state directory that it has made.
  void mark(const std::string& state) const {
    write(state + "/mark", "trainit " + state.substr(state.rfind('/') + 1) + "\n", 0600);
  }
  [[nodiscard]] bool mentions(const Result& result, const std::string& text) const {
    return result.err.find(text) != std::string::npos;
  }
};

// With a mount namespace of its own.
class CopyMount : public CopyFailure {
 protected:
  void SetUp() override {
    if (!child::is_root() || !rules::may_unshare()) GTEST_SKIP() << "mounting takes root";
    ASSERT_EQ(::mkdir(path("disk").c_str(), 0755), 0);
  }
  // `body` where "disk" is a tmpfs of this size.
  void on_disk(const std::string& size, const std::function<void()>& body) const {
    const auto outcome = child::run([&] {
      if (::unshare(CLONE_NEWNS) != 0 ||
          ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
          ::mount("tmpfs", path("disk").c_str(), "tmpfs", 0, ("size=" + size).c_str()) != 0) {
        return kNoNamespace;
      }
      body();
      return testing::Test::HasFailure() ? 1 : 0;
    });
    ASSERT_NE(outcome.code, kNoNamespace);
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  }
  void change_disk(unsigned long flags, const std::string& options) const {
    EXPECT_EQ(::mount("", path("disk").c_str(), "", MS_REMOUNT | flags, options.c_str()), 0);
  }
};

TEST_F(CopyMount, WantOfRoomIsSaidBeforeAnythingIsWritten) {
  trees::make(path("source"), 1, 60);
  ASSERT_EQ(::mkdir(path("large").c_str(), 0755), 0);
  write("large/file", std::string(3'000'000, 'x'));
  on_disk("2m", [this] {
    for (const std::string& source : {path("source"), path("large"), path("large/file")}) {
      const Result refused = copy({"--headroom", "0", source, path("disk/place")});
      EXPECT_EQ(refused.code, 1);
      EXPECT_TRUE(mentions(refused, "looking for room for a copy: ")) << refused.err;
      EXPECT_TRUE(mentions(refused, "0 B to stay free; make room there")) << refused.err;
      EXPECT_FALSE(exists("disk/place"));
      EXPECT_FALSE(exists("disk/.trainit-copy.place/tree"));
      EXPECT_FALSE(exists("disk/.trainit-copy.place/filling"));
    }
    change_disk(0, "size=16m,nr_inodes=40");
    const Result refused = copy({"--headroom", "0", path("source"), path("disk/place")});
    EXPECT_EQ(refused.code, 1);
    EXPECT_TRUE(mentions(refused, "free inodes for ")) << refused.err;
    EXPECT_EQ(copy({"--headroom", "0", path("large"), path("disk/place")}).code, 0);
  });
}

// What a run that was killed has written is not needed again.
TEST_F(CopyMount, UnfinishedCopyCountsAsRoom) {
  ASSERT_EQ(::mkdir(path("source").c_str(), 0755), 0);
  write("source/file", std::string(3'000'000, 'x'));
  on_disk("5m", [this] {
    ASSERT_TRUE(sys::make_directories(path("disk/.trainit-copy.place/tree"), 0755));
    ASSERT_TRUE(sys::make_directories(path("disk/.trainit-copy.place/filling"), 0755));
    mark("disk/.trainit-copy.place");
    write("disk/.trainit-copy.place/tree/file", std::string(3'000'000, 'x'));
    const Result done = copy({"--headroom", "0", path("source"), path("disk/place")});
    EXPECT_EQ(done.code, 0) << done.err;
  });
}

// The file system does not say what it has, or somebody else was faster.
TEST_F(CopyMount, DiskThatBecomesFullIsLeftAsItWas) {
  trees::make(path("source"), 1, 60);
  on_disk("1500k", [this] {
    const Result full = copy({"--headroom", "0%", path("source"), path("disk/place")},
                             [] { rules::refuse_calls({SYS_statfs}, ENOSYS); });
    EXPECT_EQ(full.code, 1);
    EXPECT_TRUE(mentions(full, "No space left on device")) << full.err;
    EXPECT_TRUE(mentions(full, "what was copied is removed")) << full.err;
    EXPECT_FALSE(exists("disk/place"));
    EXPECT_FALSE(exists("disk/.trainit-copy.place/tree"));
    EXPECT_FALSE(exists("disk/.trainit-copy.place/filling"));
    change_disk(0, "size=16m");
    EXPECT_EQ(copy({"--headroom", "0%", path("source"), path("disk/place")}).code, 0);
    expect_same(path("source"), path("disk/place"));
  });
}

TEST_F(CopyMount, CopyOnADiskThatIsFullByNowIsFound) {
  trees::make(path("source"), 1, 10);
  on_disk("16m", [this] {
    EXPECT_EQ(copy({"--headroom", "0", path("source"), path("disk/place")}).code, 0);
    sys::Fd rest(::open(path("disk/rest").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    const std::string page(4096, 'x');
    while (::write(rest.get(), page.data(), page.size()) > 0) {
    }
    for (const bool killed : {false, true}) {
      if (killed) change_disk(0, "size=17m");
      if (killed) write("disk/.trainit-copy.place/claim", sys::boot_id() + " 1 1\n");
      while (::write(rest.get(), page.data(), page.size()) > 0) {
      }
      const Result found = copy({"--headroom", "0", path("source"), path("disk/place")});
      EXPECT_EQ(found.code, 0) << found.err;
      EXPECT_NE(found.out.find("unchanged"), std::string::npos) << found.out;
    }
  });
}

// With boot ids of their own, and locks that nobody else sees.
TEST_F(CopyMount, MachinesThatShareAPlaceCopyOneAfterTheOther) {
  constexpr int kMachines = 4;
  constexpr int kRounds = 3;
  trees::make(path("source-0"), 1, 60);
  trees::make(path("source-1"), 2, 60);
  const Words wanted = {testing::PrintToString(trees::entries_of(path("source-0"))),
                        testing::PrintToString(trees::entries_of(path("source-1")))};
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::unique_ptr<Instance>> machines;
    for (int machine = 0; machine < kMachines; ++machine) {
      const std::string boot =
          write("boot-" + std::to_string(machine),
                "00000000-0000-0000-0000-00000000000" + std::to_string(machine) + "\n");
      machines.push_back(std::make_unique<Instance>(spec(
          {"--headroom", "0", path("source-" + std::to_string(machine % 2)), path("disk/place")},
          [boot] {
            if (::unshare(CLONE_NEWNS) != 0 ||
                ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
                ::mount(boot.c_str(), "/proc/sys/kernel/random/boot_id", nullptr, MS_BIND,
                        nullptr) != 0) {
              ::_exit(kNoNamespace);
            }
            rules::refuse_calls({SYS_flock}, 0);  // it says that it has done it
          })));
    }
    for (const auto& machine : machines) EXPECT_EQ(machine->wait(), 0) << machine->err();
    const std::string got = testing::PrintToString(trees::entries_of(path("disk/place")));
    EXPECT_TRUE(got == wanted[0] || got == wanted[1]);
    for (const char* left : {"claim", "tree", "filling", "old"}) {
      EXPECT_FALSE(exists(std::string("disk/.trainit-copy.place/") + left)) << left;
    }
  }
}

TEST_F(CopyMount, HeadroomIsKept) {
  trees::make(path("source"), 1, 60);
  on_disk("8m", [this] {
    const Result refused = copy({"--headroom", "7m", path("source"), path("disk/place")});
    EXPECT_EQ(refused.code, 1);
    EXPECT_TRUE(mentions(refused, "room")) << refused.err;
    EXPECT_FALSE(exists("disk/place"));
    EXPECT_EQ(copy({"--headroom", "1m", path("source"), path("disk/place")}).code, 0);
  });
}

TEST_F(CopyMount, VerifyingOnATmpfsSaysWhatItProves) {
  trees::make(path("source"), 1, 10);
  on_disk("64m", [this] {
    const Result done = copy({"--verify", path("source"), path("disk/place")});
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_TRUE(mentions(done, "what was verified may have been in memory only")) << done.err;
  });
}

TEST_F(CopyMount, ReadOnlyTargetIsSaid) {
  trees::make(path("source"), 1, 10);
  on_disk("8m", [this] {
    change_disk(MS_RDONLY, "");
    const Result refused = copy({path("source"), path("disk/place")});
    EXPECT_EQ(refused.code, 1);
    EXPECT_TRUE(mentions(refused, "Read-only file system")) << refused.err;
  });
}

TEST_F(CopyMount, MountPointGetsAVersionAndALink) {
  trees::make(path("source"), 1, 10);
  trees::make(path("other"), 2, 10);
  on_disk("64m", [this] {
    const Result first = copy({path("source"), path("disk")});
    EXPECT_EQ(first.code, 0) << first.err;
    EXPECT_NE(first.out.find("disk/current, versioned"), std::string::npos) << first.out;
    expect_same(path("source"), path("disk/current/"));
    EXPECT_EQ(copy({path("other"), path("disk")}).code, 0);
    expect_same(path("other"), path("disk/current/"));
    const Result third = copy({path("other"), path("disk")});
    EXPECT_NE(third.out.find("unchanged"), std::string::npos) << third.out;
  });
}

// A file system whose server never answers, until it is gone.
class CopyHang : public CopyMount {
 protected:
  void on_hanging_source(const std::function<void(sys::Fd& server)>& body) {
    trees::make(path("source"), 1, 10);
    ASSERT_EQ(::mkdir(path("source/hang").c_str(), 0755), 0);
    if (::access("/dev/fuse", R_OK | W_OK) != 0) GTEST_SKIP() << "no /dev/fuse";
    on_disk("64m", [&] {
      sys::Fd server(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
      const std::string options =
          "fd=" + std::to_string(server.get()) + ",rootmode=40000,user_id=0,group_id=0";
      if (::mount("none", path("source/hang").c_str(), "fuse", 0, options.c_str()) != 0) {
        std::printf("no FUSE here: nothing tested\n");
        return;
      }
      body(server);
      ::umount2(path("source/hang").c_str(), MNT_DETACH);
    });
  }
};

// What these descriptors of a process lead to; all of its descriptors where none are named.
std::set<std::string> open_files(pid_t process, const std::vector<int>& only = {}) {
  std::set<std::string> files;
  const std::string directory = "/proc/" + std::to_string(process) + "/fd/";
  const sys::Dir opened(::opendir(directory.c_str()));
  if (!opened) return files;
  while (const dirent* entry = ::readdir(opened.get())) {
    const std::string name = entry->d_name;
    const bool asked = only.empty() || std::ranges::any_of(only, [&name](int number) {
                         return std::to_string(number) == name;
                       });
    std::array<char, 256> target{};
    if (asked && ::readlink((directory + name).c_str(), target.data(), target.size() - 1) > 0) {
      files.insert(target.data());
    }
  }
  return files;
}

// One that hangs in the kernel stays when the copy has ended: whoever reads what that says must not
// wait for it.
TEST_F(CopyHang, WhoeverTouchesTheSourceHoldsNothingOfTheCaller) {
  on_hanging_source([this](sys::Fd&) {
    for (const char* source : {"source", "source/hang"}) {
      constexpr int kPassedIn = 77;
      const sys::Fd passed_in(::open(path("source/version").c_str(), O_RDONLY | O_CLOEXEC));
      Instance copying(spec({path(source), path("disk/place")},
                            [&passed_in] { ::dup2(passed_in.get(), kPassedIn); }));
      bool free = false;
      TestTimeout timeout;
      while (!free && copying.alive() && timeout.is_left()) {
        const std::set<std::string> callers = open_files(copying.pid(), {1, 2, kPassedIn});
        const std::vector<pid_t> processes = rules::children_of(copying.pid());
        free = callers.size() == 3 && !processes.empty();
        for (const pid_t process : processes) {
          for (const std::string& file : open_files(process))
            free = free && !callers.contains(file);
        }
        if (!free) ::poll(nullptr, 0, 10);
      }
      EXPECT_TRUE(free) << source;
      copying.signal(SIGTERM);
      EXPECT_EQ(copying.wait(), 128 + SIGTERM);
    }
  });
}

// No process of it is left.
bool all_gone(const std::vector<pid_t>& processes) {
  TestTimeout timeout;
  while (timeout.is_left()) {
    bool gone = true;
    for (const pid_t process : processes) gone = gone && ::kill(process, 0) != 0;
    if (gone) return true;
    ::poll(nullptr, 0, 10);
  }
  return false;
}

TEST_F(CopyHang, StopSignalEndsAllAtOnce) {
  on_hanging_source([this](sys::Fd&) {
    Instance copying(spec({path("source"), path("disk/place")}));
    while (rules::children_of(copying.pid()).empty() && copying.alive()) {
    }
    std::vector<pid_t> processes = rules::children_of(copying.pid());
    copying.signal(SIGTERM);
    EXPECT_EQ(copying.wait(), 128 + SIGTERM);
    EXPECT_TRUE(copying.await_err("run it again")) << copying.err();
    EXPECT_TRUE(all_gone(processes));
    EXPECT_FALSE(exists("disk/place"));
  });
}

TEST_F(CopyHang, TimeOutEndsIt) {
  on_hanging_source([this](sys::Fd&) {
    const Result late = copy({"--timeout", "300ms", path("source"), path("disk/place")});
    EXPECT_EQ(late.code, 69) << late.err;
    EXPECT_FALSE(exists("disk/place"));
    const Result root = copy({"--timeout", "300ms", path("source/hang"), path("disk/place")});
    EXPECT_EQ(root.code, 69) << root.err;
  });
}

TEST_F(CopyHang, SourceThatVanishesIsSaid) {
  on_hanging_source([this](sys::Fd& server) {
    Instance copying(spec({path("source"), path("disk/place")}));
    while (rules::children_of(copying.pid()).empty() && copying.alive()) {
    }
    server.reset();
    EXPECT_EQ(copying.wait(), 1);
    EXPECT_NE(copying.err().find("hang"), std::string::npos) << copying.err();
    EXPECT_FALSE(exists("disk/place"));
  });
}

TEST_F(CopyFailure, FileThatMayNotBeReadIsNamed) {
  ASSERT_EQ(::mkdir(path("source").c_str(), 0755), 0);
  write("source/plain", "x");
  write("source/secret", "x", 0);
  ASSERT_EQ(::mkdir(path("open").c_str(), 0777), 0);
  ASSERT_EQ(::chmod(path("open").c_str(), 0777), 0);
  const Result refused = copy({path("source"), path("open/place")}, [] {
    if (child::is_root() && !child::become_nobody()) ::_exit(2);
  });
  EXPECT_EQ(refused.code, 1);
  EXPECT_TRUE(mentions(refused, "secret")) << refused.err;
  EXPECT_TRUE(mentions(refused, "Permission denied")) << refused.err;
  EXPECT_FALSE(exists("open/place"));
}

TEST_F(CopyFailure, ParentThatMayNotBeWrittenIsNamed) {
  trees::make(path("source"), 1, 10);
  ASSERT_EQ(::mkdir(path("closed").c_str(), 0555), 0);
  ASSERT_EQ(::chmod(path("closed").c_str(), 0555), 0);
  const Result refused = copy({path("source"), path("closed/place")}, [] {
    if (child::is_root() && !child::become_nobody()) ::_exit(2);
  });
  EXPECT_EQ(refused.code, 1);
  EXPECT_TRUE(mentions(refused, "closed")) << refused.err;
}

// Across file systems, on old kernels, below filters, and where it stops in between.
TEST_F(CopyFailure, BytesThatTheKernelDoesNotMoveByItselfAreMovedAllTheSame) {
  ASSERT_EQ(::mkdir(path("source").c_str(), 0755), 0);
  constexpr std::size_t kSize = 3'000'001;
  write("source/large", std::string(kSize, 'x'));
  for (const int error : {EXDEV, ENOSYS, EPERM, EINVAL, EOPNOTSUPP, EIO}) {
    const std::string place = path("place-" + std::to_string(error));
    const Result done = copy({path("source"), place},
                             [error] { rules::refuse_calls({SYS_copy_file_range}, error); });
    EXPECT_EQ(done.code, 0) << done.err;
    expect_same(path("source"), place);
  }
}

// A project's quota; the machine that tests need not have one.
TEST_F(CopyFailure, QuotaIsSaid) {
  trees::make(path("source"), 1, 10);
  const Result refused =
      copy({path("source"), path("place")}, [] { rules::refuse_calls({SYS_mkdirat}, EDQUOT); });
  EXPECT_EQ(refused.code, 1);
  EXPECT_TRUE(mentions(refused, "quota")) << refused.err;
  EXPECT_FALSE(exists("place"));
  EXPECT_FALSE(exists(".trainit-copy.place/tree"));
}

TEST_F(CopyFailure, DurableCopyThatDoesNotComeToTheDiskIsNotPublished) {
  trees::make(path("source"), 1, 10);
  for (const long call : {SYS_syncfs, SYS_fsync}) {
    const Result refused = copy({"--durable", path("source"), path("place")},
                                [call] { rules::refuse_calls({call}, EIO); });
    EXPECT_EQ(refused.code, 1);
    EXPECT_TRUE(mentions(refused, "Input/output error")) << refused.err;
    EXPECT_FALSE(exists("place"));
  }
  EXPECT_EQ(copy({path("source"), path("place")},
                 [] { rules::refuse_calls({SYS_syncfs, SYS_fsync}, EIO); })
                .code,
            0);
}

// Bytes that are verified come to the disk first, and are read from there.
TEST_F(CopyFailure, DiskThatTakesNothingIsNotVerified) {
  trees::make(path("source"), 1, 10);
  const auto broken = [] {
    rules::refuse_calls({SYS_sync_file_range, SYS_fdatasync, SYS_fsync}, EIO);
  };
  const Result refused = copy({"--verify", path("source"), path("place")}, broken);
  EXPECT_EQ(refused.code, 1);
  EXPECT_TRUE(mentions(refused, "Input/output error")) << refused.err;
  EXPECT_FALSE(exists("place"));
  EXPECT_EQ(copy({path("source"), path("place")}, broken).code, 0);
}

TEST_F(CopyFailure, VerifyingWhatIsInMemoryIsSaid) {
  trees::make(path("source"), 1, 10);
  const auto verify = [this](const std::string& place, int error) {
    return copy({"--verify", path("source"), path(place)}, [error] {
      if (error != 0) rules::refuse_calls({SYS_fadvise64, SYS_sync_file_range}, error);
    });
  };
  const Result plain = verify("plain", 0);
  EXPECT_EQ(plain.code, 0) << plain.err;
  const Result kept = verify("kept", ENOSYS);
  EXPECT_EQ(kept.code, 0) << kept.err;
  EXPECT_TRUE(mentions(kept, "what was verified may have been in memory only")) << kept.err;
  // One that is found is read from the disk, too.
  const Result found = verify("plain", ENOSYS);
  EXPECT_NE(found.out.find("unchanged"), std::string::npos) << found.out;
  EXPECT_TRUE(mentions(found, "what was verified may have been in memory only")) << found.err;
}

TEST_F(CopyFailure, DirectoryInThePlaceOfAStateFileIsNamed) {
  trees::make(path("source"), 1, 10);
  for (const char* name : {"lock", "journal", "record.json", "manifest", "progress"}) {
    const std::string state = ".trainit-copy." + std::string(name);
    ASSERT_TRUE(sys::make_directories(path(state + "/" + name), 0755));
    mark(state);
    const Result refused = copy({path("source"), path(name)});
    EXPECT_EQ(refused.code, 1) << name;
    EXPECT_TRUE(mentions(refused, path(state + "/" + name) + ": found ")) << refused.err;
    EXPECT_TRUE(mentions(refused, "; remove it\n")) << refused.err;
    EXPECT_FALSE(exists(name));
  }
}

TEST_F(CopyFailure, FifoInThePlaceOfAStateFileIsNamedAndNotWaitedFor) {
  trees::make(path("source"), 1, 10);
  for (const char* name : {"journal", "record.json", "manifest", "progress"}) {
    const std::string state = ".trainit-copy." + std::string(name);
    ASSERT_EQ(copy({path("source"), path(name)}).code, 0);
    ASSERT_EQ(::unlink(path(state + "/" + name).c_str()), 0);
    ASSERT_EQ(::mkfifo(path(state + "/" + name).c_str(), 0600), 0);
    const Result refused = copy({path("source"), path(name)});
    EXPECT_EQ(refused.code, 1) << name;
    EXPECT_TRUE(mentions(refused, path(state + "/" + name) + ": found no regular file"))
        << refused.err;
    expect_same(path("source"), path(name));
  }
}

TEST_F(CopyFailure, SpecialFileIsRefusedByName) {
  trees::make(path("source"), 1, 10);
  ASSERT_EQ(::mkfifo(path("source/part-0/pipe").c_str(), 0644), 0);
  const Result refused = copy({path("source"), path("place")});
  EXPECT_EQ(refused.code, 1);
  EXPECT_TRUE(mentions(refused, "part-0/pipe")) << refused.err;
  EXPECT_FALSE(exists("place"));
}

}  // namespace
