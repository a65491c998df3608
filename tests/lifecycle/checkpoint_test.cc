// Checkpoint and continue: the job saves, ends, and asks to be started again elsewhere.

#include <gtest/gtest.h>

#include "lifecycle/machine.h"
#include "tests/lifecycle/script.h"

namespace lifecycle {
namespace {

Policy saves_by_signal() {
  Policy policy;
  policy.checkpoint_signal = SIGUSR1;
  policy.checkpoint_ms = 60'000;
  return policy;
}

Policy saves_by_hook() {
  Policy policy;
  policy.checkpoint_ms = 60'000;
  return policy;
}

TEST(Checkpoint, WaitsForTheMainTasksThatWereAskedAndEndsWith75) {
  Script job(saves_by_signal());
  job.running(2);
  job.now = 1000;
  EXPECT_EQ(job.checkpoint(), "ask to save, set checkpoint#1@61000");
  EXPECT_EQ(job.phase(), "checkpointing");
  EXPECT_TRUE(job.machine().checkpointing());
  EXPECT_EQ(job.machine().checkpoint_until(), 61'000);
  EXPECT_EQ(job.exited(0, 0), "");
  EXPECT_EQ(job.exited(1, 0), "cancel checkpoint, sweep 15, set sweep#1@8500");
  EXPECT_EQ(job.machine().checkpoint_until(), 0);
  EXPECT_TRUE(job.machine().rescheduled());
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 75");
}

TEST(Checkpoint, EndsWith75WhateverTheMainTasksSay) {
  for (const int code : {1, 143}) {
    Script job(saves_by_signal());
    job.running(1, {kOnFailure});
    job.checkpoint();
    EXPECT_EQ(job.exited(0, code), "cancel checkpoint, sweep 15, set sweep#1@7500");
    EXPECT_EQ(job.machine().cause(), nullptr);
    EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 75");
  }
}

TEST(Checkpoint, IsNeverLongerThanGranted) {
  Script job(saves_by_signal());
  job.running(1, {kCheckpoint});
  EXPECT_EQ(job.checkpoint(), "ask to save, start 1#1, set checkpoint#1@60000");
  job.now = 60'000;
  EXPECT_EQ(job.fired(Timer::kCheckpoint), "signal 1#1=15, signal 0#1=15, set kill#1@67000");
  job.signaled(0, SIGTERM);
  EXPECT_EQ(job.signaled(1, SIGTERM), "cancel kill, sweep 15, set sweep#1@67500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 75");
}

TEST(Checkpoint, ByHooksAloneIsOverWithThem) {
  Script job(saves_by_hook());
  job.running(1, {kCheckpoint, kCheckpoint});
  EXPECT_EQ(job.checkpoint(), "start 1#1, set checkpoint#1@60000");
  EXPECT_EQ(job.exited(1, 9), "start 2#1") << "its failure changes nothing";
  EXPECT_EQ(job.exited(2, 0), "cancel checkpoint, signal 0#1=15, set kill#1@7000");
  EXPECT_EQ(job.signaled(0, SIGTERM), "cancel kill, sweep 15, set sweep#1@7500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 75");
}

// Nobody says that a signal was answered.
TEST(Checkpoint, BySignalAndHooksIsNotOverWithTheHooks) {
  Script job(saves_by_signal());
  job.running(1, {kCheckpoint});
  job.checkpoint();
  EXPECT_EQ(job.exited(1, 0), "");
  EXPECT_EQ(job.phase(), "checkpointing");
}

TEST(Checkpoint, IsOverAtOnceWhereNobodyTakesTheSignal) {
  Script job(saves_by_signal());
  job.running(1);
  job.checkpoint();
  EXPECT_EQ(job.step(event::NobodySaves{}), "cancel checkpoint, signal 0#1=15, set kill#1@7000");
}

TEST(Checkpoint, WaitsForItsHooksWhereNobodyTakesTheSignal) {
  Script job(saves_by_signal());
  job.running(1, {kCheckpoint});
  job.checkpoint();
  EXPECT_EQ(job.step(event::NobodySaves{}), "");
  EXPECT_EQ(job.exited(1, 0), "cancel checkpoint, signal 0#1=15, set kill#1@7000");
}

TEST(Checkpoint, IsOverWithTheMainTaskThatDecides) {
  Script job(saves_by_signal());
  job.running(2, 0, SuccessPolicy::kFirst);
  job.checkpoint();
  EXPECT_EQ(job.exited(0, 0), "cancel checkpoint, signal 1#1=15, set kill#1@7000");
}

TEST(Checkpoint, StartsNoFurtherHookWhenTheMainTasksEndTogetherWithOne) {
  Script job(saves_by_hook());
  job.running(1, {kCheckpoint, kCheckpoint});
  job.checkpoint();
  EXPECT_EQ(job.ended({{job.ref(1), {}}, {job.ref(0), {}}}),
            "cancel checkpoint, sweep 15, set sweep#1@7500");
}

TEST(Checkpoint, WithNothingToAskEndsAtOnce) {
  Script job;
  job.running(1);
  EXPECT_EQ(job.checkpoint(),
            "set checkpoint#1@300000, cancel checkpoint, signal 0#1=15, set kill#1@7000");
  job.exited(0, 0);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 75");
}

TEST(Checkpoint, IsFollowedByPreStopHooks) {
  Policy policy = saves_by_hook();
  policy.pre_stop_ms = 2000;
  Script job(policy);
  job.running(1, {kCheckpoint, kPreStop});
  job.checkpoint();
  EXPECT_EQ(job.exited(1, 0), "cancel checkpoint, start 2#1, set notify#1@2000");
  EXPECT_EQ(job.exited(2, 0), "cancel notify, signal 0#1=15, set kill#1@7000");
}

TEST(Checkpoint, IsCutShortByAStopAndEndsWith75AllTheSame) {
  Script job(saves_by_signal());
  job.running(1, {kCheckpoint});
  job.checkpoint();
  job.now = 500;
  EXPECT_EQ(job.stop(SIGINT), "cancel checkpoint, signal 1#1=15, signal 0#1=2, set kill#1@7500");
  job.signaled(0, SIGINT);
  job.exited(1, 0);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 75");
}

TEST(Checkpoint, ASecondRequestChangesNothing) {
  Script job(saves_by_signal());
  job.running(1, {kCheckpoint});
  job.checkpoint();
  job.now = 100;
  EXPECT_EQ(job.checkpoint(), "");
  EXPECT_EQ(job.checkpoint_and_go_on(), "");
  EXPECT_EQ(job.machine().checkpoint_until(), 60'000);
}

TEST(Checkpoint, ChangesNothingOnTheWayDown) {
  Script job(saves_by_signal());
  job.running(1, {kCheckpoint});
  job.stop();
  EXPECT_EQ(job.checkpoint(), "");
  EXPECT_EQ(job.checkpoint_and_go_on(), "");
  job.exited(0, 3);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 3");
}

TEST(Checkpoint, WhileItPreparesThereIsNothingToSave) {
  Script job(saves_by_signal(), {kResolve});
  job.begin();
  EXPECT_EQ(job.checkpoint_and_go_on(), "");
  EXPECT_EQ(job.checkpoint(), "signal 0#1=9, set give-up#1@250");
  job.signaled(0, SIGKILL);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 75");
}

TEST(Checkpoint, TellsAPreStartHookToStop) {
  Script job(saves_by_hook());
  job.begin();
  job.ready({kMain, kPreStart, kCheckpoint});
  EXPECT_EQ(job.checkpoint(), "signal 1#1=15, set kill#1@7000");
}

TEST(Checkpoint, CallsOffARestart) {
  Policy policy = saves_by_signal();
  policy.max_restarts = 1;
  Script job(policy);
  job.running(1);
  job.exited(0, 1);
  job.nothing_left();
  EXPECT_EQ(job.checkpoint_and_go_on(), "");
  EXPECT_EQ(job.checkpoint(), "cancel restart, sweep 15, set sweep#2@7500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 75");
}

TEST(Checkpoint, HasPostStartHooksToldWhenItEnds) {
  Script job(saves_by_signal());
  job.running(1, {kPostStart, kPostStart});
  EXPECT_EQ(job.checkpoint(), "ask to save, set checkpoint#1@60000");
  EXPECT_EQ(job.exited(1, 5), "") << "it is no failure any more, and the second does not start";
  job.exited(0, 0);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 75");
}

TEST(Checkpoint, OtherNodesAndTheTimeLimitWaitForIt) {
  Policy policy = saves_by_signal();
  policy.max_duration_ms = 1000;
  Script job(policy);
  job.running(1);
  job.checkpoint();
  EXPECT_EQ(job.other_nodes(), "");
  job.now = 1000;
  EXPECT_EQ(job.fired(Timer::kExpire), "");
  job.exited(0, 0);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 75");
}

// A pause has no main task that could end the checkpoint.
TEST(Checkpoint, OfAPauseLetsTheHooksFinish) {
  Script job(saves_by_signal());
  job.begin();
  job.ready({kService, kCheckpoint});
  EXPECT_EQ(job.checkpoint(), "ask to save, start 1#1, set checkpoint#1@60000");
  EXPECT_EQ(job.exited(1, 0), "cancel checkpoint, sweep 15, signal 0#1=15, set sweep#1@7500");
  job.signaled(0, SIGTERM);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 75");
}

// --- And the job goes on ---

TEST(CheckpointAndGoOn, AsksAndChangesNothingElse) {
  Script job(saves_by_signal());
  job.running(1, {kCheckpoint, kCheckpoint});
  EXPECT_EQ(job.checkpoint_and_go_on(), "ask to save, start 1#1");
  EXPECT_EQ(job.phase(), "running");
  EXPECT_TRUE(job.machine().checkpointing());
  EXPECT_EQ(job.machine().checkpoint_until(), 0);
  EXPECT_EQ(job.checkpoint_and_go_on(), "") << "one at a time";
  EXPECT_EQ(job.exited(1, 1), "start 2#1") << "its failure changes nothing";
  EXPECT_EQ(job.exited(2, 0), "");
  EXPECT_FALSE(job.machine().checkpointing());
  EXPECT_EQ(job.checkpoint_and_go_on(), "ask to save, start 1#2") << "the next";
  job.exited(1, 0);
  job.exited(2, 0);
  job.exited(0, 0);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 0");
}

TEST(CheckpointAndGoOn, MayTurnIntoAnEndWithoutAskingTwice) {
  Script job(saves_by_signal());
  job.running(1, {kCheckpoint});
  job.checkpoint_and_go_on();
  job.now = 100;
  EXPECT_EQ(job.checkpoint(), "set checkpoint#1@60100");
}

TEST(CheckpointAndGoOn, IsOverWithTheJob) {
  Script job(saves_by_hook());
  job.running(1, {kCheckpoint, kCheckpoint});
  job.checkpoint_and_go_on();
  EXPECT_EQ(job.exited(0, 0), "signal 1#1=15, set kill#1@7000");
  EXPECT_EQ(job.exited(1, 0), "cancel kill, sweep 15, set sweep#1@7500") << "nor the second";
}

TEST(CheckpointAndGoOn, GoesThroughItsHooksWhileTheJobStarts) {
  Script job(saves_by_hook());
  job.begin();
  job.ready({kMain, kCheckpoint, kCheckpoint});
  EXPECT_EQ(job.checkpoint_and_go_on(), "start 1#1");
  EXPECT_EQ(job.exited(1, 0), "start 2#1");
  EXPECT_EQ(job.phase(), "starting");
}

}  // namespace
}  // namespace lifecycle
