// Checkpoint and continue: the ranks are asked, their data loaders are not, and the exit code asks
// for rescheduling.

#include <gmock/gmock.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "tests/rules/lifecycle/lifecycle.h"

namespace {

using rules::Instance;
using rules::joined;
using rules::kRunning;
using rules::Result;
using rules::shell;
using rules::Words;
using testing::AllOf;
using testing::HasSubstr;

class Checkpoint : public rules::LifecycleTest {
 protected:
  [[nodiscard]] bool has_told(const std::string& name) const {
    return std::filesystem::exists(path("out/" + name));
  }
};
RULES_EITHER_WAY(Checkpoint);

TEST_P(Checkpoint, OnAMappedSignalIsSavedByEachRankWithItsDataLoaders) {
  Instance instance(
      two_ranks({"--signal", "USR2=checkpoint"}, {rules::payload(), "loader", "3", "USR1"}));
  for (const char* rank : {"0", "1"}) await_told(std::string("ready-") + rank);
  await_state(kRunning);
  instance.signal(SIGUSR2);
  EXPECT_EQ(instance.wait(), 75) << instance.err();
  for (const char* rank : {"0", "1"}) {
    EXPECT_TRUE(has_told(std::string("checkpoint-") + rank));
    EXPECT_FALSE(has_told(std::string("crash-") + rank)) << told(std::string("crash-") + rank);
  }
}

TEST_P(Checkpoint, IsMadeByHandToo) {
  Instance instance(two_ranks({}, {rules::payload(), "loader", "3", "USR1"}));
  for (const char* rank : {"0", "1"}) await_told(std::string("ready-") + rank);
  await_state(kRunning);
  const Result asked = tool({"checkpoint"});
  EXPECT_EQ(asked.code, 0) << asked.err;
  EXPECT_THAT(asked.out, HasSubstr("then it ends with exit code 75"));
  EXPECT_EQ(instance.wait(), 75) << instance.err();
  EXPECT_TRUE(has_told("checkpoint-1"));
  EXPECT_THAT(instance.err(), HasSubstr("the checkpoint is saved: the job has ended, stopping"));
  EXPECT_THAT(tool({"status"}).out, HasSubstr("exit code 75: after a checkpoint"));
}

TEST_P(Checkpoint, ThatKeepsTheJobRunningMayBeRepeated) {
  Instance instance(spec({"--", rules::payload(), "loader", "2", "USR1", "stay"}));
  await_told("ready-0");
  await_state(kRunning);
  for (const char* count : {"1", "2"}) {
    std::filesystem::remove(path("out/checkpoint-0"));
    EXPECT_EQ(tool({"checkpoint", "--keep-running"}).code, 0);
    await_told("checkpoint-0");
    EXPECT_EQ(told("checkpoint-0"), count);
  }
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 0);
  EXPECT_FALSE(has_told("crash-0"));
}

TEST_P(Checkpoint, IsRefusedWhileOneIsUnderWay) {
  make_fifo("go");
  hook("checkpoint", "echo begun; read x < $HERE/go");
  Instance instance(
      job({"--checkpoint-signal", "none"}, {rules::payload(), "term-after", "0", "4"}));
  await_told("ready-0");
  await_state(kRunning);
  EXPECT_EQ(tool({"checkpoint", "--keep-running"}).code, 0);
  instance.await_err("begun");
  const Result busy = tool({"checkpoint", "--keep-running"});
  EXPECT_EQ(busy.code, 1);
  EXPECT_THAT(busy.err, HasSubstr("under way"));
  EXPECT_THAT(tool({"status"}).out, HasSubstr("checkpoint hooks"));
  std::ofstream(path("go")) << "x\n";
  await_state("\"checkpoint_under_way\": false");
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 4);
}

