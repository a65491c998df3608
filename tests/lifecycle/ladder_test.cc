// The way down: stop requests, TERM and KILL, leftovers, the debug window, restarts, post-stop
// tasks, exit codes.

#include <gtest/gtest.h>

#include "lifecycle/machine.h"
#include "tests/lifecycle/script.h"

namespace lifecycle {
namespace {

constexpr auto kPreStart = TaskKind::kPreStart;
constexpr auto kData = TaskKind::kData;
constexpr auto kResolve = TaskKind::kResolve;
constexpr auto kMain = TaskKind::kMain;
constexpr auto kService = TaskKind::kService;
constexpr auto kPostStop = TaskKind::kPostStop;

// --- Stop requests while preparing ---

TEST(Stop, BeforeTheBeginning) {
  Script job(standard(), {kPreStart, kPostStop});
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
  Script job(standard(), {kPreStart, kResolve});
  job.begin();
  EXPECT_EQ(job.stop(SIGINT), "signal 0#1=15, set kill#1@7000");
  job.now = 7000;
  EXPECT_EQ(job.fired(Timer::kKill), "signal 0#1=9, set give-up#1@7250");
  EXPECT_EQ(job.signaled(0, SIGKILL), "cancel give-up, sweep 15, set sweep#1@7500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 130");
}

TEST(Stop, WhileDataIsCopiedTellsTheCopyAndKillsTheResolver) {
  Script job(standard(), {kData, kResolve});
  job.begin();
  EXPECT_EQ(job.stop(), "signal 0#1=15, signal 1#1=9, set kill#1@7000");
  EXPECT_EQ(job.signaled(1, SIGKILL), "");
  EXPECT_EQ(job.exited(0, 1), "cancel kill, sweep 15, set sweep#1@7500");
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

// --- The ladder ---

TEST(Ladder, TermThenKillThenLeftoversThenTheExit) {
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

TEST(Ladder, ForwardsTheStopSignalItselfToTheMainTasksOnly) {
  Script job;
  job.running(1, 1);
  EXPECT_EQ(job.stop(SIGQUIT), "signal 0#1=3, set kill#1@7000");
  EXPECT_EQ(job.signaled(0, SIGQUIT), "cancel kill, sweep 15, signal 1#1=15, set sweep#1@7500");
}

TEST(Ladder, AFailureEndsTheOthersByTermWhateverComesLater) {
  Script job;
  job.running(2);
  EXPECT_EQ(job.exited(0, 3), "report, signal 1#1=15, set kill#1@7000");
  job.now = 2000;
  EXPECT_EQ(job.stop(SIGINT), "") << "they were told, and the earlier deadline holds";
}

TEST(Ladder, ASecondTermIsADuplicate) {
  Script job;
  job.running(1);
  job.stop();
  EXPECT_EQ(job.stop(), "");
  EXPECT_EQ(job.stop(SIGINT), "") << "the first INT";
}

TEST(Ladder, ASecondIntKillsAtOnceAllTheWayDown) {
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

TEST(Ladder, ASecondIntDuringTheSweepKillsTheLeftovers) {
  Script job;
  job.running(1);
  job.stop(SIGINT);
  job.signaled(0, SIGINT);
  EXPECT_EQ(job.stop(SIGINT), "cancel sweep, sweep 9, set give-up#1@250");
  EXPECT_EQ(job.fired(Timer::kGiveUp), "sweep 0, EXIT 130");
}

TEST(Ladder, GoesOnWithoutAProcessThatKillDoesNotEnd) {
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

TEST(Ladder, ASmallGraceStillHasATermPhase) {
  Policy policy;
  policy.grace_ms = 400;
  Script job(policy);
  job.running(1);
  EXPECT_EQ(job.stop(), "signal 0#1=15, set kill#1@100");
}

TEST(Ladder, LeftoversOfASuccessAreSweptWithinTheGraceToo) {
  Script job;
  job.running(1);
  job.now = 100'000;
  EXPECT_EQ(job.exited(0, 0), "sweep 15, set sweep#1@107500");
  job.now = 107'500;
  EXPECT_EQ(job.fired(Timer::kSweep), "sweep 9, set give-up#1@107750");
  EXPECT_EQ(job.nothing_left(), "cancel give-up, sweep 0, EXIT 0");
}

TEST(Ladder, ServicesEndAfterTheMainTasksAndAreWaitedFor) {
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
Script held(Policy policy = with_hold(60'000), const std::vector<TaskKind>& preparing = {}) {
  Script job(policy, preparing);
  job.running(1, 1);
  job.now = 1000;
  job.exited(static_cast<std::uint32_t>(preparing.size()), 3);
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
  Script job(with_hold(60'000), {kPreStart});
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

// --- Restarts ---

TEST(Restart, ResolvesAgainAndStartsTheNextIncarnation) {
  Script job(with_restarts(1), {kPreStart, kData, kResolve});
  job.begin();
  job.exited(0, 0);
  job.ready({kMain, kMain, kService});
  job.exited(1, 0);
  EXPECT_EQ(job.exited(2, 0), "cancel resolve, start 3#1, start 4#1, start 5#1");
  job.now = 50'000;
  EXPECT_EQ(job.exited(3, 1), "report, signal 4#1=15, set kill#1@57000");
  EXPECT_EQ(job.signaled(4, SIGTERM), "cancel kill, sweep 15, set sweep#1@57500");
  EXPECT_EQ(job.nothing_adopted(), "cancel sweep, sweep 0, set restart#1@51000");
  EXPECT_EQ(job.phase(), "auto-restart");
  EXPECT_EQ(job.machine().cause()->exit_code, 1);
  job.now = 51'000;
  EXPECT_EQ(job.fired(Timer::kRestart), "start 2#2");
  EXPECT_EQ(job.machine().cause(), nullptr);
  EXPECT_EQ(job.machine().restarts(), 1U);
  EXPECT_EQ(job.ended({{{2, 1}, {Ending::How::kExited, 9}}}), "") << "the earlier resolver";
  job.ready({kMain, kMain, kService});
  EXPECT_EQ(job.exited(2, 0), "cancel resolve, start 3#2, start 4#2") << "the service goes on";
}

TEST(Restart, OfAnElasticJobMayChangeTheNumberOfTasks) {
  Script job(with_restarts(2), {kResolve});
  const auto run_with = [&job](const std::vector<TaskKind>& tasks) {
    job.ready(tasks);
    return job.exited(0, 0);
  };
  job.begin();
  EXPECT_EQ(run_with({kMain, kMain}), "cancel resolve, start 1#1, start 2#1");
  job.ended({{job.ref(1), {Ending::How::kExited, 1}}, {job.ref(2), {Ending::How::kExited, 1}}});
  job.nothing_left();
  job.fired(Timer::kRestart);
  EXPECT_EQ(run_with({kMain}), "cancel resolve, start 1#2");
  job.exited(1, 1);
  job.nothing_left();
  job.fired(Timer::kRestart, 2);
  EXPECT_EQ(run_with({kMain, kMain, kMain}), "cancel resolve, start 1#3, start 2#2, start 3#1");
}

TEST(Restart, StartsAServiceAgainThatHadEnded) {
  Script job(with_restarts(1), {kResolve});
  job.begin();
  job.ready({kMain, kService});
  job.exited(0, 0);
  job.exited(2, 0);
  job.exited(1, 1);
  job.nothing_left();
  job.fired(Timer::kRestart);
  job.ready({kMain, kService});
  EXPECT_EQ(job.exited(0, 0), "cancel resolve, start 1#2, start 2#2");
}

TEST(Restart, WithoutAResolverStartsAtOnce) {
  Script job(with_restarts(1));
  job.running(1);
  job.exited(0, 1);
  job.nothing_left();
  EXPECT_EQ(job.fired(Timer::kRestart), "start 0#2");
  EXPECT_EQ(job.phase(), "starting");
}

TEST(Restart, WaitsLongerEachTimeAndEndsWithTheLastFailure) {
  Script job(with_restarts(2));
  job.running(1);
  job.exited(0, 1);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, set restart#1@1000");
  job.fired(Timer::kRestart, 1);
  job.exited(0, 2);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, set restart#2@2000");
  job.fired(Timer::kRestart, 2);
  job.exited(0, 3);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 3");
}

TEST(Restart, ComesBeforeTheHold) {
  Policy policy = with_restarts(1);
  policy.hold_ms = 60'000;
  Script job(policy);
  job.running(1);
  job.exited(0, 1);
  job.nothing_left();
  job.fired(Timer::kRestart);
  job.exited(0, 2);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, set hold#1@60000");
  job.step(event::Release{});
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 2");
}

TEST(Restart, NeverFollowsBadInput) {
  Script job(with_restarts(3), {kResolve});
  job.begin();
  job.step(event::ResolveFailed{125});
  job.exited(0, 125);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, EXIT 125");
}

TEST(Restart, NeverRunsBesideAnIncarnationThatCannotBeKilled) {
  Script job(with_restarts(3));
  job.running(2);
  job.exited(0, 1);
  job.fired(Timer::kKill);
  job.fired(Timer::kGiveUp);
  job.fired(Timer::kSweep);
  EXPECT_EQ(job.fired(Timer::kGiveUp, 2), "sweep 0, EXIT 1");
}

TEST(Restart, IsCalledOffByAStop) {
  Script job(with_restarts(3), {kPostStop});
  job.running(1, 1);
  job.exited(1, 1);
  job.nothing_adopted();
  EXPECT_EQ(job.stop(), "cancel restart, sweep 15, signal 2#1=15, set sweep#2@7500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, set kill#1@7750, start 0#1");
  EXPECT_EQ(job.exited(0, 0), "cancel kill, EXIT 143");
}

// --- Post-stop tasks ---

Policy with_post_stop(TimeMs post_stop_ms) {
  Policy policy;
  policy.post_stop_ms = post_stop_ms;
  return policy;
}

TEST(PostStop, TasksRunOneAfterTheOtherWhenAllElseIsGone) {
  Script job(with_post_stop(2000), {kPostStop, kPostStop});
  job.running(1);
  EXPECT_EQ(job.stop(), "signal 2#1=15, set kill#1@5000");
  EXPECT_EQ(job.exited(2, 0), "cancel kill, sweep 15, set sweep#1@5500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, set kill#2@7250, start 0#1");
  EXPECT_EQ(job.phase(), "post-stop");
  EXPECT_EQ(job.exited(0, 9), "start 1#1") << "its failure changes nothing";
  EXPECT_EQ(job.exited(1, 0), "cancel kill, EXIT 0");
}

TEST(PostStop, ATaskThatTakesTooLongIsToldThenKilledThenGivenUp) {
  Script job(with_post_stop(2000), {kPostStop, kPostStop});
  job.running(1);
  job.stop();
  job.exited(2, 0);
  job.nothing_left();
  job.now = 7250;
  EXPECT_EQ(job.fired(Timer::kKill, 2), "signal 0#1=15, set kill#3@7750");
  job.now = 7750;
  EXPECT_EQ(job.fired(Timer::kKill, 3), "signal 0#1=9, set give-up#1@8000");
  job.now = 8000;
  EXPECT_EQ(job.fired(Timer::kGiveUp, 1), "EXIT 0") << "and the second has no time left";
}

TEST(PostStop, NoFurtherTaskStartsOnceTheTimeIsUp) {
  Script job(with_post_stop(2000), {kPostStop, kPostStop});
  job.running(1);
  job.stop();
  job.exited(2, 0);
  job.nothing_left();
  job.now = 7250;
  job.fired(Timer::kKill, 2);
  EXPECT_EQ(job.signaled(0, SIGTERM), "cancel kill, EXIT 0");
}

TEST(PostStop, AStopShortensTheTimeOfAJobThatEndedByItself) {
  Script job(with_post_stop(60'000), {kPostStop});
  job.running(1);
  job.exited(1, 0);
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, set kill#1@45000, start 0#1");
  job.now = 1000;
  EXPECT_EQ(job.stop(), "set kill#2@7501");
  EXPECT_EQ(job.stop(), "");
  job.now = 7501;
  EXPECT_EQ(job.fired(Timer::kKill, 2), "signal 0#1=15, set kill#3@8976");
}

TEST(PostStop, RunsAfterTheHold) {
  Script job = held(with_hold(60'000), {kPostStop});
  EXPECT_EQ(job.step(event::Release{}), "cancel hold, sweep 15, signal 2#1=15, set sweep#2@8500");
  EXPECT_EQ(job.nothing_left(), "cancel sweep, sweep 0, set kill#1@8750, start 0#1");
  EXPECT_EQ(job.exited(0, 0), "cancel kill, EXIT 3");
}

TEST(PostStop, IsLeftOutBySomeoneInAHurry) {
  Script job(with_post_stop(2000), {kPostStop});
  job.running(1);
  job.stop(SIGINT);
  job.stop(SIGINT);
  job.signaled(1, SIGKILL);
  EXPECT_EQ(job.nothing_left(), "cancel give-up, sweep 0, EXIT 137");
}

TEST(PostStop, IsKilledBySomeoneInAHurry) {
  Script job(with_post_stop(2000), {kPostStop});
  job.running(1);
  job.stop(SIGINT);
  job.exited(1, 0);
  job.nothing_left();
  EXPECT_EQ(job.stop(SIGINT), "signal 0#1=9, cancel kill, set give-up#1@250");
  EXPECT_EQ(job.signaled(0, SIGKILL), "cancel give-up, EXIT 0");
}

}  // namespace
}  // namespace lifecycle
