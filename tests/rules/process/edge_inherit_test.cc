// What a program has from its caller is what it has below trainit: everything that exec keeps, but
// for its process group. And what trainit keeps for itself: nothing.

#include <gmock/gmock.h>
#include <grp.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <limits>

#include "tests/rules/job.h"

namespace {

using rules::Instance;
using rules::joined;
using rules::Result;
using rules::Spec;
using rules::Words;
using testing::HasSubstr;

class Inherits : public rules::EitherWay {
 protected:
  // The same program without trainit.
  [[nodiscard]] Spec plain(const Words& command, const std::function<void()>& before) const {
    return {.args = command,
            .env = env(),
            .pid1 = GetParam(),
            .before = before,
            .program = command.front()};
  }
};
RULES_EITHER_WAY(Inherits);

// Of /proc/self/status all but what belongs to the one process; of stat the terminal, priority,
// niceness, real-time priority and policy.
const Words kShowAll = rules::shell(
    "grep -vE '^(Name|State|Tgid|Ngid|Pid|PPid|TracerPid|FDSize|NS.*|Vm.*|Rss.*|HugetlbPages|"
    "Threads|SigQ|.*ctxt_switches):' /proc/self/status\n"
    "cat /proc/self/limits /proc/self/oom_score_adj /proc/self/cgroup /proc/self/timerslack_ns "
    "/proc/self/personality /proc/self/coredump_filter\n"
    "cut -d' ' -f7,18,19,40,41 /proc/self/stat; readlink /proc/self/root; umask");

void be_odd() {
  const sched_param batch{};
  const rlimit files{77, 99};
  const rlimit no_core{0, 1U << 20};
  const rlimit stack{4U << 20, 16U << 20};
  cpu_set_t first{};
  CPU_SET(0, &first);
  ::umask(013);
  ::setpriority(PRIO_PROCESS, 0, 7);
  ::sched_setscheduler(0, SCHED_BATCH, &batch);
  ::sched_setaffinity(0, sizeof first, &first);
  ::setrlimit(RLIMIT_NOFILE, &files);
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::setrlimit(RLIMIT_STACK, &stack);
  ::personality(ADDR_NO_RANDOMIZE);
  ::prctl(PR_SET_TIMERSLACK, 123'456);
  std::ofstream("/proc/self/oom_score_adj") << "321";
  std::ofstream("/proc/self/coredump_filter") << "0x7";
}

TEST_P(Inherits, EverythingThatExecKeeps) {
  const std::string wanted = rules::run(plain(kShowAll, be_odd)).out;
  ASSERT_THAT(wanted, AllOf(HasSubstr("\n321\n"), HasSubstr("123456"), HasSubstr("00000007")));
  Spec single = spec(joined({"--"}, kShowAll));
  single.before = be_odd;
  EXPECT_EQ(rules::run(single).out, wanted);
}

TEST_P(Inherits, EverythingThatExecKeepsAlsoAsOneOfSeveralRanks) {
  const std::string wanted = rules::run(plain(kShowAll, be_odd)).out;
  Spec several = spec(ranks(2, kShowAll));
  several.before = be_odd;
  EXPECT_EQ(rules::run(several).out, wanted);
  EXPECT_EQ(log_of(1), wanted);
}

TEST_P(Inherits, UserGroupsAndCapabilitiesOfACallerWithFew) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  for (const char* name : {"run", "home", "out"})
    ASSERT_EQ(::chown(path(name).c_str(), 64997, 64998), 0);
  const auto few = [] {
    constexpr std::array<gid_t, 2> kGroups{4242, 4243};
    ::setgroups(kGroups.size(), kGroups.data());
    for (int capability = 1; capability < 40; ++capability) {
      ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    }
    std::ignore = ::setresgid(64998, 64998, 64998);
    std::ignore = ::setresuid(64997, 64997, 64997);
  };
  const std::string wanted = rules::run(plain(kShowAll, few)).out;
  ASSERT_THAT(wanted, HasSubstr("Groups:\t4242 4243"));
  Spec single = spec(joined({"--"}, kShowAll));
  single.before = few;
  EXPECT_EQ(rules::run(single).out, wanted);
}

// --- The working directory ---

// A mount must not be busy for as long as the container lives because PID 1 started there.
TEST_P(Inherits, TheDirectoryWhichTrainitItselfLeaves) {
  Spec single = spec({"--", "/bin/sh", "-c", "pwd; exec " + rules::payload() + " sleep-forever"});
  single.before = [this] { ::chdir(path("home").c_str()); };
  Instance instance(single);
  await_told("ready-0");
  instance.await_out(path("home") + "\n");
  const std::string link = "/proc/" + std::to_string(instance.pid()) + "/cwd";
  TestTimeout timeout;
  while (std::filesystem::read_symlink(link) != "/") {
    ASSERT_TRUE(instance.alive());
    ASSERT_TRUE(timeout.is_left()) << "it stays in " << std::filesystem::read_symlink(link);
  }
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
}

// --- Descriptors and variables ---

// 1,048,576 descriptors closed one by one take more than 100 ms of the processor.
TEST_P(Inherits, AHugeLimitOfDescriptorsCostsNothingWithoutCloseRange) {
  const auto cpu_ms = [this](rlim_t descriptors) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (int round = 0; round < 5; ++round) {
      rusage before{};
      rusage after{};
      ::getrusage(RUSAGE_CHILDREN, &before);
      Spec job = spec(ranks(2, {rules::payload(), "exit", "6"}));
      job.before = [descriptors] {
        const rlimit limit{descriptors, descriptors};
        ::setrlimit(RLIMIT_NOFILE, &limit);
        rules::refuse_calls({SYS_close_range}, ENOSYS);
      };
      EXPECT_EQ(rules::run(job).code, 6);
      ::getrusage(RUSAGE_CHILDREN, &after);
      const auto ms = [](const timeval& time) { return time.tv_sec * 1000 + time.tv_usec / 1000; };
      least = std::min<std::int64_t>(least, ms(after.ru_utime) + ms(after.ru_stime) -
                                                ms(before.ru_utime) - ms(before.ru_stime));
    }
    return least;
  };
  constexpr rlim_t kHuge = 1U << 20;
  EXPECT_LT(cpu_ms(kHuge), cpu_ms(256) + 50);
}

