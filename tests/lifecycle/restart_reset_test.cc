// A start that ran well for so long lets the restarts be counted anew (--restart-reset).

#include <gtest/gtest.h>

#include "tests/lifecycle/nodes_script.h"
#include "tests/lifecycle/script.h"

namespace lifecycle {
namespace {

constexpr TimeMs kHourMs = 3'600'000;

Policy with_reset(int max_restarts = 1) {
  Policy policy;
  policy.max_restarts = max_restarts;
  policy.restart_delay_ms = 1000;
  policy.restart_reset_ms = kHourMs;
  return policy;
}

// One start after the other, of one main task.
class Starts {
 public:
  explicit Starts(const Policy& policy) : job_(policy) {
    job_.begin();
    job_.ready({kMain});
    job_.started(0);
  }
  // It fails after so long. The phase that follows.
  std::string fails_after(TimeMs ms) {
    job_.now += ms;
    job_.exited(0, 3);
    return let_go();
  }
  std::string stalls_after(TimeMs ms, TimeMs silent_ms) {
    job_.now += ms;
    job_.stalled(0, job_.ref(0).incarnation, silent_ms);
    job_.signaled(0, SIGTERM);
    return let_go();
  }
  void start() {
    job_.now = job_.machine().restart_at();
    job_.fired(Timer::kRestart, ++restarts_);
    job_.started(0);
  }
  Script& job() { return job_; }

 private:
  std::string let_go() {
    job_.nothing_left();
    return job_.phase();
  }
  Script job_;
  std::uint32_t restarts_ = 0;
};

TEST(RestartReset, CountsAnewAfterALongStart) {
  Starts starts(with_reset());
  EXPECT_EQ(starts.fails_after(5), "auto-restart");
  EXPECT_EQ(starts.job().machine().failures(), 1U);
  EXPECT_FALSE(starts.job().machine().counts_anew());
  starts.start();
  EXPECT_EQ(starts.fails_after(kHourMs), "auto-restart");
  EXPECT_EQ(starts.job().machine().failures(), 1U);
  EXPECT_TRUE(starts.job().machine().counts_anew());
  EXPECT_EQ(starts.job().machine().restart_at(), starts.job().now) << "and so does its delay";
  starts.start();
  EXPECT_FALSE(starts.job().machine().counts_anew());
  EXPECT_EQ(starts.job().machine().restarts(), 2U) << "these are what starts are known by";
  EXPECT_EQ(starts.fails_after(kHourMs - 1), "exited");
}

TEST(RestartReset, IsOffUnlessAskedFor) {
  Policy policy = with_reset();
  policy.restart_reset_ms = 0;
  Starts starts(policy);
  starts.fails_after(5);
  starts.start();
  EXPECT_EQ(starts.fails_after(10 * kHourMs), "exited");
}

// A rank that hangs for longer than that would restart for ever.
TEST(RestartReset, CountsNoTimeWithoutProgress) {
  Starts starts(with_reset());
  starts.fails_after(5);
  starts.start();
  EXPECT_EQ(starts.stalls_after(2 * kHourMs, kHourMs + 1), "exited");

  Starts well(with_reset());
  well.fails_after(5);
  well.start();
  EXPECT_EQ(well.stalls_after(2 * kHourMs, kHourMs), "auto-restart");
}

TEST(RestartReset, ComesWithALongStartThatOtherNodesEnded) {
  Policy policy = with_reset();
  policy.elastic = true;
  Starts starts(policy);
  starts.fails_after(5);
  starts.start();
  starts.job().now += kHourMs;
  starts.job().other_nodes();
  starts.job().signaled(0, SIGTERM);
  starts.job().nothing_left();
  EXPECT_EQ(starts.job().machine().failures(), 0U);
}

// --- Of several nodes ---

Script of_nodes(const Policy& policy) {
  Script job(policy);
  job.running(1);
  job.nodes_ready();
  job.started(0);
  job.linked();
  return job;
}

// As the node of the failure knows how long it ran well.
TEST(RestartReset, OfSeveralNodesIsThatOfTheOneThatFailed) {
  Policy policy = with_reset();
  policy.rendezvous_ms = 60'000;
  for (const bool ran_well : {false, true}) {
    Script job = of_nodes(policy);
    job.exited(0, 3);
    job.job_failed(kHereAgain);
    job.nothing_left();
    job.fired(Timer::kRestart);
    job.nodes_ready(1);
    job.started(0);
    job.now += 3 * kHourMs;
    EXPECT_EQ(job.machine().ran_ms(job.now), 3 * kHourMs);
    job.job_failed(kUnknown);
    job.signaled(0, SIGTERM);
    event::JobFailed first = kElsewhereAgain;
    first.ran_ms = ran_well ? kHourMs : 1;  // the rest it hung
    job.job_failed(first);
    EXPECT_EQ(job.machine().would_restart(), ran_well);
  }
}

TEST(RestartReset, OfSeveralNodesIsByThisNodesClockWhereNobodySaysIt) {
  Policy policy = with_reset();
  policy.rendezvous_ms = 60'000;
  policy.max_restarts = 2;
  Script job = of_nodes(policy);
  job.exited(0, 3);
  job.job_failed(kHereAgain);
  job.nothing_left();
  job.fired(Timer::kRestart);
  job.nodes_ready(1);
  job.started(0);
  job.now += kHourMs;
  job.job_failed(kElsewhereAgain);
  EXPECT_EQ(job.machine().failures(), 0U);
}

Coordinator::Settings of_two() {
  Coordinator::Settings settings = Nodes::of(2);
  settings.restart_reset_ms = kHourMs;
  return settings;
}

// What the others had left is of before: they count anew as well.
TEST(RestartReset, OfSeveralNodesIsOneForAll) {
  for (const TimeMs ran_ms : {kHourMs - 1, kHourMs}) {
    Nodes nodes(of_two());
    nodes.running();
    nodes.reports[0].may_restart = false;
    nodes.say(0);
    nodes.fails(1).ran(1, ran_ms).pass(400);
    EXPECT_EQ(nodes.verdict(0).again, ran_ms == kHourMs);
    EXPECT_EQ(nodes.verdict(0).failure->ran_ms, ran_ms);
  }
}

TEST(RestartReset, OfSeveralNodesIsOffUnlessAskedFor) {
  Coordinator::Settings settings = of_two();
  settings.restart_reset_ms = 0;
  Nodes nodes(settings);
  nodes.running();
  nodes.reports[0].may_restart = false;
  nodes.say(0);
  nodes.fails(1).ran(1, 10 * kHourMs).pass(400);
  EXPECT_FALSE(nodes.verdict(0).again);
}

TEST(RestartReset, OfANodeThatIsLostIsByWhatItHadSaid) {
  for (const TimeMs ran_ms : {TimeMs{10'000}, kHourMs}) {
    Nodes nodes(of_two());
    nodes.running();
    nodes.reports[0].may_restart = false;
    nodes.say(0);
    nodes.ran(1, ran_ms).pass(5000);
    nodes.close(1).pass(4000);
    EXPECT_EQ(nodes.verdict(0).again, ran_ms == kHourMs);
    EXPECT_EQ(nodes.verdict(0).failure->ran_ms, ran_ms + 5000);
  }
}

TEST(RestartReset, StartsNobodyAgainWhereOneHasEnded) {
  Nodes nodes(of_two());
  nodes.running();
  nodes.fails(1).ran(1, kHourMs);
  nodes.says_farewell(1, 3).pass(400);
  EXPECT_FALSE(nodes.verdict(0).again);
}

}  // namespace
}  // namespace lifecycle
