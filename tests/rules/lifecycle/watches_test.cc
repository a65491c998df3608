// The watches beside a running job: performance, stalls, health.

#include <gmock/gmock.h>
#include <signal.h>

#include <filesystem>

#include "tests/rules/lifecycle/lifecycle.h"
#include "tests/test_timeout.h"

namespace {

using rules::Instance;
using rules::kRunning;
using rules::shell;
using rules::Words;
using testing::AllOf;
using testing::HasSubstr;

// Prints an iteration's line again and again; "hw e2e" is $HERE/times. On USR1 it saves and ends.
constexpr const char* kTrains =
    "trap 'echo saved > $HERE/saved-$RANK; exit 0' USR1; "
    "while :; do read -r hw e2e < $HERE/times && "
    "echo \"this iteration hardware time is $hw and e2e time is $e2e ms.\"; sleep 0.02; done";

class Watches : public rules::LifecycleTest {
 protected:
  void times(const std::string& text) const {
    write("times.new", text + "\n");
    std::filesystem::rename(path("times.new"), path("times"));
  }
  [[nodiscard]] bool exists(const std::string& name) const {
    return std::filesystem::exists(path(name));
  }
};
RULES_EITHER_WAY(Watches);

TEST_P(Watches, ARatioAboveTheThresholdIsAnAlertAndTheJobGoesOn) {
  times("2201.521 3317.794921875");
  Instance instance(two_ranks({"--output", "files", "--perf-threshold", "0.7"}, shell(kTrains)));
  await_state(kRunning);
  EXPECT_EQ(instance.lines_with("performance:"), 0) << instance.err();
  times("80 100.5");
  ASSERT_TRUE(
      instance.await_err("performance: rank-1 spent 80.0 of 100.5 in hardware, ratio "
                         "0.796019, above 0.7 (--perf-threshold)"));
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
  EXPECT_LE(instance.lines_with("performance:"), 2) << "a rank says it once: " << instance.err();
  EXPECT_FALSE(exists("saved-1"));
}

TEST_P(Watches, WithTheOtherPolicyTheJobIsSavedAndScheduledAgain) {
  times("80 100");
  Instance instance(two_ranks({"--output", "files", "--perf-threshold", "0.5", "--perf-policy",
                               "reschedule", "--perf-count", "3"},
                              shell(kTrains)));
  EXPECT_EQ(instance.wait(), 75) << instance.err();
  EXPECT_TRUE(exists("saved-0") && exists("saved-1"));
  EXPECT_THAT(instance.err(), AllOf(HasSubstr("in 3 iterations in succession; a checkpoint is "
                                              "asked for by SIGUSR1"),
                                    HasSubstr("exit code 75")));
}

TEST_P(Watches, ARankThatMakesNoProgressIsReportedOnceWithItsHooks) {
  make_fifo("go");
  hook("stall",
       "echo \"rank $TRAINIT_STALLED_RANK for $TRAINIT_STALLED_FOR_S s\"; "
       "kill -0 $TRAINIT_STALLED_PID && echo \"$TRAINIT_HOOK of $TRAINIT_STALLED_RANK\" >> "
       "$HERE/journal");
  Instance instance(
      two_ranks({"--output", "files", "--stall-timeout", "1s"},
                shell("[ $RANK = 0 ] && while [ ! -e $HERE/done ]; do echo x; sleep 0.02; done; "
                      "[ $RANK = 0 ] && exit; read x < $HERE/go; "
                      "while [ ! -e $HERE/done ]; do echo x; sleep 0.02; done")));
  ASSERT_TRUE(instance.await_err("rank-1 makes no progress: no output and no CPU time"));
  EXPECT_THAT(instance.err(), HasSubstr("state S"));
  EXPECT_THAT(journal(), HasSubstr("stall of 1\n")) << "before the report";
  EXPECT_THAT(instance.err(), testing::ContainsRegex("hook 10-hook: rank 1 for [0-9]+ s"));
  write("go", "now\n");
  ASSERT_TRUE(instance.await_err("rank-1 makes progress again"));
  // What comes behind it may be another pause, of the machine.
  const std::string until_again =
      instance.err().substr(0, instance.err().find("rank-1 makes progress again"));
  const std::string report = "rank-1 makes no progress";
  EXPECT_EQ(until_again.find(report), until_again.rfind(report)) << "once";
  write("done", "");
  EXPECT_EQ(instance.wait(), 0) << instance.err();
}

TEST_P(Watches, AStallMayEndTheJob) {
  Instance instance(
      two_ranks({"--output", "files", "--stall-timeout", "1s", "--stall-action", "end"},
                shell("[ $RANK = 1 ] && exec sleep 1000; while :; do echo x; sleep 0.02; done")));
  EXPECT_EQ(instance.wait(), 70) << instance.err();
  EXPECT_THAT(instance.err(), AllOf(HasSubstr("first failure: rank-1"), HasSubstr("no progress"),
                                    HasSubstr("stopped because of it: rank-0")));
  EXPECT_THAT(tool({"status"}).out, HasSubstr("rank-1"));
}

TEST_P(Watches, AJobThatComputesSilentlyIsNoStall) {
  Instance instance(job({"--stall-timeout", "300ms", "--stall-action", "end"},
                        shell("i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done")));
  EXPECT_EQ(instance.wait(), 0) << instance.err();
}

TEST_P(Watches, ANodeThatFailsItsHealthHooksIsLeftWithACheckpoint) {
  hook("health", "[ ! -e $HERE/bad ] || { echo card 3 fell off the bus; exit 3; }");
  Instance instance(
      job({"--health-interval", "50ms"}, shell("trap 'echo saved > $HERE/saved; exit 0' USR1; "
                                               "echo runs; while :; do sleep 0.02; done")));
  ASSERT_TRUE(instance.await_out("runs"));
  await_state(kRunning);
  EXPECT_EQ(instance.lines_with("health"), 0) << instance.err();
  write("bad", "");
  EXPECT_EQ(instance.wait(), 75) << instance.err();
  EXPECT_TRUE(exists("saved"));
  EXPECT_THAT(instance.err(),
              AllOf(HasSubstr("card 3 fell off the bus"), HasSubstr("(1 round in succession"),
                    HasSubstr("the node is not healthy"), HasSubstr("asked for a checkpoint")));
}

TEST_P(Watches, AHealthHookMayRecover) {
  hook("health", "[ ! -e $HERE/bad ] || exit 3");
  write("bad", "");
  Instance instance(job({"--health-interval", "50ms", "--health-failures", "1000000"},
                        shell("while :; do sleep 0.02; done")));
  ASSERT_TRUE(instance.await_err("(2 rounds in succession"));
  std::filesystem::remove(path("bad"));
  ASSERT_TRUE(instance.await_err("the node is healthy again"));
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
}

TEST_P(Watches, AHealthHookThatHangsDelaysNoStop) {
  make_fifo("never");
  hook("health", "trap '' TERM; echo hangs; read x < $HERE/never");
  Instance instance(job({}, shell("while :; do sleep 0.02; done")));
  ASSERT_TRUE(instance.await_err("hangs"));
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 143);
  EXPECT_LT(instance.age_ms(), kAtOnceMs);
}

