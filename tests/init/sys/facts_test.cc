#include "init/sys/facts.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>

#include "init/proc/spawn.h"
#include "init/sys/cgroup.h"
#include "tests/init/child.h"

namespace {

class RunDirectory : public child::Scratch {
 protected:
  [[nodiscard]] base::Environ given(const std::string& name) const {
    return base::Environ({"TRAINIT_RUN_DIR=" + path(name)});
  }
};

mode_t mode_of(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

TEST(Facts, AreThoseOfThisProcess) {
  const envgen::Facts facts = sys::gather_facts();
  std::array<char, 4096> cwd{};
  std::array<char, 256> host{};
  ASSERT_NE(::getcwd(cwd.data(), cwd.size()), nullptr);
  ASSERT_EQ(::gethostname(host.data(), host.size()), 0);
  EXPECT_EQ(facts.cwd, cwd.data());
  EXPECT_EQ(facts.host_name, host.data());
  EXPECT_EQ(facts.uid, ::geteuid());
  EXPECT_EQ(facts.gid, ::getegid());
  EXPECT_EQ(facts.run_dir, "");
  EXPECT_EQ(facts.program, std::filesystem::read_symlink("/proc/self/exe").string());
}

TEST(Facts, ADeletedDirectoryHasNoName) {
  const auto outcome = child::run([] {
    std::array<char, 40> name = {"/tmp/trainit-cwd-XXXXXX"};
    if (::mkdtemp(name.data()) == nullptr || ::chdir(name.data()) != 0) return 2;
    ::rmdir(name.data());
    return sys::gather_facts().cwd.empty() ? 0 : 1;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST(Facts, CountsTheCpusThatAreAllowed) {
  const auto outcome = child::run([] {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return 2;
    const std::uint64_t quota = sys::cpu_quota();
    const auto whole =
        quota == 0 ? CPU_COUNT(&set) : std::max<int>(static_cast<int>(quota) / 100, 1);
    if (sys::gather_facts().cpus != static_cast<unsigned>(std::min(CPU_COUNT(&set), whole)))
      return 1;
    int first = 0;
    while (!CPU_ISSET(first, &set)) ++first;
    CPU_ZERO(&set);
    CPU_SET(first, &set);
    if (::sched_setaffinity(0, sizeof set, &set) != 0) return 2;
    const envgen::Facts facts = sys::gather_facts();
    return facts.cpus == 1 && facts.cpu_list == std::to_string(first) ? 0 : 1;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST(Facts, AddressesAreThoseThatOtherNodesCanUse) {
  for (const std::string& address : sys::gather_facts().addresses) {
    std::array<unsigned char, 16> bytes{};
    const bool v4 = ::inet_pton(AF_INET, address.c_str(), bytes.data()) == 1;
    const bool v6 = ::inet_pton(AF_INET6, address.c_str(), bytes.data()) == 1;
    EXPECT_TRUE(v4 || v6) << address;
    EXPECT_FALSE(address.starts_with("127.")) << address;
    EXPECT_FALSE(address.starts_with("169.254.")) << address;
    EXPECT_FALSE(address.starts_with("fe80:")) << address;
    EXPECT_NE(address, "::1");
  }
}

TEST_F(RunDirectory, IsMadeForItsOwnerAlone) {
  const sys::RunDir run_dir = sys::open_run_dir(given("some/run"));
  EXPECT_EQ(run_dir.path, path("some/run"));
  EXPECT_TRUE(run_dir.lock.valid());
  EXPECT_EQ(run_dir.note, "");
  EXPECT_EQ(mode_of(path("some/run")), 0700U);
  EXPECT_EQ(mode_of(path("some/run/lock")), 0600U);
}

TEST_F(RunDirectory, HasOneOwnerAtATime) {
  sys::RunDir first = sys::open_run_dir(given("run"));
  EXPECT_TRUE(sys::run_dir_in_use(path("run")));
  EXPECT_FALSE(first.second);
  const sys::RunDir second = sys::open_run_dir(given("run"));
  EXPECT_EQ(second.path, path("run/2"));
  EXPECT_TRUE(second.lock.valid());
  EXPECT_TRUE(second.second);
  EXPECT_EQ(second.note,
            path("run") + " is in use by another trainit, so this one uses " + path("run/2"));
  EXPECT_EQ(mode_of(path("run/2")), 0700U);
  EXPECT_EQ(sys::open_run_dir(given("run")).path, path("run/3"));
  EXPECT_EQ(sys::open_run_dir(given("run")).path, path("run/3")) << "the last one is free again";
  EXPECT_EQ(sys::run_dirs_in_use(given("run")), (std::vector{path("run"), path("run/2")}));
  first.lock.reset();
  EXPECT_FALSE(sys::run_dir_in_use(path("run")));
  EXPECT_EQ(sys::run_dirs_in_use(given("run")), std::vector{path("run/2")});
  EXPECT_EQ(sys::open_run_dir(given("run")).path, path("run"));
}

TEST_F(RunDirectory, BelowOneInUseIsNoLinkAndNoFile) {
  const sys::RunDir first = sys::open_run_dir(given("run"));
  std::filesystem::create_symlink(path("."), path("run/2"));
  const sys::RunDir second = sys::open_run_dir(given("run"));
  EXPECT_EQ(second.path, path("run/3"));
  EXPECT_TRUE(second.lock.valid());
}

TEST_F(RunDirectory, IsFreedByTheDeathOfItsOwner) {
  child::Pipe held = child::make_pipe();
  child::Pipe end = child::make_pipe();
  const pid_t owner = ::fork();
  if (owner == 0) {
    end.in.reset();
    const sys::RunDir run_dir = sys::open_run_dir(given("run"));
    child::say(held.in.get(), run_dir.lock.valid() ? "y" : "n");
    child::read_to_end(end.out.get());
    ::_exit(0);
  }
  held.in.reset();
  end.out.reset();
  char answer = 0;
  ASSERT_EQ(::read(held.out.get(), &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  EXPECT_TRUE(sys::run_dir_in_use(path("run")));
  ::kill(owner, SIGKILL);
  child::wait_for(owner);
  EXPECT_FALSE(sys::run_dir_in_use(path("run")));
}

TEST_F(RunDirectory, ChildrenThatLiveOnDoNotHoldIt) {
  const auto outcome = child::run([this] {
    const proc::SavedSignals saved = proc::take_over_signals();
    sys::RunDir run_dir = sys::open_run_dir(given("run"));
    child::Pipe end = child::make_pipe();
    child::Pipe ready = child::make_pipe();
    ::dup2(end.out.get(), STDIN_FILENO);
    proc::SpawnSpec cat;
    cat.argv = {"/bin/cat"};
    const auto task = proc::spawn(cat, saved);
    if (!task) return 10;
    proc::StartFailure failure;
    pollfd started{task->start_pipe.get(), POLLIN, 0};
    ::poll(&started, 1, -1);
    if (proc::read_start(task->start_pipe, &failure) != proc::StartState::kRunning) return 11;
    const auto worker = proc::fork_worker(saved, ready.in.get(), [&ready] {
      child::say(ready.in.get(), "r");
      char byte = 0;
      return static_cast<int>(::read(STDIN_FILENO, &byte, 1));
    });
    char byte = 0;
    if (!worker || ::read(ready.out.get(), &byte, 1) != 1) return 12;
    run_dir.lock.reset();
    const bool free = !sys::run_dir_in_use(path("run"));
    ::kill(task->pid, SIGKILL);
    ::kill(*worker, SIGKILL);
    child::wait_for(task->pid);
    child::wait_for(*worker);
    return free ? 0 : 1;
  });
  EXPECT_EQ(outcome.code, 0);
}

TEST_F(RunDirectory, ALinkInPlaceOfTheLockIsRefused) {
  ::mkdir(path("run").c_str(), 0700);
  write("victim", "x");
  ::symlink("../victim", path("run/lock").c_str());
  const sys::RunDir run_dir = sys::open_run_dir(given("run"));
  EXPECT_EQ(run_dir.path, "");
  EXPECT_NE(run_dir.note.find("ELOOP"), std::string::npos) << run_dir.note;
}

TEST_F(RunDirectory, AnUnusableOneIsNotReplacedByAnother) {
  write("file", "");
  const sys::RunDir run_dir = sys::open_run_dir(given("file"));
  EXPECT_EQ(run_dir.path, "");
  EXPECT_FALSE(run_dir.lock.valid());
  EXPECT_EQ(run_dir.note, path("file") + ": Not a directory (ENOTDIR)");
  EXPECT_EQ(sys::find_run_dir(given("file")), "");
}

TEST_F(RunDirectory, AnOpenVolumeIsTakenWhenItWasNamed) {
  ::mkdir(path("volume").c_str(), 0700);
  ::chmod(path("volume").c_str(), 0777);
  EXPECT_TRUE(sys::open_run_dir(given("volume")).lock.valid());
}

TEST_F(RunDirectory, IsFoundWithoutBeingMade) {
  EXPECT_EQ(sys::find_run_dir(given("some/run")), path("some/run"));
  EXPECT_EQ(mode_of(path("some")), 0U);
  const sys::RunDir run_dir = sys::open_run_dir(given("some/run"));
  EXPECT_EQ(sys::find_run_dir(given("some/run")), path("some/run"));
}

// A user of its own. Its candidates have fixed names: one test of the machine has them at a time.
class OwnUser : public testing::Test {
 protected:
  static constexpr unsigned kUid = 64'321;
  const std::string in_tmp = "/tmp/trainit-64321";
  const std::string in_memory = "/dev/shm/trainit-64321";

  void SetUp() override {
    if (!child::is_root()) GTEST_SKIP() << "changing the user needs root";
    if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "no /dev/shm";
    turn_.reset(::open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_EQ(::flock(turn_.get(), LOCK_EX), 0);
    clean();
  }
  void TearDown() override {
    if (turn_.valid()) clean();
  }
  void clean() const {
    EXPECT_TRUE(sys::remove_tree(in_tmp));
    EXPECT_TRUE(sys::remove_tree(in_memory));
  }

  static std::string opened() {
    return child::run([] {
             if (::setgid(kUid) != 0 || ::setuid(kUid) != 0) return 1;
             const sys::RunDir run_dir = sys::open_run_dir(base::Environ());
             const std::string found = sys::find_run_dir(base::Environ());
             std::printf("%s%s\n%s", run_dir.path.c_str(), found == run_dir.path ? "" : " (!)",
                         run_dir.note.c_str());
             return 0;
           })
        .out;
  }

 private:
  sys::Fd turn_;
};

TEST_F(OwnUser, TakesTmpWhereRunIsNotWritable) {
  EXPECT_TRUE(opened().starts_with(in_tmp + "\n/run/trainit")) << opened();
}

TEST_F(OwnUser, PassesOverADirectoryOfSomebodyElse) {
  ASSERT_EQ(::mkdir(in_tmp.c_str(), 0777), 0);
  const std::string text = opened();
  EXPECT_TRUE(text.starts_with(in_memory + "\n")) << text;
  EXPECT_NE(text.find(in_tmp + " belongs to uid 0"), std::string::npos) << text;
}

TEST_F(OwnUser, PassesOverADirectoryThatOthersMayWrite) {
  ASSERT_EQ(::mkdir(in_tmp.c_str(), 0700), 0);
  ASSERT_EQ(::chown(in_tmp.c_str(), kUid, kUid), 0);
  ASSERT_EQ(::chmod(in_tmp.c_str(), 0770), 0);
  const std::string text = opened();
  EXPECT_TRUE(text.starts_with(in_memory + "\n")) << text;
  EXPECT_NE(text.find(in_tmp + " is writable for others"), std::string::npos) << text;
}

TEST_F(OwnUser, PassesOverALink) {
  ASSERT_EQ(::symlink("/var/tmp", in_tmp.c_str()), 0);
  const std::string text = opened();
  EXPECT_TRUE(text.starts_with(in_memory + "\n")) << text;
}

TEST_F(OwnUser, ReadersFindTheOneInUse) {
  const auto outcome = child::run([this] {
    if (::setgid(kUid) != 0 || ::setuid(kUid) != 0) return 1;
    if (::mkdir(in_memory.c_str(), 0700) != 0) return 2;
    const sys::Fd lock(::open((in_memory + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return 3;
    return sys::find_run_dir(base::Environ()) == in_memory ? 0 : 4;
  });
  EXPECT_EQ(outcome.code, 0);
}

}  // namespace