// As sd_listen_fds demands: LISTEN_PID is the process that has them.
TEST_P(Inherits, TheSocketsOfAnActivationAsTheSingleCommand) {
  Spec single =
      spec({"--", "/bin/sh", "-c",
            "echo $LISTEN_FDS $LISTEN_FDNAMES $NOTIFY_SOCKET; [ $LISTEN_PID = $$ ] && echo mine; "
            "readlink /proc/self/fd/3"});
  single.env = joined(
      env(), {"LISTEN_FDS=1", "LISTEN_PID=1", "LISTEN_FDNAMES=http", "NOTIFY_SOCKET=@notify"});
  single.before = [] {
    const int file = ::open("/etc/passwd", O_RDONLY);
    ::dup2(file, 3);
    if (file != 3) ::close(file);
  };
  EXPECT_EQ(rules::run(single).out, "1 http @notify\nmine\n/etc/passwd\n");
}

TEST_P(Inherits, NoVariableOfAnOptionAsOneOfSeveralRanks) {
  Spec several = spec(ranks(2, rules::shell("env | grep ^TRAINIT_ | cut -d= -f1 | sort")));
  several.env = joined(env(), {"TRAINIT_GRACE=9s", "TRAINIT_STRICT=0", "TRAINIT_OUTPUT=first",
                               "TRAINIT_VERSION=the job's own"});
  const Result result = rules::run(several);
  EXPECT_THAT(result.out, AllOf(HasSubstr("TRAINIT_RUN_DIR\n"), HasSubstr("TRAINIT_VERSION\n")));
  EXPECT_THAT(result.out, Not(HasSubstr("TRAINIT_GRACE")));
  EXPECT_THAT(result.out, Not(HasSubstr("TRAINIT_STRICT")));
  EXPECT_THAT(result.out, Not(HasSubstr("TRAINIT_OUTPUT")));
  EXPECT_EQ(log_of(1), result.out);
}

}  // namespace