TEST_P(Watches, WithoutTheMonitorTheJobGoesOn) {
  hook("health", "echo checked");
  // All children of our parent but us: there is the monitor alone.
  Instance instance(
      job({"--health-interval", "1h"},
          shell("while [ ! -e $HERE/go ]; do sleep 0.02; done; for p in /proc/[0-9]*; do "
                "[ ${p#/proc/} = $$ ] || ! grep -qs \"^PPid:.$PPID$\" $p/status || "
                "kill -9 ${p#/proc/}; done; while [ ! -e $HERE/done ]; do sleep 0.02; done")));
  ASSERT_TRUE(instance.await_err("checked"));
  write("go", "");
  ASSERT_TRUE(instance.await_err("the job is no longer watched"));
  write("done", "");
  EXPECT_EQ(instance.wait(), 0) << instance.err();
  EXPECT_EQ(instance.lines_with("no longer watched"), 1);
}

TEST_P(Watches, ARestartedJobIsWatchedAgain) {
  Instance instance(job({"--stall-timeout", "300ms", "--stall-action", "end", "--max-restarts", "1",
                         "--restart-delay", "1ms"},
                        shell("exec sleep 1000")));
  EXPECT_EQ(instance.wait(), 70) << instance.err();
  EXPECT_EQ(instance.lines_with("makes no progress: no output and no CPU time"), 2)
      << "each start has its own: " << instance.err();
}

}  // namespace
