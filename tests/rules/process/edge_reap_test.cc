// Processes that end in unusual ways: by thousands, under a pid that was another's, injected from
// outside, without their first thread, under a debugger, never.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>

#include "tests/rules/job.h"

namespace {

using rules::Instance;
using rules::joined;
using rules::Result;
using rules::Spec;
using rules::Words;
using testing::HasSubstr;

class Reaping : public rules::EitherWay {
 protected:
  static char state_of(pid_t pid) {
    const std::string stat = sys::inspect("/proc/" + std::to_string(pid) + "/stat", true).content;
    const std::size_t name_end = stat.rfind(')');
    return name_end == std::string::npos ? '-' : stat[name_end + 2];
  }
  // A FIFO that the test writes to; it is open on both sides, so nobody waits in open().
  [[nodiscard]] sys::Fd fifo(const std::string& name) const {
    ::mkfifo(path(name).c_str(), 0600);
    return sys::Fd(::open(path(name).c_str(), O_RDWR | O_CLOEXEC));
  }
};
RULES_EITHER_WAY(Reaping);

TEST_P(Reaping, LeavesNoneOf20000Orphans) {
  const Result result = rules::run(spec({"--", rules::payload(), "orphans", "20000"}));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "clean\n");
}

// --- One pid, two processes ---

TEST_P(Reaping, TakesNoOneForARankThatHadItsPid) {
  if (!rules::may_unshare()) GTEST_SKIP() << "needs a pid namespace of its own";
  const sys::Fd go = fifo("go");
  // As no PID 1 it is below a shell: which pid comes next can be chosen in a namespace only.
  const Words args =
      ranks(2, rules::shell("if [ $RANK_ID = 1 ]; then echo $$ > $HERE/go; exit 0; fi\n"
                            "exec " +
                            rules::payload() + " reuse-pid $HERE/go 9"));
  Spec job{.args = args, .env = env()};
  if (!GetParam()) {
    job.program = "/bin/sh";
    job.args = joined({"sh", "-c", "\"$@\"; exit $?", "sh", rules::trainit()}, args);
  }
  Instance instance(job);
  instance.await_out("reused\n");
  child::say(go.get(), "end\n");
  await_told("ready-0");
  // Had its death been taken for the rank's, the job would have failed with 9.
  if (GetParam()) {
    instance.signal(SIGTERM);
    EXPECT_EQ(instance.wait(), 143);
  } else {
    ASSERT_EQ(::kill(instance.only_child(), SIGTERM), 0);
    EXPECT_EQ(instance.wait(), 143);
  }
}

// --- Injected from outside ---

// What `docker exec` and nsenter do. `body` runs in the namespace of `init`, as nobody's child
// there.
int run_inside(pid_t init, const std::function<int()>& body) {
  const pid_t outside = ::fork();
  if (outside == 0) {
    const std::string file = "/proc/" + std::to_string(init) + "/ns/pid";
    const sys::Fd space(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (::setns(space.get(), CLONE_NEWPID) != 0) ::_exit(99);
    const pid_t inside = ::fork();
    if (inside == 0) ::_exit(body());
    ::_exit(child::wait_for(inside));
  }
  return child::wait_for(outside);
}

class Nsenter : public rules::JobTest {};

TEST_F(Nsenter, LeavesOrphansThatAreReapedAndAreNotTheJob) {
  if (!rules::may_unshare()) GTEST_SKIP() << "needs a pid namespace";
  Instance instance(spec({"--", rules::payload(), "term-after", "1", "17"}));
  await_told("ready-0");
  child::Pipe alive = child::make_pipe();
  const int code = run_inside(instance.pid(), [&alive] {
    alive.out.reset();
    if (::fork() == 0) {
      // Until it is the init's: only an orphan can end as one.
      while (::getppid() != 1) ::sched_yield();
      ::_exit(9);
    }
    return 3;
  });
  EXPECT_EQ(code, 3);
  alive.in.reset();
  EXPECT_EQ(child::read_to_end(alive.out.get()), "") << "the orphan has ended";
  TestTimeout timeout;
  while (rules::children_of(instance.pid()).size() > 1) {
    ASSERT_TRUE(instance.alive()) << "it took the orphan's end for the job's";
    ASSERT_TRUE(timeout.is_left()) << "the orphan is a zombie";
  }
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 17);
}

