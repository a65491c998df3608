// Rules 4, 6 and 11: how a job ends, who is told, and what is left.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <filesystem>

#include "tests/init/refuse.h"
#include "tests/rules/job.h"
#include "tests/rules/shell.h"
#include "tests/test_timeout.h"

namespace {

using rules::Instance;
using rules::joined;
using rules::Result;
using rules::Spec;
using rules::Words;
using testing::HasSubstr;

class Stop : public rules::EitherWay {
 protected:
  // A shell script beside the others, by its path.
  std::string script(const std::string& name, const std::string& text) const {
    return write(name, "#!/bin/sh\n" + text, 0755);
  }
};
RULES_EITHER_WAY(Stop);

// --- 11. A stop signal reaches the tasks themselves ---

TEST_P(Stop, OfASingleCommandEndsWithItsOwnCode) {
  Instance instance(spec({"--", rules::payload(), "term-after", "1", "17"}));
  await_told("ready-0");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 17);
}

// A suspended job would be killed at the end of the grace, without having saved anything.
TEST_P(Stop, OfACommandThatIsStoppedContinuesIt) {
  Instance instance(spec({"--grace", "60s", "--", rules::payload(), "term-after", "1", "17"}));
  await_told("ready-0");
  const pid_t command = instance.only_child();
  ASSERT_EQ(::kill(command, SIGSTOP), 0);
  while (rules::state_of(command) != 'T') ::sched_yield();
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 17);
}

// A rank below a launcher, which waits for it: the whole tree stands still.
TEST_P(Stop, OfATreeThatStandsStillContinuesItWhole) {
  Instance instance(spec(
      joined({"--grace", "1h", "--"},
             rules::shell("sh -c 'trap \"echo saved; exit 0\" TERM; echo pid $$; kill -STOP $$\n"
                          "while :; do sleep 0.1 & wait; done' & child=$!\n"
                          "trap 'kill -TERM $child; wait $child; exit 17' TERM; echo up\n"
                          "while :; do wait; done"))));
  instance.await_out("pid ");
  instance.await_out("up");
  const pid_t command = instance.only_child();
  const std::string self = std::to_string(command);
  const pid_t rank = std::stoi(read("/proc/" + self + "/task/" + self + "/children"));
  ASSERT_EQ(::kill(command, SIGSTOP), 0);
  for (const pid_t pid : {command, rank}) {
    while (rules::state_of(pid) != 'T') ::sched_yield();
  }
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 17);
  EXPECT_THAT(instance.out(), HasSubstr("saved"));
}

// 137 alone might as well be the OOM killer's.
TEST_P(Stop, ByTheEndOfTheGraceIsSaid) {
  Instance instance(spec({"--grace", "300ms", "--", rules::payload(), "ignore-term"}));
  await_told("ready-0");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 137);
  EXPECT_THAT(instance.err(), HasSubstr("not ended in its time, so it gets SIGKILL: main"));
}

TEST_P(Stop, ByASecondInterruptIsNotSaidToBeLate) {
  Instance instance(
      spec({"--grace", "1h", "--", "/bin/sh", "-c", "trap '' INT; echo ready; exec sleep 1000"}));
  instance.await_out("ready");
  while (instance.alive()) instance.signal(SIGINT);
  EXPECT_EQ(instance.wait(), 137);
  EXPECT_THAT(instance.err(), HasSubstr("a second SIGINT came, so it gets SIGKILL: main"));
}

// --- Without CAP_KILL, beside processes of another user ---

class StopWithoutCapKill : public rules::JobTest {
 protected:
  // `commands`: of a shell that is another user. In a namespace of its own, which ends it.
  [[nodiscard]] Spec as_another(const std::string& commands) const {
    Spec spec{.args = {"--grace", "1h", "--", "/usr/bin/setpriv", "--reuid=65534", "--regid=65534",
                       "--clear-groups", "/bin/sh", "-c", commands},
              .env = env()};
    spec.before = [] { ::prctl(PR_CAPBSET_DROP, CAP_KILL, 0, 0, 0); };
    return spec;
  }
};

TEST_F(StopWithoutCapKill, SaysWhatIsMissingAndDoesNotWait) {
  if (!child::is_root() || !rules::may_unshare()) GTEST_SKIP() << "needs root";
  Instance instance(as_another("echo up; exec sleep 1000"));
  instance.await_out("up");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 137);
  EXPECT_THAT(instance.err(), HasSubstr("cannot signal main (pid "));
  EXPECT_THAT(instance.err(), HasSubstr("user 65534"));
  EXPECT_THAT(instance.err(), HasSubstr("trainit lacks CAP_KILL"));
}

