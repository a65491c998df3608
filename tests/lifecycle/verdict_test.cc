// Which failure of a job of several nodes was the first: waited for, heeded, late.

#include <gtest/gtest.h>

#include "lifecycle/machine.h"
#include "tests/lifecycle/script.h"

namespace lifecycle {
namespace {

// --- The verdict on a failure here ---

TEST(NodeVerdict, IsWaitedForOnceTheTasksHaveEnded) {
  Script job;
  job.running(2).linked();
  EXPECT_FALSE(job.machine().awaits_verdict());
  EXPECT_EQ(job.exited(0, 3), "report, signal 1#1=15, set kill#1@7000");
  EXPECT_TRUE(job.machine().awaits_verdict()) << "it may come at once";
  job.now = 500;
  EXPECT_EQ(job.signaled(1, SIGTERM), "cancel kill, set verdict#1@6500");
  EXPECT_TRUE(job.machine().awaits_verdict());
  EXPECT_EQ(job.phase(), "stopping");
  EXPECT_FALSE(job.machine().failed_elsewhere());
  EXPECT_EQ(job.nothing_left(), "") << "no sweep yet";
  EXPECT_EQ(job.nothing_adopted(), "");
  EXPECT_EQ(job.job_failed(kUnknown), "");
  EXPECT_EQ(job.linked(), "");
  EXPECT_TRUE(job.machine().awaits_verdict());
}

TEST(NodeVerdict, IsNotWaitedForWithoutALink) {
  Script never;
  never.running(1);
  EXPECT_EQ(never.exited(0, 3), "report, sweep 15, set sweep#1@7500");
  Script no_more;
  no_more.running(1).linked();
  no_more.linked(false);
  EXPECT_EQ(no_more.exited(0, 3), "report, sweep 15, set sweep#1@7500");
}

TEST(NodeVerdict, IsNotWaitedForAfterAnEndThatIsNoFailure) {
  Script done;
  done.running(1).linked();
  EXPECT_EQ(done.exited(0, 0), "sweep 15, set sweep#1@7500");
  Script stopped;
  stopped.running(1).linked();
  stopped.stop();
  EXPECT_EQ(stopped.exited(0, 0), "cancel kill, sweep 15, set sweep#1@7500");
}

TEST(NodeVerdict, IsWaitedForAfterAFailedPreparation) {
  Script job({}, {kData});
  job.begin();
  job.linked();
  EXPECT_EQ(job.exited(0, 3), "report, set verdict#1@6000");
  EXPECT_EQ(job.job_failed(kHere), "cancel verdict, sweep 15, set sweep#1@7500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 3");
}

TEST(NodeVerdict, MakesNoRestartOfAFailedPreparation) {
  Script job(with_restarts(9), {kData});
  job.begin();
  job.linked();
  EXPECT_TRUE(job.machine().may_restart());
  job.exited(0, 3);
  EXPECT_FALSE(job.machine().may_restart()) << "the data are not there, and are brought once";
  job.job_failed(kElsewhereAgain);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 76");
}

TEST(NodeVerdict, HereLeavesTheCodeAndTheCause) {
  Script job;
  job.running(1).linked();
  job.exited(0, 3);
  EXPECT_EQ(job.job_failed(kHere), "cancel verdict, sweep 15, set sweep#1@7500") << "one report";
  EXPECT_FALSE(job.machine().failed_elsewhere());
  EXPECT_EQ(job.machine().cause()->ends.size(), 1U);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 3");
}

TEST(NodeVerdict, HereIsAnsweredByARestartOfAllNodesOrNone) {
  Script again(with_restarts(1));
  again.running(1).linked();
  again.exited(0, 3);
  EXPECT_TRUE(again.machine().would_restart());
  again.job_failed(kHereAgain);
  EXPECT_EQ(again.nothing_left(), "cancel sweep, sweep 0, set restart#1@0");
  Script alone(with_restarts(1));
  alone.running(1).linked();
  alone.exited(0, 3);
  alone.job_failed(kHere);
  EXPECT_FALSE(alone.machine().would_restart());
  EXPECT_EQ(alone.nothing_left(), "cancel sweep, sweep 0, EXIT 3");
}

TEST(NodeVerdict, HereIsNotAnsweredByARestartThatThePolicyForbids) {
  Policy policy = with_restarts(1);
  policy.no_restart_on = {{3, 3}};
  for (const Policy& forbids : {policy, with_restarts(0)}) {
    Script job(forbids);
    job.running(1).linked();
    job.exited(0, 3);
    EXPECT_FALSE(job.machine().would_restart());
    job.job_failed(kHereAgain);
    EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 3");
  }
}

TEST(NodeVerdict, ElsewhereMakesTheFailureAConsequence) {
  Script job(with_restarts(1));
  job.running(1).linked();
  job.exited(0, 3);
  EXPECT_EQ(job.machine().exit_code(), 3);
  EXPECT_EQ(job.job_failed(kElsewhere), "report, cancel verdict, sweep 15, set sweep#1@7500");
  EXPECT_TRUE(job.machine().failed_elsewhere());
  EXPECT_TRUE(job.machine().cause()->ends.empty());
  EXPECT_EQ(job.machine().cause()->exit_code, 76);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 76");
}

TEST(NodeVerdict, ElsewhereIsAnsweredByARestartWhateverFailedHere) {
  Policy policy = with_restarts(1);
  policy.no_restart_on = {{3, 3}};
  Script job(policy);
  job.running(1).linked();
  job.exited(0, 3);
  job.job_failed(kElsewhereAgain);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, set restart#1@0");
}

TEST(NodeVerdict, MayComeBeforeTheTasksHaveEnded) {
  Script here;
  here.running(2).linked();
  here.exited(0, 3);
  EXPECT_EQ(here.job_failed(kHere), "");
  EXPECT_EQ(here.job_failed(kElsewhere), "") << "there is one verdict";
  EXPECT_EQ(here.signaled(1, SIGTERM), "cancel kill, sweep 15, set sweep#1@7500");
  EXPECT_EQ(here.machine().exit_code(), 3);
  Script elsewhere;
  elsewhere.running(2).linked();
  elsewhere.exited(0, 3);
  EXPECT_EQ(elsewhere.job_failed(kElsewhere), "report");
  EXPECT_EQ(elsewhere.signaled(1, SIGTERM), "cancel kill, sweep 15, set sweep#1@7500");
  EXPECT_EQ(elsewhere.machine().exit_code(), 76);
}

TEST(NodeVerdict, ThatDoesNotComeLeavesAllAsWithoutALink) {
  Script job(with_restarts(1));
  job.running(1).linked();
  job.exited(0, 3);
  job.now = 6000;
  EXPECT_EQ(job.fired(Timer::kVerdict), "sweep 15, set sweep#1@13500")
      << "the leftovers have all their time";
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, set restart#1@6000");
  Script lost;
  lost.running(1).linked();
  lost.exited(0, 3);
  lost.now = 2000;
  EXPECT_EQ(lost.linked(false), "cancel verdict, sweep 15, set sweep#1@9500");
  EXPECT_EQ(lost.nothing_left(), "cancel sweep, sweep 0, EXIT 3");
}

TEST(NodeVerdict, IsAwaitedAgainInEachStart) {
  Script job(with_restarts(9));
  job.running(1).linked();
  job.exited(0, 3);
  job.job_failed(kHereAgain);
  job.nothing_left();
  job.fired(Timer::kRestart);
  job.started(0);
  EXPECT_EQ(job.exited(0, 3), "report, set verdict#2@6000");
}

TEST(NodeVerdict, IsNotAwaitedAgainAfterTheHold) {
  Script job(with_hold(60'000));
  job.running(1, 1).linked();
  job.exited(0, 3);
  job.fired(Timer::kVerdict);
  job.nothing_adopted();
  EXPECT_EQ(job.phase(), "hold");
  EXPECT_EQ(job.step(event::Release{}), "cancel hold, sweep 15, signal 1#1=15, set sweep#2@7500");
  EXPECT_EQ(job.job_failed(kElsewhere), "") << "the code was shown all the time";
}

// --- A stop request beside the verdict ---

TEST(NodeVerdict, IsNotWaitedForByAStop) {
  Script job(with_restarts(9));
  job.running(1, 1, SuccessPolicy::kAll, {kPostStop}).linked();
  job.now = 1000;
  job.exited(0, 3);
  job.now = 3000;
  EXPECT_EQ(job.stop(), "cancel verdict, sweep 15, signal 1#1=15, set sweep#1@10500")
      << "7.5 s after the stop";
  EXPECT_EQ(job.job_failed(kElsewhere), "");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, set kill#1@10750, start 2#1");
  EXPECT_EQ(job.exited(2, 0), "cancel kill, EXIT 3");
}

TEST(NodeVerdict, IsNotWaitedForAfterAStop) {
  Script job;
  job.running(2).linked();
  job.exited(0, 3);
  job.stop();
  EXPECT_EQ(job.job_failed(kElsewhere), "") << "the stop came before it";
  EXPECT_EQ(job.signaled(1, SIGTERM), "cancel kill, sweep 15, set sweep#1@7500");
  Script elsewhere;
  elsewhere.running(1).linked();
  elsewhere.job_failed(kUnknown);
  elsewhere.stop();
  EXPECT_EQ(elsewhere.signaled(0, SIGTERM), "cancel kill, sweep 15, set sweep#1@7500");
  EXPECT_EQ(elsewhere.machine().exit_code(), 143);
}

TEST(NodeVerdict, IsLeftInAHurryByASecondInterrupt) {
  Script job;
  job.running(1, 1).linked();
  job.exited(0, 3);
  EXPECT_EQ(job.stop(SIGINT), "cancel verdict, sweep 15, signal 1#1=15, set sweep#1@7500");
  EXPECT_EQ(job.stop(SIGINT), "cancel sweep, sweep 9, signal 1#1=9, set give-up#1@250");
  Script before;
  before.running(2).linked();
  before.exited(0, 3);
  before.stop(SIGINT);
  before.stop(SIGINT);
  EXPECT_EQ(before.signaled(1, SIGKILL), "cancel give-up, sweep 9, set give-up#2@250");
}

// --- A verdict that comes late ---

TEST(LateVerdict, TakesBackARestartThatNoOtherNodeMakes) {
  for (const event::JobFailed& failure :
       {kHere, kElsewhere, kStoppedElsewhere, kExpiredElsewhere}) {
    Script job(with_restarts(1));
    job.running(1, 1, SuccessPolicy::kAll, {kOnFailure, kOnFailure}).linked();
    job.exited(0, 3);
    job.fired(Timer::kVerdict);
    EXPECT_FALSE(job.machine().awaits_verdict());
    EXPECT_EQ(job.job_failed(failure), "");
    EXPECT_FALSE(job.machine().failed_elsewhere()) << "what was said is not taken back";
    EXPECT_EQ(job.nothing_adopted(), "cancel sweep, sweep 0, start 2#1");
    EXPECT_EQ(job.exited(2, 0), "start 3#1");
    EXPECT_EQ(job.exited(3, 0), "sweep 15, signal 1#1=15, set sweep#2@7500");
    EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 3") << "each hook once";
  }
}

TEST(LateVerdict, TakesBackARestartBesideTheHooksOfAFailure) {
  Script job(with_restarts(1));
  job.running(1, {kOnFailure}).linked();
  job.exited(0, 3);
  job.job_failed(kHereAgain);
  job.nothing_left();
  EXPECT_EQ(job.phase(), "on-failure");
  EXPECT_EQ(job.job_failed(kElsewhereAgain), "");
  EXPECT_EQ(job.job_failed(kHere), "");
  EXPECT_EQ(job.exited(1, 0), "sweep 15, set sweep#2@7500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 3");
}

TEST(LateVerdict, MayMakeAHoldOfARestartAndNotTheOtherWayRound) {
  Policy policy = with_hold(60'000);
  policy.max_restarts = 1;
  policy.no_restart_on = {{3, 3}};
  Script restart(policy);
  restart.running(1, 1).linked();
  restart.exited(0, 4);
  restart.fired(Timer::kVerdict);
  restart.job_failed(kElsewhere);
  EXPECT_EQ(restart.nothing_adopted(), "cancel sweep, sweep 0, set hold#1@60000");
  Script hold(policy);
  hold.running(1, 1).linked();
  hold.exited(0, 3);
  hold.fired(Timer::kVerdict);
  hold.job_failed(kElsewhereAgain);
  EXPECT_EQ(hold.nothing_adopted(), "cancel sweep, sweep 0, set hold#1@60000");
}

TEST(LateVerdict, StartsNothingWhereTheEndHasBegun) {
  Policy policy = with_restarts(1);
  policy.no_restart_on = {{3, 3}};
  Script job(policy);
  job.running(1, 1).linked();
  job.exited(0, 3);
  EXPECT_EQ(job.fired(Timer::kVerdict), "sweep 15, signal 1#1=15, set sweep#1@7500");
  EXPECT_EQ(job.job_failed(kElsewhereAgain), "");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 3");
}

TEST(NodeVerdict, OfARestartMayBeTakenBack) {
  Script job(with_restarts(1));
  job.running(1).linked();
  job.exited(0, 3);
  job.job_failed(kElsewhereAgain);
  EXPECT_EQ(job.job_failed(kElsewhere), "") << "one report";
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, sweep 15, set sweep#2@7500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 76");
}

TEST(LateVerdict, CallsOffTheRestartThatIsAwaited) {
  Script elsewhere(with_restarts(1));
  elsewhere.running(1, 1, SuccessPolicy::kAll, {kOnFailure}).linked();
  elsewhere.exited(0, 3);
  elsewhere.fired(Timer::kVerdict);
  elsewhere.nothing_adopted();
  elsewhere.exited(2, 0);
  EXPECT_EQ(elsewhere.phase(), "auto-restart");
  EXPECT_EQ(elsewhere.job_failed(kUnknown), "");
  EXPECT_EQ(elsewhere.job_failed(kElsewhereAgain), "");
  EXPECT_EQ(elsewhere.job_failed(kElsewhere),
            "report, cancel restart, sweep 15, signal 1#1=15, set sweep#2@7500");
  EXPECT_EQ(elsewhere.machine().restart_at(), 0);
  EXPECT_EQ(elsewhere.nothing_left(), "cancel sweep, sweep 0, EXIT 76") << "hooks had their turn";
  Script here(with_restarts(1));
  here.running(1).linked();
  here.exited(0, 3);
  here.fired(Timer::kVerdict);
  here.nothing_left();
  EXPECT_EQ(here.job_failed(kHere), "cancel restart, sweep 15, set sweep#2@7500");
  EXPECT_EQ(here.nothing_left(), "cancel sweep, sweep 0, EXIT 3");
}

TEST(LateVerdict, OfAStopCallsOffTheRestart) {
  Script job(with_restarts(1));
  job.running(1).linked();
  job.exited(0, 3);
  job.job_failed(kHereAgain);
  job.nothing_left();
  EXPECT_EQ(job.job_failed(kStoppedElsewhere), "report, cancel restart, set verdict#2@1000");
  EXPECT_EQ(job.machine().exit_code(), 76);
  job.stop();
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 143")
      << "the failure was answered by the restart";
}

TEST(LateVerdict, ChangesNothingInTheHoldAndAfterIt) {
  Script job([] {
    Policy policy = with_hold(60'000);
    policy.post_stop_ms = 3000;
    return policy;
  }());
  job.running(1, {kPostStop}).linked();
  job.exited(0, 3);
  job.fired(Timer::kVerdict);
  job.nothing_left();
  const auto deaf = [&job](const char* phase) {
    EXPECT_EQ(job.phase(), phase);
    for (const event::JobFailed& failure :
         {kUnknown, kHere, kHereAgain, kElsewhere, kElsewhereAgain, kStoppedElsewhere}) {
      EXPECT_EQ(job.job_failed(failure), "") << phase;
    }
    EXPECT_EQ(job.machine().exit_code(), 3) << phase;
  };
  deaf("hold");
  job.step(event::Release{});
  deaf("stopping");
  job.nothing_left();
  deaf("post-stop");
  job.exited(1, 0);
  deaf("exited");
}

// --- Deaths from before the signal ---

TEST(FoundDead, IsAFailureOfItsOwnWhileTheVerdictIsOpen) {
  Script job;
  job.running(2).linked();
  job.job_failed(kUnknown);
  ASSERT_TRUE(job.machine().failed_elsewhere());
  EXPECT_EQ(job.found_dead(0, {ExitStatus::How::kSignaled, SIGKILL}), "report");
  EXPECT_FALSE(job.machine().failed_elsewhere());
  EXPECT_EQ(job.machine().cause()->exit_code, 137);
  EXPECT_TRUE(job.machine().awaits_verdict());
  job.signaled(1, SIGTERM);
  job.job_failed(kHere);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 137");
}

TEST(FoundDead, IsAConsequenceWhereTheVerdictSaysSo) {
  Script job;
  job.running(1).linked();
  job.job_failed(kUnknown);
  job.found_dead(0, {ExitStatus::How::kExited, 1});
  EXPECT_EQ(job.job_failed(kElsewhere), "report, cancel verdict, sweep 15, set sweep#1@7500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 76");
}

TEST(FoundDead, IsNothingOnceTheFirstFailureIsKnown) {
  Script job;
  job.running(2).linked();
  job.job_failed(kElsewhere);
  EXPECT_EQ(job.found_dead(0, {ExitStatus::How::kSignaled, SIGKILL}), "");
  EXPECT_TRUE(job.machine().failed_elsewhere());
}

TEST(FoundDead, IsNothingWhereAStopWasAskedForOrTheTaskEndedWell) {
  Script stopped;
  stopped.running(2);
  stopped.stop();
  EXPECT_EQ(stopped.found_dead(0, {ExitStatus::How::kExited, 1}), "");
  EXPECT_EQ(stopped.machine().cause(), nullptr);
  Script well;
  well.running(2).linked();
  well.job_failed(kUnknown);
  EXPECT_EQ(well.found_dead(0, {ExitStatus::How::kExited, 0}), "");
  EXPECT_TRUE(well.machine().failed_elsewhere());
}

TEST(FoundDead, IsOfTheSameBreathAsAFailureHere) {
  Script job;
  job.running(3);
  job.exited(0, 1);
  EXPECT_EQ(job.found_dead(1, {ExitStatus::How::kExited, 210}), "report");
  ASSERT_EQ(job.machine().cause()->ends.size(), 2U);
  EXPECT_EQ(job.machine().cause()->exit_code, 1) << "until somebody has looked";
  job.signaled(2, SIGTERM);
  EXPECT_EQ(job.machine().cause()->ends.size(), 2U);
}

// --- A rank that was failing when it was asked to stop ---

TEST(ShownFailure, IsThisNodesWhileTheVerdictIsOpen) {
  Script job;
  job.running(2).linked();
  job.job_failed(kUnknown);
  EXPECT_EQ(job.step(event::Diagnosed{.first = job.ref(0)}), "") << "it lives";
  job.signaled(0, SIGTERM);
  EXPECT_EQ(job.step(event::Diagnosed{.first = job.ref(0)}), "report");
  EXPECT_FALSE(job.machine().failed_elsewhere());
  job.signaled(1, SIGTERM);
  job.job_failed(kHere);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 1") << "143 is nobody's failure";
}

TEST(ShownFailure, HasItsOwnCodeWhereItExited) {
  Script job;
  job.running(1).linked();
  job.job_failed(kUnknown);
  job.exited(0, 7);
  job.step(event::Diagnosed{.first = job.ref(0)});
  EXPECT_EQ(job.machine().cause()->exit_code, 7);
}

TEST(ShownFailure, IsNothingOnceTheVerdictIsKnown) {
  Script job;
  job.running(1).linked();
  job.job_failed(kElsewhere);
  job.signaled(0, SIGTERM);
  EXPECT_EQ(job.step(event::Diagnosed{.first = job.ref(0)}), "");
  EXPECT_TRUE(job.machine().failed_elsewhere());
}

TEST(ShownFailure, IsNothingWhereAllWereAskedToSaveAndEnd) {
  Script job;
  job.running(2).linked();
  job.checkpoint();
  job.exited(0, 210);
  job.job_failed(kUnknown);
  EXPECT_EQ(job.found_dead(1, {ExitStatus::How::kExited, 1}).find("report"), std::string::npos);
  EXPECT_EQ(job.step(event::Diagnosed{.first = job.ref(0)}), "");
  EXPECT_TRUE(job.machine().failed_elsewhere()) << "whatever they return after that";
}

TEST(ShownFailure, IsNoneWhereThisNodeIsStoppedTooBeforeTheVerdict) {
  for (const bool shown : {false, true}) {
    Script job;
    job.running(2).linked();
    job.job_failed(kUnknown);
    if (shown) {
      job.signaled(0, SIGTERM);
      job.step(event::Diagnosed{.first = job.ref(0)});
    } else {
      job.found_dead(0, {ExitStatus::How::kExited, 1});
    }
    ASSERT_FALSE(job.machine().failed_elsewhere());
    job.stop();
    job.signaled(1, SIGTERM);
    EXPECT_TRUE(job.machine().stopped());
    EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 143");
  }
}

// --- The first of several ---

TEST(FirstOfSeveral, IsAwaitedBeforeAnybodyIsToldTheCode) {
  Script job;
  job.running(2, 0, SuccessPolicy::kAll, {kOnFailure});
  job.ended(
      {{job.ref(0), {ExitStatus::How::kExited, 1}}, {job.ref(1), {ExitStatus::How::kExited, 210}}});
  EXPECT_TRUE(job.machine().seeks_first());
  EXPECT_EQ(job.phase(), "stopping");
  EXPECT_EQ(job.step(event::Diagnosed{.first = job.ref(1)}), "report");
  EXPECT_EQ(job.machine().cause()->exit_code, 210);
  EXPECT_EQ(job.machine().cause()->ends[0].task, job.ref(1));
  EXPECT_EQ(job.step(event::Diagnosed{}), "cancel verdict, sweep 15, set sweep#1@7500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, start 2#1");
  EXPECT_EQ(job.exited(2, 0), "EXIT 210");
}

TEST(FirstOfSeveral, IsTheOneSeenFirstWhereNobodyTells) {
  Script job;
  job.running(2);
  job.ended(
      {{job.ref(0), {ExitStatus::How::kExited, 1}}, {job.ref(1), {ExitStatus::How::kExited, 210}}});
  job.now = 2500;
  EXPECT_EQ(job.fired(Timer::kVerdict), "sweep 15, set sweep#1@10000");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 1");
}

TEST(FirstOfSeveral, IsNoneThatIsNotAmongThem) {
  Script job;
  job.running(3);
  job.ended(
      {{job.ref(0), {ExitStatus::How::kExited, 1}}, {job.ref(1), {ExitStatus::How::kExited, 210}}});
  EXPECT_EQ(job.step(event::Diagnosed{.first = job.ref(2)}), "");
  EXPECT_EQ(job.step(event::Diagnosed{.restarts = 1, .first = job.ref(1)}), "");
  EXPECT_EQ(job.machine().cause()->exit_code, 1);
}

}  // namespace
}  // namespace lifecycle