// --- Unusual ends ---

TEST_P(Reaping, WaitsForTheProcessAndNotForItsFirstThread) {
  const sys::Fd go = fifo("go");
  Instance instance(spec({"--", rules::payload(), "leaderless", path("go"), "7"}));
  await_told("ready-0");
  const pid_t main = instance.only_child();
  TestTimeout timeout;
  while (state_of(main) != 'Z') {
    ASSERT_TRUE(timeout.is_left()) << "the first thread has not ended";
  }
  // One more death to reap: whoever takes the zombie for an end would end now.
  instance.signal(SIGCHLD);
  instance.signal(SIGWINCH);
  EXPECT_EQ(rules::children_of(instance.pid()).size(), 1U);
  EXPECT_TRUE(instance.alive());
  child::say(go.get(), "x");
  EXPECT_EQ(instance.wait(), 7);
}

TEST_P(Reaping, LeavesTheEndOfATracedCommandToItsDebuggerFirst) {
  Instance instance(spec({"--", rules::payload(), "term-after", "1", "5"}));
  await_told("ready-0");
  const pid_t main = instance.only_child();
  ASSERT_EQ(::ptrace(PTRACE_SEIZE, main, nullptr, nullptr), 0);
  // A breakpoint is no end either.
  ASSERT_EQ(::ptrace(PTRACE_INTERRUPT, main, nullptr, nullptr), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(main, &status, __WALL), main);
  ASSERT_TRUE(WIFSTOPPED(status));
  instance.signal(SIGCHLD);
  ASSERT_EQ(::ptrace(PTRACE_CONT, main, nullptr, nullptr), 0);
  instance.signal(SIGTERM);
  while (::waitpid(main, &status, __WALL) == main && WIFSTOPPED(status)) {
    ::ptrace(PTRACE_CONT, main, nullptr, status >> 16 == 0 ? WSTOPSIG(status) : 0);
  }
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(instance.wait(), 5);
}

// --- Those that breed and do not hear ---

// In a namespace in any case, as a user of whom there is no other process: what survived would
// take the machine with it.
TEST_P(Reaping, EndsABreedThatDoesNotHearTerm) {
  if (!rules::may_unshare()) GTEST_SKIP() << "needs a pid namespace";
  const uid_t breeder = rules::lone_user();
  for (const char* name : {"run", "home", "out"})
    ASSERT_EQ(::chown(path(name).c_str(), breeder, breeder), 0);
  const Words args = {"--grace", "500ms", "--",
                      "/bin/sh", "-c",    rules::payload() + " breed & read x < $HERE/go; exit 4"};
  ::mkfifo(path("go").c_str(), 0666);
  ::chmod(path("go").c_str(), 0666);
  Spec job{.args = args, .env = env()};
  if (!GetParam()) {
    job.program = "/bin/sh";
    // Some of hundreds that were killed still exit when trainit gives up waiting. A foreground
    // command has the shell reap them. One that was not killed breeds on, and the loop has no end.
    const std::string survivors =
        "\"$@\"; code=$?; while set -- /proc/[0-9]*; [ $# -gt 1 ]; do sleep 0.01; done; "
        "echo survivors 0; exit $code";
    job.args = joined({"sh", "-c", survivors, "sh", rules::trainit()}, args);
  }
  job.before = [breeder] {
    const rlimit processes{300, 300};
    ::setrlimit(RLIMIT_NPROC, &processes);
    const rlimit seconds{20, 20};
    ::setrlimit(RLIMIT_CPU, &seconds);
    std::ignore = ::setresgid(breeder, breeder, breeder);
    std::ignore = ::setresuid(breeder, breeder, breeder);
  };
  Instance instance(job);
  await_told("ready-0");
  std::ofstream(path("go")) << "x\n";
  EXPECT_EQ(instance.wait(), 4);
  if (!GetParam()) {
    EXPECT_THAT(instance.out(), HasSubstr("survivors 0\n"));
  }
}

}  // namespace