TEST_F(StopWithoutCapKill, SaysThatASignalOrARequestToSaveDoesNotArrive) {
  if (!child::is_root() || !rules::may_unshare()) GTEST_SKIP() << "needs root";
  for (const bool save : {true, false}) {
    Spec spec = as_another("trap 'echo heard' USR1; echo up; while :; do sleep 0.1; done");
    spec.args.insert(spec.args.begin(), {"--signal", "USR2=checkpoint"});
    Instance instance(spec);
    instance.await_out("up");
    instance.signal(save ? SIGUSR2 : SIGUSR1);
    instance.await_err("trainit lacks CAP_KILL");
    EXPECT_THAT(instance.err(),
                HasSubstr(save ? "so it is not asked for a checkpoint" : "so it has no SIGUSR1"));
    instance.signal(SIGTERM);
    instance.wait();
  }
}

TEST_F(StopWithoutCapKill, DoesNotWaitForWhatTheJobLeftBehind) {
  if (!child::is_root() || !rules::may_unshare()) GTEST_SKIP() << "needs root";
  Instance instance(as_another("sleep 1000 & exit 5"));
  EXPECT_EQ(instance.wait(), 5);
  EXPECT_THAT(instance.err(), HasSubstr("a process that the job left behind"));
  EXPECT_EQ(instance.lines_with("CAP_KILL"), 1);
}

// --- A profile that refuses waitid ---

TEST_P(Stop, ComesWhereWaitidIsRefused) {
  for (const int error : {EPERM, ENOSYS}) {
    Spec refused = spec({"--", "/bin/sh", "-c", "(: &); exit 7"});
    refused.before = [error] { refuse::calls({SYS_waitid}, error); };
    EXPECT_EQ(rules::run(refused).code, 7);
    refused.args = ranks(2, {rules::payload(), "term-after", "0", "0"});
    Instance instance(refused);
    await_told("ready-0");
    await_told("ready-1");
    instance.signal(SIGTERM);
    EXPECT_EQ(instance.wait(), 143);
    std::filesystem::remove_all(path("out"));
    ::mkdir(path("out").c_str(), 0755);
  }
}

TEST_P(Stop, IsNotAwaitedWhereNothingCanBe) {
  Spec refused = spec({"--", "/bin/sh", "-c", "exit 7"});
  refused.before = [] { refuse::calls({SYS_waitid, SYS_wait4}, EPERM); };
  const Result result = rules::run(refused);
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.err, HasSubstr("allow one of them in the seccomp profile"));
}

TEST_P(Stop, OfSeveralRanksEndsWith143AlthoughTheyEndWell) {
  Instance instance(spec(ranks(3, {rules::payload(), "term-after", "1", "0"})));
  for (const char* ready : {"ready-0", "ready-1", "ready-2"}) await_told(ready);
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
  EXPECT_EQ(told("saved-0") + told("saved-1") + told("saved-2"), "");
  EXPECT_EQ(instance.lines_with("SIGTERM received"), 1);
}

// A data loader's worker takes a TERM that is not from its parent for a crash.
TEST_P(Stop, ReachesNoWorkerOfARankBeforeTheRankHasEnded) {
  Instance instance(spec(ranks(2, {rules::payload(), "loader", "3"})));
  await_told("ready-0");
  await_told("ready-1");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
  for (const char* rank : {"0", "1"}) {
    struct stat status{};
    EXPECT_EQ(::stat(path("out/checkpoint-" + std::string(rank)).c_str(), &status), 0);
    EXPECT_NE(::stat(path("out/crash-" + std::string(rank)).c_str(), &status), 0);
  }
}

TEST_P(Stop, TellsATaskOnceHoweverOftenItIsRequested) {
  // A shell that waits without an end may do so with a trap still to be run.
  Instance instance(spec({"--", "/bin/sh", "-c",
                          "n=0; trap 'n=$((n+1)); echo told' TERM; trap 'end=1' USR1; echo ready\n"
                          "while [ -z \"$end\" ]; do sleep 0.05; done\n"
                          "echo terms=$n"}));
  instance.await_out("ready");
  instance.signal(SIGTERM);
  instance.await_out("told");
  for (int i = 0; i < 5; ++i) instance.signal(SIGTERM);
  instance.signal(SIGUSR1);
  EXPECT_EQ(instance.wait(), 0);
  EXPECT_THAT(instance.out(), HasSubstr("terms=1"));
}

