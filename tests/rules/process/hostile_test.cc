// Surroundings at their worst: nothing writable, nothing mounted, no rights, limits that are too
// low, inputs that are too large. A job runs, or one message says why it does not.

#include <gmock/gmock.h>
#include <grp.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <filesystem>
#include <regex>

#include "tests/rules/job.h"
#include "tests/test_timeout.h"

namespace {

using rules::Instance;
using rules::joined;
using rules::Result;
using rules::Spec;
using rules::Words;
using testing::HasSubstr;
using testing::IsEmpty;

class Hostile : public rules::EitherWay {
 protected:
  void SetUp() override {
    if (!rules::may_unshare()) GTEST_SKIP() << "needs root";
  }
  // A mount namespace also for the ordinary process.
  static void own_mounts() {
    ::unshare(CLONE_NEWNS);
    ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  }
  static void limit(int resource, rlim_t value) {
    const rlimit limit{value, value};
    ::setrlimit(static_cast<__rlimit_resource>(resource), &limit);
  }
};
RULES_EITHER_WAY(Hostile);

// --- Rights and mounts ---

TEST_P(Hostile, UserWithoutAnyRightRunsAJob) {
  for (const char* name : {"run", "home", "out"})
    ASSERT_EQ(::chown(path(name).c_str(), 65534, 65534), 0);
  Spec job = spec(ranks(2, {rules::payload(), "report"}));
  job.before = [] {
    ::setgroups(0, nullptr);
    child::become_nobody();
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  };
  const Result result = rules::run(job);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("rank 0 of 2"));
}

TEST_P(Hostile, UserWhoMayNotReadTheTableIsTold) {
  Spec job = spec(ranks(2, {rules::payload(), "report"}, {"--rank-table-timeout", "1s"}));
  ASSERT_EQ(::chmod(path("table.json").c_str(), 0), 0);
  ASSERT_EQ(::chown(path("run").c_str(), 65534, 65534), 0);
  job.before = [] { child::become_nobody(); };
  const Result result = rules::run(job);
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.err, AllOf(HasSubstr(path("table.json")), HasSubstr("Permission denied")));
}

TEST_P(Hostile, WorkingDirectoryThatIsGoneOrUnreadable) {
  for (const bool gone : {true, false}) {
    const std::string directory = path(gone ? "gone" : "unreadable");
    ::mkdir(directory.c_str(), 0755);
    Spec single = spec({"--", rules::payload(), "exit", "6"});
    single.before = [&directory, gone] {
      ::chdir(directory.c_str());
      if (gone) {
        ::rmdir(directory.c_str());
      } else {
        ::chmod(directory.c_str(), 0);
        child::become_nobody();
      }
    };
    EXPECT_EQ(rules::run(single).code, 6);
  }
}

TEST_P(Hostile, ReadOnlyEverythingStillPassesThrough) {
  Spec single = spec({"--", "/bin/sh", "-c", "touch $HERE/x 2>/dev/null && exit 1; exit 6"});
  single.env = {"PATH=/usr/bin:/bin", "HERE=" + path("")};
  auto read_only = [] {
    own_mounts();
    for (const char* place : {"/run", "/tmp", "/dev/shm", "/"}) {
      ::mount(place, place, nullptr, MS_BIND | MS_REC, nullptr);
      ::mount(nullptr, place, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr);
    }
    ::chdir("/");
  };
  single.before = read_only;
  const Result result = rules::run(single);
  EXPECT_EQ(result.code, 6) << result.err;
  EXPECT_EQ(std::ranges::count(result.err, '\n'), 2) << result.err;  // no run directory; exit 6
  EXPECT_THAT(result.err, HasSubstr("no run directory"));

  Spec job = spec(ranks(2, {rules::payload(), "report"}));
  job.env = single.env;
  job.before = read_only;
  const Result refused = rules::run(job);
  EXPECT_EQ(refused.code, 125);
  EXPECT_THAT(refused.err, HasSubstr("TRAINIT_RUN_DIR"));
  EXPECT_THAT(refused.out, IsEmpty());
}

TEST_P(Hostile, NoProcRunsAndStopsAJob) {
  for (const Words& args : {Words{"--grace", "5m", "--", rules::payload(), "sleep-forever"},
                            ranks(2, {rules::payload(), "sleep-forever"}, {"--grace", "5m"})}) {
    Spec job = spec(args);
    job.before = [] {
      own_mounts();
      ::mount("tmpfs", "/proc", "tmpfs", 0, nullptr);
    };
    std::filesystem::remove(path("out/ready-0"));
    Instance instance(job);
    await_told("ready-0");
    instance.signal(SIGTERM);
    EXPECT_EQ(instance.wait(), 143);
    EXPECT_LT(instance.age_ms(), kAtOnceMs);
  }
}

