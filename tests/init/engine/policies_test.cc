#include "init/engine/policies.h"

#include <gmock/gmock.h>

#include <csignal>
#include <random>

#include "base/text.h"
#include "init/engine/fallback/fallback_job.h"

namespace engine {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

envgen::Plan plan_with_steps(std::int64_t drain_ms) {
  envgen::Plan plan;
  plan.policy.drain_ms = drain_ms;
  plan.policy.escalation = {{SIGINT, 3500}, {SIGQUIT, 5000}};
  return plan;
}

TEST(PolicyWarnings, CountAStepFromTheStopSignal) {
  EXPECT_THAT(policy_warnings(plan_with_steps(0)), IsEmpty());
  EXPECT_THAT(policy_warnings(plan_with_steps(3000)),
              ElementsAre("--escalate: SIGQUIT after 5 s is left out, because SIGKILL comes 4 s "
                          "after the stop signal: give a longer --grace"));
}

// Pre-stop hooks may end before their time is over.
TEST(PolicyWarnings, AreCarefulWhereHooksMayLeaveTheJobMoreTime) {
  envgen::Plan plan = plan_with_steps(0);
  plan.policy.pre_stop_ms = 2500;
  plan.hooks = {{envgen::HookEvent::kPreStop, {"/h/a"}, "", 10'000, false}};
  EXPECT_THAT(policy_warnings(plan),
              ElementsAre("--escalate: SIGQUIT after 5 s can be left out, because SIGKILL comes "
                          "4.5 s after the stop signal: give a longer --grace"));
}

// After a failure, the other main tasks get KILL sooner than in a stop.
TEST(PolicyWarnings, NameAStepThatAFailureLeavesOut) {
  envgen::Plan plan = plan_with_steps(0);
  plan.policy.failure_grace_ms = 4000;
  EXPECT_THAT(policy_warnings(plan),
              ElementsAre("--escalate: SIGQUIT after 5 s can be left out after a failure, because "
                          "SIGKILL comes 4 s after the stop signal then: give a longer "
                          "--failure-grace"));
  plan.policy.escalation[1].signal = SIGKILL;
  EXPECT_THAT(policy_warnings(plan), IsEmpty()) << "a KILL that comes sooner is no loss";
  plan.policy.escalation[1] = {SIGQUIT, 7500};
  EXPECT_THAT(policy_warnings(plan),
              ElementsAre("--escalate: SIGQUIT after 7.5 s is left out, because SIGKILL comes 7 s "
                          "after the stop signal: give a longer --grace"));
  plan.policy.escalation.pop_back();
  plan.policy.failure_grace_ms = 60'000;
  EXPECT_THAT(policy_warnings(plan), IsEmpty());
}

TEST(PolicyWarnings, TellADrainThatIsShortened) {
  envgen::Plan plan;
  plan.policy.drain_ms = 7000;
  EXPECT_THAT(policy_warnings(plan),
              ElementsAre("--drain: 7 s is shortened to 5.25 s, so that the job keeps a quarter of "
                          "the grace (8 s): give a longer --grace"));
}

TEST(PolicyWarnings, HaveTheTimesOfTheStop) {
  std::mt19937 random(4);
  const auto any = [&random](std::initializer_list<std::int64_t> values) {
    return *(values.begin() + static_cast<std::ptrdiff_t>(random() % values.size()));
  };
  for (int i = 0; i < 5000; ++i) {
    envgen::Plan plan;
    plan.policy.grace_ms = any({0, 400, 8000, 25'000, 60'000});
    plan.policy.drain_ms = any({0, 40, 3000, 30'000});
    plan.policy.pre_stop_ms = any({0, 2000, 9000});
    plan.policy.post_stop_ms = any({0, 2000, 9000});
    for (const auto event : {envgen::HookEvent::kPreStop, envgen::HookEvent::kPostStop}) {
      if (random() % 2 != 0) plan.hooks.push_back({event, {"/h/a"}, "", 10'000, false});
    }
    plan.policy.escalation = {{SIGINT, any({1, 3000, 7000, 24'000})}};
    const base::Budget stop = stop_budget(plan);
    const std::vector<std::string> warnings = policy_warnings(plan);
    if (plan.policy.escalation[0].after_ms < stop.term_phase_ms) {
      ASSERT_THAT(warnings, Not(Contains(HasSubstr("--escalate"))));
    } else {
      ASSERT_THAT(warnings, Contains(HasSubstr("comes " + base::seconds(stop.term_phase_ms) +
                                               " after the stop")));
    }
    if (plan.policy.drain_ms > stop.drained_at) {
      ASSERT_THAT(warnings, Contains(AllOf(HasSubstr("--drain"),
                                           HasSubstr("to " + base::seconds(stop.drained_at)))));
    } else {
      ASSERT_THAT(warnings, Not(Contains(HasSubstr("--drain"))));
    }
  }
}

// Hooks and post-stop tasks run no more: the main tasks have what else is kept for those.
TEST(FallbackJobOf, StopsByTheJobsPolicy) {
  Job job;
  job.plan.policy.grace_ms = 25'000;
  job.plan.policy.post_stop_ms = 5000;
  const lifecycle::Machine machine(job.plan.policy, {});
  const FallbackJob left = fallback_job_of({.job = job,
                                            .machine = machine,
                                            .waiting = {},
                                            .job_control = {},
                                            .signals = job.plan.policy.signals});
  EXPECT_EQ(left.stop, base::make_budget(job.plan.policy, {}, 0));
  EXPECT_EQ(left.stop.kill_at, 24'000);
}

}  // namespace
}  // namespace engine