TEST_P(Stop, KillsWhatIgnoresItWithinTheGrace) {
  Instance single(spec({"--grace", "300ms", "--", rules::payload(), "ignore-term"}));
  await_told("ready-0");
  single.signal(SIGTERM);
  EXPECT_EQ(single.wait(), 137);
  Instance several(spec(ranks(2, {rules::payload(), "ignore-term"}, {"--grace", "300ms"})));
  await_told("ready-1");
  several.signal(SIGTERM);
  EXPECT_EQ(several.wait(), 143);
  EXPECT_LT(several.age_ms(), kAtOnceMs);
}

TEST_P(Stop, OfTheOthersFollowsTheFirstFailure) {
  const Result result = rules::run(spec(
      ranks(4, {rules::payload(), "on-rank", "2", "exit", "9", "else", "term-after", "1", "0"})));
  EXPECT_EQ(result.code, 9);
  EXPECT_THAT(result.err, HasSubstr("stopped because of it: rank-0, rank-1, rank-3"));
}

TEST_P(Stop, AfterAllRanksHadEndedChangesNothing) {
  // A leftover keeps the job in its sweep.
  const std::string leftover = script("leftover",
                                      "trap 'echo told; read x < $HERE/go; exit 0' TERM\n"
                                      "echo up; while :; do sleep 0.1 & wait; done");
  ::mkfifo(path("go").c_str(), 0600);
  ::mkfifo(path("begin").c_str(), 0600);
  Instance instance(
      spec({"--", "/bin/sh", "-c", "setsid " + leftover + " & read x < $HERE/begin; exit 0"}));
  instance.await_out("up");
  std::ofstream(path("begin")) << "x\n";
  instance.await_out("told");
  instance.signal(SIGTERM);
  std::ofstream(path("go")) << "x\n";
  EXPECT_EQ(instance.wait(), 0);
}

// --- 4. "Done" is an ended process; orphans are reaped ---

TEST_P(Stop, IsNotTheEndOfItsOutput) {
  ::mkfifo(path("go").c_str(), 0600);
  ::mkfifo(path("up").c_str(), 0600);
  Instance instance(spec({"--", "/bin/sh", "-c",
                          "exec >&- 2>&-; echo up > $HERE/up; read code < $HERE/go; exit $code"}));
  EXPECT_EQ(read(path("up")).substr(0, 3), "up\n");
  std::ofstream(path("go")) << "5\n";
  EXPECT_EQ(instance.wait(), 5);
}

TEST_P(Stop, DoesNotWaitForAnOrphanThatHoldsTheOutput) {
  const Result result = rules::run(spec(
      {"--grace", "400ms", "--", "/bin/sh", "-c", "(trap '' TERM; exec sleep 1000) & exit 5"}));
  EXPECT_EQ(result.code, 5);
}

TEST_P(Stop, LeavesNoZombieOfThousandsOfOrphans) {
  Instance instance(spec({"--", "/bin/sh", "-c",
                          "i=0; while [ $i -lt 1000 ]; do (: &); i=$((i+1)); done\n"
                          "while ps -A -o ppid= -o stat= | grep -q \"^ *$PPID  *Z\"; do :; done\n"
                          "echo clean"}));
  EXPECT_EQ(instance.wait(), 0);
  EXPECT_EQ(instance.out(), "clean\n");
}

TEST_P(Stop, IsHeardAmongAFloodOfOrphans) {
  // The leader that is told to end has siblings that breed on.
  Instance instance(spec(joined({"--grace", "2s", "--"},
                                rules::shell("breed() { while :; do (: &); done; }\n"
                                             "breed & breed & echo ready; exec sleep 1000"))));
  instance.await_out("ready");
  const std::int64_t before = instance.age_ms();
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
  EXPECT_LT(instance.age_ms() - before, kAtOnceMs);
}

// --- 6, 11. What the tasks leave behind ---