TEST_P(Hostile, NoProcAndALeftoverEndsWithinTheGrace) {
  Spec job = spec(joined({"--grace", "500ms", "--"},
                         rules::shell("setsid sh -c 'trap \"echo told; exit 0\" TERM; "
                                      "echo up > $HERE/up; read x < $HERE/never' & "
                                      "read x < $HERE/up; exit 3")));
  for (const char* name : {"up", "never"}) ::mkfifo(path(name).c_str(), 0600);
  job.before = [] {
    own_mounts();
    ::mount("tmpfs", "/proc", "tmpfs", 0, nullptr);
  };
  Instance instance(job);
  EXPECT_EQ(instance.wait(), 3);
  EXPECT_LT(instance.age_ms(), kAtOnceMs);
  EXPECT_EQ(instance.out(), GetParam() ? "told\n" : "");
  // Where there was no way to find it, it lives: its end of the pipe is there to be killed by.
  const sys::Fd never(::open(path("never").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_EQ(never.valid(), !GetParam());
}

TEST_P(Hostile, NoDevRunsASingleCommand) {
  Spec single = spec({"--", rules::payload(), "exit", "6"});
  single.before = [] {
    own_mounts();
    ::mount("tmpfs", "/dev", "tmpfs", 0, nullptr);
    for (int fd = 0; fd < 3; ++fd) ::close(fd);
  };
  EXPECT_EQ(rules::run(single).code, 6);
}

// --- Limits ---

TEST_P(Hostile, FewDescriptorsAreAnErrorOrEnough) {
  for (rlim_t descriptors = 3; descriptors <= 16; ++descriptors) {
    for (const Words& args :
         {Words{"--", rules::payload(), "exit", "6"}, ranks(2, {rules::payload(), "exit", "6"})}) {
      Spec job = spec(args);
      job.before = [descriptors] {
        limit(RLIMIT_NOFILE, descriptors);
        limit(RLIMIT_CPU, 5);  // no busy loop
      };
      const Result result = rules::run(job);
      EXPECT_THAT(result.code, testing::AnyOf(6, 125)) << descriptors << result.err;
      if (result.code == 125 && descriptors > 3) {
        EXPECT_THAT(result.err, HasSubstr("EMFILE")) << descriptors;
      }
    }
  }
}

TEST_P(Hostile, ManyRanksNeedADescriptorEach) {
  Spec job = spec(ranks(16, {rules::payload(), "exit", "0"}));
  job.before = [] { limit(RLIMIT_NOFILE, 16 + 16); };
  const Result result = rules::run(job);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(std::filesystem::exists(path("run/logs/rank-15.env")));
}

TEST_P(Hostile, ProcessLimitIsAnErrorThatNamesIt) {
  const uid_t user = rules::lone_user();
  for (const char* name : {"run", "home", "out"})
    ASSERT_EQ(::chown(path(name).c_str(), user, user), 0);
  auto limited = [user](rlim_t processes) {
    return [processes, user] {
      limit(RLIMIT_NPROC, processes);
      std::ignore = ::setresgid(user, user, user);
      std::ignore = ::setresuid(user, user, user);
    };
  };
  Spec single = spec({"--", rules::payload(), "exit", "0"});
  single.before = limited(1);
  Result result = rules::run(single);
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.err, AllOf(HasSubstr("EAGAIN"), HasSubstr("RLIMIT_NPROC is 1")));

  Spec job = spec(ranks(8, {rules::payload(), "sleep-forever"}));
  job.before = limited(7);  // trainit, its tee and five ranks
  result = rules::run(job);
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("rank-5"), HasSubstr("EAGAIN"), HasSubstr("stopped because")));
}

TEST_P(Hostile, LittleAddressSpaceIsAnError) {
  // From what the kernel needs to load the program to enough: whatever fails, it ends, and not by a
  // crash.
  for (rlim_t megabytes = 6; megabytes <= 24; megabytes += 2) {
    Spec job = spec(ranks(2, {"/bin/true"}));
    job.before = [megabytes] { limit(RLIMIT_AS, megabytes << 20); };
    const Result result = rules::run(job);
    EXPECT_THAT(result.code, testing::AnyOf(0, 125, 126, 127, 1))
        << megabytes << " MB: " << result.err;
  }
}

// --- Sizes ---