TEST_P(Checkpoint, OfHooksAloneEndsTheJobWhenTheyAreDone) {
  hook("checkpoint", "echo hook >> $HERE/journal");
  Instance instance(job({"--signal", "USR1=checkpoint"},
                        shell("sleep 1000 & trap 'echo USR1 >> $HERE/journal' USR1; "
                              "trap 'echo job >> $HERE/journal; exit 4' TERM; echo up; wait")));
  instance.await_out("up");
  await_state(kRunning);
  instance.signal(SIGUSR1);
  EXPECT_EQ(instance.wait(), 75);
  EXPECT_EQ(journal(), "hook\njob\n") << instance.err();
}

TEST_P(Checkpoint, ThatIsNotMadeInItsTimeEndsTheJobAllTheSame) {
  const std::string never_ready =
      "trap 'echo asked' USR1; trap 'echo told; exit 4' TERM; echo up; "
      "while :; do sleep 0.1 & wait; done";
  Instance instance(
      spec(joined({"--checkpoint-timeout", "100ms", "--grace", "5m", "--"}, shell(never_ready))));
  instance.await_out("up");
  await_state(kRunning);
  EXPECT_EQ(tool({"checkpoint"}).code, 0);
  EXPECT_EQ(instance.wait(), 75);
  EXPECT_EQ(instance.out(), "up\nasked\ntold\n");
  EXPECT_THAT(instance.err(), HasSubstr("the time for the checkpoint is over"));
}

TEST_P(Checkpoint, ThatNoProcessCatchesEndsTheJobAtOnceAndIsSaid) {
  Instance instance(
      spec({"--checkpoint-timeout", "1h", "--", rules::payload(), "term-after", "0", "4"}));
  await_told("ready-0");
  await_state(kRunning);
  const Result asked = tool({"checkpoint"});
  EXPECT_EQ(asked.code, 1);
  EXPECT_THAT(asked.err, HasSubstr("nothing was saved"));
  EXPECT_EQ(instance.wait(), 75);
  EXPECT_THAT(instance.err(), AllOf(HasSubstr("no process of the job catches SIGUSR1"),
                                    HasSubstr("no checkpoint: no process of the job handles")));
  EXPECT_TRUE(has_told("saved-0")) << "the signal that it would have died of was not sent";
}

TEST_P(Checkpoint, OfAJobThatFailsOverItIsNotCalledSaved) {
  Instance instance(spec(
      joined({"--hold", "1h", "--"}, shell("sleep 1000 & trap 'exit 3' USR1; echo up; wait"))));
  instance.await_out("up");
  await_state(kRunning);
  EXPECT_EQ(tool({"checkpoint"}).code, 0);
  EXPECT_EQ(instance.wait(), 75);
  EXPECT_THAT(instance.err(), HasSubstr("perhaps no checkpoint: the job has ended, not well (main: "
                                        "exit 3), stopping"));
}

TEST_P(Checkpoint, BeforeTheJobHasStartedHasNothingToSave) {
  Instance instance(
      spec({"--signal", "USR1=checkpoint", "--rank-table", path("absent.json"), "--", "true"}));
  instance.await_err("waiting for");
  instance.signal(SIGUSR1);
  EXPECT_EQ(instance.wait(), 75);
}

TEST_P(Checkpoint, DoesNotGoWithRestarts) {
  const Result result =
      rules::run(spec({"--signal", "USR1=checkpoint", "--max-restarts", "2", "--", "true"}));
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.err, AllOf(HasSubstr("checkpoint"), HasSubstr("--max-restarts")));
  Instance instance(spec({"--max-restarts", "2", "--", rules::payload(), "term-after", "0", "4"}));
  await_told("ready-0");
  await_state(kRunning);
  const Result asked = tool({"checkpoint"});
  EXPECT_EQ(asked.code, 1);
  EXPECT_THAT(asked.err, HasSubstr("--keep-running"));
  instance.signal(SIGTERM);
  EXPECT_EQ(instance.wait(), 4);
}

}  // namespace