TEST_P(Stop, TellsLeftoversGenerationByGeneration) {
  // Three generations, each in a session of its own; the last but one is adopted when the first
  // ends.
  const std::string breed = path("breed");
  script("breed",
         "level=$1\n"
         "trap 'echo term-$level >> $HERE/log; exit 0' TERM\n"
         "if [ $level -lt 3 ]; then setsid " +
             breed +
             " $((level+1)) & else echo up; fi\n"
             "while :; do read x < $HERE/never; done\n");
  ::mkfifo(path("never").c_str(), 0600);
  ::mkfifo(path("begin").c_str(), 0600);
  Instance instance(spec({"--grace", "5m", "--", "/bin/sh", "-c",
                          "setsid " + breed + " 1 & read x < $HERE/begin; exit 4"}));
  instance.await_out("up");
  std::ofstream(path("begin")) << "x\n";
  EXPECT_EQ(instance.wait(), 4);
  EXPECT_EQ(read(path("log")), "term-1\nterm-2\nterm-3\n");
  EXPECT_LT(instance.age_ms(), kAtOnceMs) << "the grace was not needed";
}

TEST_P(Stop, KillsLeftoversThatDoNotEnd) {
  ::mkfifo(path("begin").c_str(), 0600);
  const Words command = rules::shell(
      "setsid sh -c 'trap \"\" TERM; echo pid $$; exec sleep 1000' & read x < $HERE/begin");
  Instance instance(spec(joined({"--grace", "400ms", "--"}, command)));
  instance.await_out("pid ");
  std::ofstream(path("begin")) << "x\n";
  EXPECT_EQ(instance.wait(), 0);
  if (!GetParam()) {
    const std::string text = instance.out().substr(instance.out().find("pid ") + 4);
    // Killed behind the end, and a zombie until its next parent has looked.
    const pid_t leftover = std::stoi(text);
    TestTimeout timeout;
    while (::kill(leftover, 0) == 0 && timeout.is_left()) ::poll(nullptr, 0, 5);
    EXPECT_NE(::kill(leftover, 0), 0);
  }
}

TEST_P(Stop, EndsLeftoversThatStandStill) {
  // A stopped process cannot act on its TERM, and must not hold up the end.
  Instance instance(spec({"--grace", "400ms", "--", "/bin/sh", "-c",
                          "setsid sh -c 'kill -STOP $$; exec sleep 1000' & sleep 0; exit 2"}));
  EXPECT_EQ(instance.wait(), 2);
}

// In a namespace of its own, as kill(-1) would reach everything.
TEST(NotPid1, TouchesNoProcessThatIsNotOfItsJob) {
  if (!rules::may_unshare()) GTEST_SKIP() << "needs a pid namespace";
  const Result result = rules::run({.args = {"sh", "-c",
                                             "sleep 1000 & bystander=$!\n" + rules::trainit() +
                                                 " -- sh -c 'setsid sleep 1000 & exit 7'; code=$?\n"
                                                 "kill -0 $bystander && echo bystander lives\n"
                                                 "exit $code"},
                                    .env = {"PATH=/usr/bin:/bin"},
                                    .program = "/bin/sh"});
  EXPECT_EQ(result.code, 7) << result.err;
  EXPECT_EQ(result.out, "bystander lives\n");
}

class NotPid1Job : public rules::JobTest {};

TEST_F(NotPid1Job, TakesItsRanksWithItWhenItIsKilled) {
  ::mkfifo(path("alive").c_str(), 0600);
  const sys::Fd alive(::open(path("alive").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  Spec ordinary =
      spec(ranks(2, rules::shell("exec " + rules::payload() + " sleep-forever 8> $HERE/alive")));
  ordinary.pid1 = false;
  Instance instance(ordinary);
  await_told("ready-0");
  await_told("ready-1");
  instance.signal(SIGKILL);
  EXPECT_EQ(child::read_to_end(alive.get()), "") << "the last of the ranks has ended";
  EXPECT_EQ(instance.wait(), 137);
}

TEST_F(NotPid1Job, AdoptsTheOrphansOfItsJob) {
  Spec ordinary = spec({"--", "/bin/sh", "-c",
                        "sh -c 'setsid sh -c \"echo ppid \\$PPID; read x < $HERE/go; "
                        "ps -o ppid= -p \\$\\$; echo end\" & ' ; read x < $HERE/end"});
  for (const char* name : {"go", "end"}) ::mkfifo(path(name).c_str(), 0600);
  ordinary.pid1 = false;
  Instance instance(ordinary);
  instance.await_out("ppid");
  std::ofstream(path("go")) << "x\n";
  instance.await_out("end");
  EXPECT_THAT(instance.out(),
              testing::ContainsRegex("\n *" + std::to_string(instance.pid()) + "\n"));
  std::ofstream(path("end")) << "x\n";
  EXPECT_EQ(instance.wait(), 0);
}

}  // namespace
