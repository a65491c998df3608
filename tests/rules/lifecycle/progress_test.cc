// What a job tells of its progress (--progress): steps in status, metrics and report; a rank whose
// steps end; a first step that does not come; the step that a checkpoint was saved at.

#include <gmock/gmock.h>
#include <signal.h>

#include <filesystem>

#include "tests/rules/lifecycle/lifecycle.h"

namespace {

using rules::Instance;
using rules::kRunning;
using rules::shell;
using rules::Words;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Progress : public rules::LifecycleTest {
 protected:
  // Until a command of trainit's has this in its output.
  void await_tool(const Words& words, const std::string& text) const {
    await_file("run", "state.json");
    Instance watch({.args = words, .env = env(), .pid1 = false});
    ASSERT_TRUE(watch.await_out(text));
  }
};
RULES_EITHER_WAY(Progress);

// Rank 0 is at step 50 and rank 1 at step 20, until $HERE/done is there.
constexpr const char* kUneven =
    "echo \"[rank] iteration   $((50 - 30 * RANK))/ 100 | loss 0.5\"; echo saved at 20; "
    "while [ ! -e $HERE/done ]; do sleep 0.02; done; exit $((3 * RANK))";

TEST_P(Progress, IsInTheStatusTheMetricsAndTheReport) {
  Instance instance(two_ranks(
      {"--output", "files", "--progress", "iteration {step}/", "--progress", "saved at {saved}"},
      shell(kUneven)));
  await_tool({"status", "--watch"}, "30 behind, saved at step 20");
  const std::string text = tool({"status"}).out;
  EXPECT_THAT(text, AllOf(HasSubstr("step"),
                          HasSubstr("progress: median step 50, slowest rank-1 at 20, 30 behind, "
                                    "saved at step 20\n")));
  EXPECT_THAT(tool({"status", "--json"}).out,
              AllOf(HasSubstr("\"step\": 50"), HasSubstr("\"step\": 20"),
                    HasSubstr("\"saved_step\": 20"), HasSubstr("\"step\": null")));
  write("done", "");
  EXPECT_EQ(instance.wait(), 3) << instance.err();
  EXPECT_THAT(read(path("run/metrics.prom")),
              AllOf(HasSubstr("\ntrainit_rank_step{task=\"rank-0\"} 50\n"),
                    HasSubstr("\ntrainit_rank_step{task=\"rank-1\"} 20\n"),
                    HasSubstr("\ntrainit_rank_saved_step{task=\"rank-1\"} 20\n"),
                    HasSubstr("\ntrainit_log_lost_lines_total{to=\"stdout\"} 0\n")));
  EXPECT_THAT(tool({"report", path("run")}).out,
              AllOf(HasSubstr("slowest rank-1 at 20, 30 behind"),
                    HasSubstr("  steps: rank-0 50, rank-1 20\n")));
}

TEST_P(Progress, OfABarIsSeenThoughItNeverEndsALine) {
  Instance instance(
      job({"--progress", "| {step}/"},
          shell("i=0; while [ ! -e $HERE/done ]; do i=$((i + 1)); "
                "printf '\\r\\033[32m %d%%\\033[0m|#  | \\033[1m%d\\033[0m/500 [00:12' "
                "$i $i >&2; echo other; sleep 0.02; done")));
  await_tool({"status", "--watch"}, "progress: step ");
  write("done", "");
  EXPECT_EQ(instance.wait(), 0) << instance.err();
}

// Both print all the time; rank 1 is stuck at step 3.
constexpr const char* kStuck =
    "i=0; while [ ! -e $HERE/done ]; do i=$((i + 1)); [ $RANK = 1 ] && [ $i -gt 3 ] && "
    "[ ! -e $HERE/go ] && echo heartbeat || echo \"step $i\"; sleep 0.02; done";

TEST_P(Progress, ARankWhoseStepsEndHasStalledWhateverItPrints) {
  Instance instance(two_ranks(
      {"--output", "files", "--progress", "step {step}", "--stall-timeout", "1s"}, shell(kStuck)));
  ASSERT_TRUE(instance.await_err("rank-1 makes no progress: no new step for"));
  EXPECT_THAT(instance.err(), HasSubstr(", the last one is 3"));
  // Later a rank that gets no CPU for a second may stand still, too.
  EXPECT_THAT(instance.err().substr(0, instance.err().find("rank-1 makes no progress")),
              Not(HasSubstr("rank-0 makes no progress")));
  await_tool({"status", "--watch"}, "stalled");
  write("go", "");
  ASSERT_TRUE(instance.await_err("rank-1 makes progress again"));
  write("done", "");
  EXPECT_EQ(instance.wait(), 0) << instance.err();
  EXPECT_THAT(tool({"report", path("run")}).out, HasSubstr("stall: no new step for"));
}

TEST_P(Progress, ThatEndsMayEndTheJob) {
  Instance instance(two_ranks({"--output", "files", "--progress", "step {step}", "--stall-timeout",
                               "1s", "--stall-action", "end"},
                              shell(kStuck)));
  EXPECT_EQ(instance.wait(), 70) << instance.err();
  EXPECT_THAT(instance.err(), AllOf(HasSubstr("first failure: rank-1"), HasSubstr("no new step")));
}

// Only rank 0 tells: the others are judged as ever.
TEST_P(Progress, RanksThatTellNoStepsMakeProgressByWhatTheyPrint) {
  // A rank that gets no CPU for so long makes no progress either: then the job takes longer.
  std::string said;
  for (const int stall_s : {1, 5, 20}) {
    std::filesystem::remove_all(path("run"));
    Instance instance(
        two_ranks({"--output", "files", "--progress", "step {step}", "--stall-timeout",
                   std::to_string(stall_s) + "s", "--stall-action", "end"},
                  shell("i=0; while [ $i -lt " + std::to_string(150 * stall_s) +
                        " ]; do i=$((i + 1)); [ $RANK = 0 ] && echo \"step $i\" || "
                        "echo works; sleep 0.02; done")));
    const int code = instance.wait();
    EXPECT_EQ(instance.lines_with("no first step"), 0) << instance.err();
    if (code == 0) return;
    said += instance.err();
  }
  FAIL() << said;
}

TEST_P(Progress, AFirstStepThatNeverComesIsToldAndEndsNothing) {
  Instance instance(
      two_ranks({"--output", "files", "--progress", "step {step}", "--stall-timeout", "1s",
                 "--stall-action", "end"},
                shell("while [ ! -e $HERE/done ]; do echo Step 1; sleep 0.02; done")));
  ASSERT_TRUE(instance.await_err("no first step for"));
  EXPECT_THAT(instance.err(), HasSubstr("no line fits \"step {step}\" (--progress)"));
  write("done", "");
  EXPECT_EQ(instance.wait(), 0) << instance.err();
  EXPECT_EQ(instance.lines_with("no first step"), 1) << instance.err();
}

// The start before has told that the pattern fits. Steps that go back are as good as others.
TEST_P(Progress, AfterARestartTheFirstStepIsExpected) {
  Instance instance(job({"--progress", "step {step}", "--stall-timeout", "1s", "--stall-action",
                         "end", "--max-restarts", "2", "--restart-delay", "1ms"},
                        shell("for i in 500 400; do echo \"step $((i - TRAINIT_RESTART_COUNT))\"; "
                              "sleep 0.1; done; [ $TRAINIT_RESTART_COUNT = 2 ] || exit 3; "
                              "while :; do echo loads; sleep 0.02; done")));
  EXPECT_EQ(instance.wait(), 70) << instance.err();
  EXPECT_EQ(instance.lines_with("makes no progress"), 1) << instance.err();
  EXPECT_THAT(instance.err(), HasSubstr("no new step for"));

  std::filesystem::remove_all(path("run"));
  Instance again(job({"--progress", "step {step}", "--stall-timeout", "1s", "--stall-action", "end",
                      "--max-restarts", "1", "--restart-delay", "1ms"},
                     shell("[ $TRAINIT_RESTART_COUNT = 0 ] && echo step 1 && exit 3; "
                           "while :; do echo loads; sleep 0.02; done")));
  EXPECT_EQ(again.wait(), 70) << again.err();
  EXPECT_THAT(again.err(), HasSubstr("main makes no progress: no first step for"));
}

// Saves when it is asked to, and says so with its very last bytes.
constexpr const char* kSaves =
    "trap '[ $RANK = 1 ] || echo \"saved checkpoint at step 1,200\"; exit 0' USR1; "
    "echo saved checkpoint at step 100; echo up >> $HERE/up-$RANK; "
    "while :; do sleep 0.02; done";

TEST_P(Progress, ACheckpointIsSavedAtTheStepThatTheJobTells) {
  Instance instance(two_ranks(
      {"--output", "files", "--progress", "saved checkpoint at step {saved}"}, shell(kSaves)));
  for (const char* name : {"up-0", "up-1"}) await_file(".", name);
  await_state(kRunning);
  EXPECT_EQ(tool({"checkpoint"}).code, 0);
  EXPECT_EQ(instance.wait(), 75) << instance.err();
  EXPECT_THAT(instance.err(), AllOf(HasSubstr("saved at step 1200, as rank-0 has told"),
                                    Not(HasSubstr("the checkpoint is saved"))));
  EXPECT_THAT(tool({"report", path("run")}).out, HasSubstr("saved: saved at step 1200"));
}

TEST_P(Progress, WithoutItsWordNoCheckpointIsCalledSaved) {
  Instance instance(job({"--progress", "saved checkpoint at step {saved}"},
                        shell("trap 'exit 0' USR1; echo saved checkpoint at step 100; echo up; "
                              "while :; do sleep 0.02; done")));
  ASSERT_TRUE(instance.await_out("up"));
  await_state(kRunning);
  EXPECT_EQ(tool({"checkpoint"}).code, 0);
  EXPECT_EQ(instance.wait(), 75) << instance.err();
  EXPECT_THAT(instance.err(),
              AllOf(HasSubstr("perhaps no checkpoint: no rank has told"),
                    Not(HasSubstr("the checkpoint is saved")), Not(HasSubstr("saved at step"))));
}

TEST_P(Progress, APatternThatCannotWorkIsAnErrorAtTheStart) {
  for (const char* pattern : {"", "step", "{step}", "step {step} {step}", "step {stp}"}) {
    const rules::Result result = rules::run(spec({"--progress", pattern, "--", "true"}));
    EXPECT_EQ(result.code, 125) << pattern;
    EXPECT_THAT(result.err, HasSubstr("--progress")) << pattern;
  }
}

}  // namespace
