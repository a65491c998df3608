// The way down: stop requests, TERM and KILL, leftovers, the debug window, exit codes.

#include <gtest/gtest.h>

#include "lifecycle/machine.h"
#include "tests/lifecycle/script.h"

namespace lifecycle {
namespace {

// --- Stop requests while preparing ---

TEST(Stop, BeforeTheBeginning) {
  Script job(standard(), {kData, kResolve});
  EXPECT_EQ(job.stop(), "sweep 15, set sweep#1@7500");
  EXPECT_EQ(job.begin(), "");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 143");
}

TEST(Stop, WhileResolvingKillsTheResolverAtOnceAndIsNeverZero) {
  Script job(standard(), {kResolve});
  job.begin();
  EXPECT_EQ(job.stop(), "signal 0#1=9, set give-up#1@250");
  EXPECT_EQ(job.exited(0, 0), "cancel give-up, sweep 15, set sweep#1@7500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 143");
  EXPECT_EQ(job.machine().cause(), nullptr);
}

TEST(Stop, WhileAHookRunsTellsTheHook) {
  Script job;
  job.begin();
  EXPECT_EQ(job.ready({kPreStart, kMain}), "start 0#1");
  EXPECT_EQ(job.stop(SIGINT), "signal 0#1=15, set kill#1@7000");
  job.now = 7000;
  EXPECT_EQ(job.fired(Timer::kKill), "signal 0#1=9, set give-up#1@7250");
  EXPECT_EQ(job.signaled(0, SIGKILL), "cancel give-up, sweep 15, set sweep#1@7500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 130");
}

TEST(Stop, WhileDataIsCopiedKillsTheCopyAndWaitsForNothingThatHangs) {
  Script job(standard(), {kData, kResolve});
  job.begin();
  EXPECT_EQ(job.stop(), "signal 0#1=9, signal 1#1=9, set give-up#1@250");
  EXPECT_EQ(job.signaled(1, SIGKILL), "");
  job.now = 250;
  EXPECT_EQ(job.fired(Timer::kGiveUp), "sweep 15, set sweep#1@450") << "the copy hangs";
  job.now = 450;
  EXPECT_EQ(job.fired(Timer::kSweep), "sweep 9, set give-up#2@700") << "and what it has started";
  job.now = 700;
  EXPECT_EQ(job.fired(Timer::kGiveUp, 2), "sweep 0, EXIT 143");
}

TEST(Stop, WhatAKilledCopyLeavesBehindIsGivenNoMoreThanTheGrace) {
  Policy policy;
  policy.grace_ms = 300;
  policy.kill_reserve_ms = 10;
  Script job(policy, {kData});
  job.begin();
  EXPECT_EQ(job.stop(), "signal 0#1=9, set give-up#1@200");
  job.now = 200;
  EXPECT_EQ(job.fired(Timer::kGiveUp), "sweep 15, set sweep#1@295");
}

TEST(Stop, NothingStartsAfterIt) {
  Script job(standard(), {kResolve});
  job.begin();
  job.stop();
  EXPECT_EQ(job.ready({kMain}), "");
  EXPECT_EQ(job.exited(0, 0), "cancel give-up, sweep 15, set sweep#1@7500");
}

TEST(Stop, WhileStartingReachesTasksNotYetConfirmed) {
  Script job;
  job.begin();
  job.ready({kMain, kMain});
  job.started(0);
  EXPECT_EQ(job.stop(), "signal 0#1=15, signal 1#1=15, set kill#1@7000");
  EXPECT_EQ(job.started(1), "");
}

// --- The stop sequence ---

TEST(StopSequence, TermThenKillThenLeftoversThenTheExit) {
  Script job;
  job.running(1);
  job.now = 1000;
  EXPECT_EQ(job.stop(), "signal 0#1=15, set kill#1@8000");
  job.now = 8000;
  EXPECT_EQ(job.fired(Timer::kKill), "signal 0#1=9, set give-up#1@8250");
  job.now = 8100;
  EXPECT_EQ(job.signaled(0, SIGKILL), "cancel give-up, sweep 15, set sweep#1@8500");
  job.now = 8500;
  EXPECT_EQ(job.fired(Timer::kSweep), "sweep 9, set give-up#2@8750");
  job.now = 8750;
  EXPECT_EQ(job.fired(Timer::kGiveUp, 2), "sweep 0, EXIT 137");
}

TEST(StopSequence, ForwardsTheStopSignalItselfToTheMainTasksOnly) {
  Script job;
  job.running(1, 1);
  EXPECT_EQ(job.stop(SIGQUIT), "signal 0#1=3, set kill#1@7000");
  EXPECT_EQ(job.signaled(0, SIGQUIT), "cancel kill, sweep 15, signal 1#1=15, set sweep#1@7500");
}

TEST(StopSequence, AFailureEndsTheOthersByTermWhateverComesLater) {
  Script job;
  job.running(2);
  EXPECT_EQ(job.exited(0, 3), "report, signal 1#1=15, set kill#1@7000");
  job.now = 2000;
  EXPECT_EQ(job.stop(), "") << "they were told, and the earlier deadline holds";
}

TEST(StopSequence, ASecondTermIsADuplicate) {
  Script job;
  job.running(1);
  job.stop();
  EXPECT_EQ(job.stop(), "");
  EXPECT_EQ(job.stop(SIGINT), "signal 0#1=2") << "the first INT";
}

// A job that ignores INT and saves on TERM is still to see the TERM.
TEST(StopSequence, EachOtherStopSignalReachesTheMainTasksOnceAndLeavesTheDeadline) {
  Script job;
  job.running(2, 1);
  job.stop(SIGINT);
  job.exited(1, 0);
  job.now = 1000;
  EXPECT_EQ(job.stop(), "signal 0#1=15");
  EXPECT_EQ(job.stop(), "");
  EXPECT_EQ(job.stop(SIGQUIT), "signal 0#1=3");
  job.now = 7000;
  EXPECT_EQ(job.fired(Timer::kKill), "signal 0#1=9, set give-up#1@7250");
  EXPECT_EQ(job.stop(SIGHUP), "") << "after the KILL it reaches nobody";
}

TEST(StopSequence, AStopThatFollowsAFailureIsPassedOnWhenItIsAnotherSignal) {
  Script job;
  job.running(2);
  job.exited(0, 3);
  EXPECT_EQ(job.stop(SIGINT), "signal 1#1=2");
  job.signaled(1, SIGINT);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 3");
}

TEST(StopSequence, StopSignalsDuringTheDrainAllReachTheMainTasksBehindIt) {
  Policy policy;
  policy.drain_ms = 500;
  Script job(policy);
  job.running(1);
  EXPECT_EQ(job.stop(SIGINT), "set notify#1@500");
  EXPECT_EQ(job.stop(), "");
  job.now = 500;
  EXPECT_EQ(job.fired(Timer::kNotify), "signal 0#1=2, signal 0#1=15, set kill#1@7000");
}

TEST(StopSequence, StopSignalsAreTheSameWhenTheJobIsToldTheSame) {
  Script job;
  job.running(1);
  EXPECT_EQ(job.stop(SIGTERM, SIGINT), "signal 0#1=2, set kill#1@7000");
  EXPECT_EQ(job.stop(SIGINT), "");
}

TEST(StopSequence, AServerMayDieOfAnyStopSignalThatItWasSent) {
  Script job;
  job.running(1, 0, SuccessPolicy::kServe);
  job.stop(SIGINT);
  job.stop();
  job.signaled(0, SIGTERM);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 0");
}

TEST(StopSequence, ASecondIntKillsAtOnceAllTheWayDown) {
  Script job;
  job.running(1, 1);
  job.stop(SIGINT);
  job.now = 300;
  EXPECT_EQ(job.stop(SIGINT), "cancel kill, signal 0#1=9, set give-up#1@550");
  EXPECT_EQ(job.signaled(0, SIGKILL), "cancel give-up, sweep 9, signal 1#1=9, set give-up#2@550");
  EXPECT_EQ(job.stop(SIGINT), "");
  job.signaled(1, SIGKILL);
  EXPECT_EQ(job.nothing_left(), "cancel give-up, sweep 0, EXIT 137");
}

TEST(StopSequence, ASecondIntDuringTheSweepKillsTheLeftovers) {
  Script job;
  job.running(1);
  job.stop(SIGINT);
  job.signaled(0, SIGINT);
  EXPECT_EQ(job.stop(SIGINT), "cancel sweep, sweep 9, set give-up#1@250");
  EXPECT_EQ(job.fired(Timer::kGiveUp), "sweep 0, EXIT 130");
}

// --- A task of another user's, whom we may not signal ---

TEST(Unreachable, AMainTaskIsNotWaitedFor) {
  Script job;
  job.running(1);
  job.stop();
  EXPECT_EQ(job.step(event::Unreachable{{0, 1}}), "cancel kill, sweep 15, set sweep#1@7500");
  EXPECT_EQ(job.step(event::Unreachable{{0, 1}}), "");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 137");
}

TEST(Unreachable, TheOthersHaveTheirTime) {
  Script job;
  job.running(2);
  job.stop();
  EXPECT_EQ(job.step(event::Unreachable{{0, 1}}), "");
  job.now = 7000;
  EXPECT_EQ(job.fired(Timer::kKill), "signal 1#1=9, set give-up#1@7250");
}

TEST(Unreachable, OneThatWasNotToldToStopIsWaitedFor) {
  Script job;
  job.running(1);
  EXPECT_EQ(job.step(event::Unreachable{{0, 1}}), "");
  EXPECT_EQ(job.phase(), "running");
}

TEST(Unreachable, BesideItNothingIsRestarted) {
  Script job(with_restarts(3));
  job.running(2);
  job.exited(0, 3);
  EXPECT_EQ(job.step(event::Unreachable{{1, 1}}), "cancel kill, sweep 15, set sweep#1@7500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 3");
}

// --- The escalation ---

TEST(Escalation, SendsEachStepAtItsTimeAndThenTheKill) {
  Script job(with_escalation({{SIGINT, 2000}, {SIGQUIT, 5000}}));
  job.running(1);
  job.now = 1000;
  EXPECT_EQ(job.stop(), "signal 0#1=15, set kill#1@8000, set escalate#1@3000");
  job.now = 3000;
  EXPECT_EQ(job.fired(Timer::kEscalate, 1), "signal 0#1=2, set escalate#2@6000");
  job.now = 6000;
  EXPECT_EQ(job.fired(Timer::kEscalate, 2), "signal 0#1=3");
  job.now = 8000;
  EXPECT_EQ(job.fired(Timer::kKill), "signal 0#1=9, set give-up#1@8250");
}

TEST(Escalation, ReachesOnlyTheMainTasksThatLiveOn) {
  Script job(with_escalation({{SIGINT, 2000}}));
  job.running(3, 1);
  job.stop();
  job.exited(1, 0);
  job.now = 2000;
  EXPECT_EQ(job.fired(Timer::kEscalate), "signal 0#1=2, signal 2#1=2");
}

TEST(Escalation, EndsWithTheLastMainTask) {
  Script job(with_escalation({{SIGINT, 2000}}));
  job.running(1);
  job.stop();
  EXPECT_EQ(job.exited(0, 0), "cancel kill, cancel escalate, sweep 15, set sweep#1@7500");
  job.now = 2000;
  EXPECT_EQ(job.fired(Timer::kEscalate), "");
}

TEST(Escalation, LeavesOutWhatWouldComeWithTheKillOrAfterIt) {
  Script job(with_escalation({{SIGINT, 6999}, {SIGQUIT, 7000}, {SIGABRT, 9000}}));
  job.running(1);
  EXPECT_EQ(job.stop(), "signal 0#1=15, set kill#1@7000, set escalate#1@6999");
  job.now = 6999;
  EXPECT_EQ(job.fired(Timer::kEscalate), "signal 0#1=2");
}

TEST(Escalation, WithAKillInItIsAnEarlierKill) {
  Script job(with_escalation({{SIGINT, 100}, {SIGKILL, 500}, {SIGQUIT, 600}}));
  job.running(1);
  job.stop();
  job.now = 100;
  job.fired(Timer::kEscalate, 1);
  job.now = 500;
  EXPECT_EQ(job.fired(Timer::kEscalate, 2), "cancel kill, signal 0#1=9, set give-up#1@750");
}

TEST(Escalation, IsCutShortByASecondInt) {
  Script job(with_escalation({{SIGQUIT, 2000}}));
  job.running(1);
  job.stop(SIGINT);
  EXPECT_EQ(job.stop(SIGINT), "cancel kill, cancel escalate, signal 0#1=9, set give-up#1@250");
}

TEST(Escalation, TellsThoseWhomAFailureStoppedToo) {
  Script job(with_escalation({{SIGINT, 2000}}));
  job.running(2);
  EXPECT_EQ(job.exited(0, 3), "report, signal 1#1=15, set kill#1@7000, set escalate#1@2000");
  job.now = 2000;
  EXPECT_EQ(job.fired(Timer::kEscalate), "signal 1#1=2");
  job.signaled(1, SIGINT);
  EXPECT_EQ(job.machine().cause()->ends.size(), 1U) << "a death by our signal is no cause";
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 3");
}

TEST(Escalation, IsNotForHooks) {
  Script job(with_escalation({{SIGINT, 2000}}));
  job.begin();
  job.ready({kPreStart, kMain});
  EXPECT_EQ(job.stop(), "signal 0#1=15, set kill#1@7000");
}

TEST(Escalation, ToDieOfItIsHowAServerIsStopped) {
  for (const auto& [signal, code] : {std::pair{SIGINT, 0}, {SIGQUIT, 143}, {SIGTERM, 0}}) {
    Script job(with_escalation({{SIGINT, 2000}, {SIGQUIT, 3000}}));
    job.running(1, 0, SuccessPolicy::kServe);
    job.stop();
    job.now = 2000;
    job.fired(Timer::kEscalate);
    job.signaled(0, signal);
    // A single server has its own code where it was not our signal that ended it.
    const int expected = code == 0 ? 0 : 128 + signal;
    EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT " + std::to_string(expected));
  }
}

// --- Late clocks: a frozen cgroup, a virtual machine that stood still ---

TEST(LateClock, TheKillComesAtOnceWhenItsTimeHasPassedMeanwhile) {
  Script job(with_escalation({{SIGINT, 2000}}));
  job.running(1);
  job.stop();
  job.now = 3'600'000;
  EXPECT_EQ(job.fired(Timer::kKill), "cancel escalate, signal 0#1=9, set give-up#1@3600250");
  EXPECT_EQ(job.fired(Timer::kEscalate), "");
}

TEST(LateClock, OverdueStepsComeAtOnceOneByOne) {
  Script job(with_escalation({{SIGINT, 2000}, {SIGQUIT, 2500}}));
  job.running(1);
  job.stop();
  job.now = 6000;
  EXPECT_EQ(job.fired(Timer::kEscalate, 1), "signal 0#1=2, set escalate#2@6000");
  EXPECT_EQ(job.fired(Timer::kEscalate, 2), "signal 0#1=3");
}

TEST(LateClock, WhatIsKilledIsStillGivenItsTimeToBeReaped) {
  Script job;
  job.running(1);
  job.stop();
  job.now = 3'600'000;
  job.fired(Timer::kKill);
  job.now = 3'600'100;
  EXPECT_EQ(job.signaled(0, SIGKILL), "cancel give-up, sweep 15, set sweep#1@3600100");
  EXPECT_EQ(job.fired(Timer::kSweep), "sweep 9, set give-up#2@3600350");
}

// --- What SIGKILL does not end ---

TEST(StopSequence, GoesOnWithoutAProcessThatKillDoesNotEnd) {
  Script job;
  job.running(1);
  job.stop();
  job.now = 7000;
  job.fired(Timer::kKill);
  job.now = 7250;
  EXPECT_EQ(job.fired(Timer::kGiveUp), "sweep 15, set sweep#1@7500");
  EXPECT_TRUE(job.machine().tasks()[0].abandoned);
  job.now = 7500;
  EXPECT_EQ(job.fired(Timer::kSweep), "sweep 9, set give-up#2@7750");
  EXPECT_EQ(job.signaled(0, SIGKILL), "") << "it may still end, late";
  EXPECT_EQ(job.fired(Timer::kGiveUp, 2), "sweep 0, EXIT 137");
}

TEST(StopSequence, ASmallGraceStillHasATermPhase) {
  Policy policy;
  policy.grace_ms = 400;
  Script job(policy);
  job.running(1);
  EXPECT_EQ(job.stop(), "signal 0#1=15, set kill#1@100");
}

TEST(StopSequence, LeftoversOfASuccessAreSweptWithinTheGraceToo) {
  Script job;
  job.running(1);
  job.now = 100'000;
  EXPECT_EQ(job.exited(0, 0), "sweep 15, set sweep#1@107500");
  job.now = 107'500;
  EXPECT_EQ(job.fired(Timer::kSweep), "sweep 9, set give-up#1@107750");
  EXPECT_EQ(job.nothing_left(), "cancel give-up, sweep 0, EXIT 0");
}

TEST(StopSequence, ServicesEndAfterTheMainTasksAndAreWaitedFor) {
  Script job;
  job.running(1, 1);
  EXPECT_EQ(job.exited(0, 0), "sweep 15, signal 1#1=15, set sweep#1@7500");
  EXPECT_EQ(job.nothing_adopted(), "");
  job.now = 7500;
  EXPECT_EQ(job.fired(Timer::kSweep), "sweep 9, signal 1#1=9, set give-up#1@7750");
  job.signaled(1, SIGKILL);
  EXPECT_EQ(job.nothing_left(), "cancel give-up, sweep 0, EXIT 0");
}

// --- Exit codes of a stop ---

// What the main tasks do when told to stop; -n: die of signal n.
struct StopCase {
  SuccessPolicy success;
  std::vector<int> codes;
  int expected;
};

TEST(ExitCode, OfAStop) {
  constexpr auto kAll = SuccessPolicy::kAll;
  constexpr auto kFirst = SuccessPolicy::kFirst;
  constexpr auto kServe = SuccessPolicy::kServe;
  const std::vector<StopCase> cases = {
      {kAll, {-SIGTERM}, 143},       // a single command's own
      {kAll, {0}, 0},                //
      {kAll, {3}, 3},                //
      {kAll, {-SIGKILL}, 137},       //
      {kFirst, {0}, 0},              //
      {kAll, {0, 0}, 143},           // a fan-out: whatever they exit with
      {kAll, {-SIGTERM, 3}, 143},    //
      {kFirst, {0, -SIGTERM}, 143},  //
      {kServe, {-SIGTERM}, 0},       // a server did what it was told
      {kServe, {0, -SIGTERM}, 0},    //
      {kServe, {-SIGKILL}, 137},     // or had to be killed
      {kServe, {1}, 1},              //
      {kServe, {-SIGTERM, 1}, 143},  //
      {kServe, {-SIGSEGV}, 139},     //
  };
  for (const StopCase& each : cases) {
    Script job;
    job.running(static_cast<int>(each.codes.size()), 0, each.success);
    job.stop();
    for (std::uint32_t i = 0; i < each.codes.size(); ++i) {
      const int code = each.codes[i];
      code < 0 ? job.signaled(i, -code) : job.exited(i, code);
    }
    const std::string last = job.nothing_left();
    EXPECT_EQ(last, "cancel sweep, sweep 0, EXIT " + std::to_string(each.expected))
        << ::testing::PrintToString(each.codes);
  }
}

TEST(ExitCode, OfAFanOutNamesTheSignalThatStoppedIt) {
  Script job;
  job.running(2);
  job.stop(SIGINT);
  job.exited(0, 0);
  job.exited(1, 0);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 130");
}

// An agent says 1, or 15, or 143 when it is told to stop: not the same on every node.
TEST(ExitCode, OfAStoppedNodeOfSeveralNamesTheSignal) {
  for (const int code : {0, 1, 3}) {
    Script job;
    job.begin();
    job.step(event::ClusterReady{.tasks = {kMain}, .part_of_job = true});
    job.started(0);
    job.stop();
    job.exited(0, code);
    EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 143") << code;
  }
}

TEST(ExitCode, OfAFanOutThatHadEndedBeforeTheStopIsItsOwn) {
  Script job;
  job.running(2);
  job.exited(0, 0);
  job.exited(1, 0);
  EXPECT_EQ(job.stop(), "") << "leftovers are being swept already";
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 0");
}

TEST(ExitCode, OfAnEarlierFailureOutlivesTheStopWhichLeavesOutTheHold) {
  Script job(with_hold(60'000));
  job.running(2);
  job.exited(0, 3);
  job.stop();
  job.signaled(1, SIGTERM);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 3");
}

TEST(ExitCode, OfASuccessOutlivesTheStop) {
  Script job;
  job.running(2, 0, SuccessPolicy::kFirst);
  job.exited(0, 0);
  job.stop();
  job.signaled(1, SIGTERM);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 0");
}

// --- The debug window ---

// One main task and a service, held after exit 3 at time 1000.
Script held() {
  Script job(with_hold(60'000));
  job.running(1, 1);
  job.now = 1000;
  job.exited(0, 3);
  job.nothing_adopted();
  return job;
}

TEST(Hold, SweepsAdoptedProcessesAndLeavesServicesAlone) {
  Script job(with_hold(60'000));
  job.running(1, 1);
  EXPECT_EQ(job.exited(0, 3), "report, sweep 15, set sweep#1@7500");
  EXPECT_EQ(job.nothing_adopted(), "cancel sweep, sweep 0, set hold#1@60000");
  EXPECT_EQ(job.phase(), "hold");
  EXPECT_EQ(job.machine().hold_until(), 60'000);
}

TEST(Hold, IsReachedByTimersWhereNobodyCanTellWhoIsAdopted) {
  Script job(with_hold(60'000));
  job.running(1, 1);
  job.exited(0, 3);
  job.now = 7500;
  EXPECT_EQ(job.fired(Timer::kSweep), "sweep 9, set give-up#1@7750") << "not the service";
  job.now = 7750;
  EXPECT_EQ(job.fired(Timer::kGiveUp), "sweep 0, set hold#1@67750");
  EXPECT_TRUE(job.machine().tasks()[1].live());
}

TEST(Hold, EndsByTimeWithTheOriginalCode) {
  Script job = held();
  job.now = 61'000;
  EXPECT_EQ(job.fired(Timer::kHold), "sweep 15, signal 1#1=15, set sweep#2@68500");
  EXPECT_EQ(job.machine().hold_until(), 0);
  job.signaled(1, SIGTERM);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 3");
}

TEST(Hold, EndsByReleaseAndByStop) {
  for (const Event& event : {Event{event::Release{}}, Event{event::StopRequested{SIGTERM}}}) {
    Script job = held();
    job.now = 5000;
    EXPECT_EQ(job.step(event), "cancel hold, sweep 15, signal 1#1=15, set sweep#2@12500");
    job.signaled(1, SIGTERM);
    EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 3");
  }
}

TEST(Hold, IsSetAnewByHoldFor) {
  Script job = held();
  job.now = 2000;
  EXPECT_EQ(job.step(event::HoldFor{500}), "set hold#2@2500");
  EXPECT_EQ(job.machine().hold_until(), 2500);
  EXPECT_EQ(job.fired(Timer::kHold, 1), "") << "the window that was replaced";
  EXPECT_EQ(job.phase(), "hold");
}

TEST(Hold, FollowsAFailureWhilePreparingToo) {
  Script job(with_hold(60'000), {kData});
  job.begin();
  job.exited(0, 1);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, set hold#1@60000");
}

TEST(Hold, NeverFollowsASuccessOrAStop) {
  Script well(with_hold(60'000));
  well.running(1);
  well.exited(0, 0);
  EXPECT_EQ(well.nothing_left(), "cancel sweep, sweep 0, EXIT 0");
  Script stopped(with_hold(60'000));
  stopped.running(1);
  stopped.stop();
  stopped.exited(0, 3);
  EXPECT_EQ(stopped.nothing_left(), "cancel sweep, sweep 0, EXIT 3");
}

TEST(Hold, IsNotEnteredWhenAStopComesDuringTheSweepBeforeIt) {
  Script job(with_hold(60'000));
  job.running(1, 1);
  job.exited(0, 3);
  job.now = 7500;
  job.fired(Timer::kSweep);
  EXPECT_EQ(job.stop(), "cancel give-up, signal 1#1=15, set sweep#2@15000")
      << "the services have the whole grace of the stop";
  job.now = 15'000;
  EXPECT_EQ(job.fired(Timer::kSweep, 2), "sweep 9, signal 1#1=9, set give-up#2@15250");
  EXPECT_EQ(job.fired(Timer::kGiveUp, 2), "sweep 0, EXIT 3");
}

}  // namespace
}  // namespace lifecycle