TEST_P(Hostile, ArgumentsOf2MegabytesReachTheCommandOrAreAnError) {
  Words large = {"--", "/bin/sh", "-c", "echo $#", "sh"};
  for (int i = 0; i < 20; ++i) large.emplace_back(100'000, 'x');
  EXPECT_EQ(rules::run(spec(large)).out, "20\n");
  const Result several = rules::run(spec(joined(
      {"--rank-table", write("table.json", rules::rank_table(4)), "--work-dir", path("home")},
      large)));
  EXPECT_EQ(several.out, "20\n") << several.err.substr(0, 400);
  EXPECT_EQ(log_of(3), "20\n");
}

TEST_P(Hostile, ArgumentsThatJustFitForTrainitAreAnErrorForRanks) {
  // 2 MB is the limit of the kernel for all; a rank has some variables more.
  Words large = {"--rank-table", write("table.json", rules::rank_table(1)),
                 "--work-dir",   path("home"),
                 "--",           "/bin/echo"};
  std::size_t size = 0;
  for (const std::string& word : large) size += word.size() + 1 + sizeof(char*);
  for (const std::string& entry : env()) size += entry.size() + 1 + sizeof(char*);
  constexpr std::size_t kLimit = 2U << 20;
  while (size + 100'000 < kLimit - 4096) {
    large.emplace_back(100'000, 'x');
    size += 100'001 + sizeof(char*);
  }
  large.emplace_back(kLimit - 600 - size, 'x');
  const Result result = rules::run(spec(large));
  if (result.code == 99) GTEST_SKIP() << "the kernel counts otherwise";
  EXPECT_THAT(result.code, testing::AnyOf(0, 126)) << result.err.substr(0, 400);
  if (result.code == 126) {
    EXPECT_THAT(result.err, HasSubstr("arguments and environment of"));
  }
}

TEST_P(Hostile, EnvironmentOf10000EntriesReachesEachRank) {
  Spec job = spec(ranks(4, rules::shell("env | grep -c ^MANY_")));
  for (int i = 0; i < 10'000; ++i)
    job.env.push_back("MANY_" + std::to_string(i) + "=some value of it");
  Instance instance(job);
  EXPECT_EQ(instance.wait(), 0) << instance.err();
  EXPECT_EQ(instance.out(), "10000\n");
  EXPECT_EQ(log_of(3), "10000\n");
}

// --- Signals from nowhere ---

TEST_P(Hostile, StraySigchldsAreHarmless) {
  Instance instance(spec({"--", rules::payload(), "term-after", "1", "5"}));
  await_told("ready-0");
  for (int i = 0; i < 1000; ++i) instance.signal(SIGCHLD);
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 5);
}

TEST_P(Hostile, AStopAndContinueOfTrainitIsHarmless) {
  Instance instance(spec({"--", rules::payload(), "term-after", "1", "5"}));
  await_told("ready-0");
  for (int i = 0; i < 20; ++i) {
    instance.signal(SIGSTOP);
    instance.signal(SIGCONT);
  }
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 5);
}

TEST_P(Hostile, AStormOfSignalsDelaysNoEnd) {
  ::mkfifo(path("go").c_str(), 0600);
  Instance instance(
      spec({"--", "/bin/sh", "-c", "trap '' USR1; echo ready; read x < $HERE/go; exit 4"}));
  instance.await_out("ready");
  const pid_t storm = ::fork();
  if (storm == 0) {
    while (::kill(instance.pid(), SIGUSR1) == 0 && ::kill(instance.pid(), SIGCHLD) == 0) {
    }
    ::_exit(0);
  }
  std::ofstream(path("go")) << "x\n";
  EXPECT_EQ(instance.wait(), 4);
  ::kill(storm, SIGKILL);
  child::wait_for(storm);
}

// The rank's own program is what hangs or is odd; PID 1 does not care.
TEST_P(Hostile, ARankThatIsStoppedIsStillEnded) {
  Instance instance(spec(ranks(2, {rules::payload(), "sleep-forever"}, {"--grace", "400ms"})));
  await_told("ready-0");
  await_told("ready-1");
  if (!GetParam()) {
    ASSERT_EQ(::kill(std::stoi(told("ready-1")), SIGSTOP), 0);  // as PID 1's its pid is another
  }
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
}

// --- Clients ---

TEST_P(Hostile, ClientsThatSayNothingKeepNobodyFromAsking) {
  Instance instance(spec({"--hold", "1h", "--", "/bin/false"}));
  instance.await_err("first failure");
  Instance watch({.args = {"status", "--json", "--watch"}, .env = env(), .pid1 = false});
  watch.await_out("\"hold\"");
  ::mkfifo(path("connected").c_str(), 0600);
  const pid_t idle = ::fork();
  if (idle == 0) {
    limit(RLIMIT_CPU, 20);
    ::execl("/usr/bin/python3", "python3", "-c",
            "import socket,sys\n"
            "s=[socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for i in range(100)]\n"
            "[c.connect(sys.argv[1]) for c in s]\n"
            "open(sys.argv[2],'w').write('x')\n"
            "sys.stdin.read()\nimport time\ntime.sleep(60)",
            (path("run/control")).c_str(), path("connected").c_str(), nullptr);
    ::_exit(1);
  }
  EXPECT_EQ(read(path("connected")), "x");
  EXPECT_EQ(tool({"release"}).code, 0);
  EXPECT_EQ(instance.wait(), 1);
  ::kill(idle, SIGKILL);
  child::wait_for(idle);
}

}  // namespace
