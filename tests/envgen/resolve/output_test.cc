// Which processes write through the tee, and how they are shown.

#include "envgen/resolve/output.h"

#include <gmock/gmock.h>

#include <string>

namespace envgen {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// Ranks 4 and up; the first inherits our output unless `files`.
Plan plan_of(int ranks, bool files) {
  Plan plan;
  for (int i = 0; i < ranks; ++i) {
    Process process;
    process.name = "rank-" + std::to_string(4 + i);
    process.rank = 4 + i;
    if (files || i > 0) process.log = "/logs/" + process.name + ".log";
    plan.processes.push_back(std::move(process));
  }
  return plan;
}

TEST(PlanOutput, TakesNothingThroughTheTeeUnasked) {
  Plan plan = plan_of(2, false);
  const Plan before = plan;
  plan_output({}, plan);
  EXPECT_EQ(plan, before);
}

TEST(PlanOutput, OfTheTeeIsShownBehindTheRank) {
  Plan plan = plan_of(2, true);
  plan.processes[1].rank = -1;
  plan.processes[1].name = "scheduler";
  Request request;
  request.output = Output::kTee;
  plan_output(request, plan);
  for (const Process& process : plan.processes) EXPECT_TRUE(process.tee && process.echo);
  EXPECT_EQ(plan.processes[0].prefix, "[rank 4] ");
  EXPECT_EQ(plan.processes[1].prefix, "[scheduler] ");
  request.log_prefix = false;
  Plan bare = plan_of(2, true);
  plan_output(request, bare);
  EXPECT_EQ(bare.processes[0].prefix, "");
}

TEST(PlanOutput, OfOneProcessHasNoPrefixUnlessAskedFor) {
  Request request;
  request.output = Output::kTee;
  Plan plan = plan_of(1, true);
  plan_output(request, plan);
  EXPECT_EQ(plan.processes[0].prefix, "");
  request.log_prefix = true;
  plan_output(request, plan);
  EXPECT_EQ(plan.processes[0].prefix, "[rank 4] ");
}

TEST(PlanOutput, ThatIsInheritedHasAPrefixWhereAskedFor) {
  Request request;
  request.log_prefix = true;
  Plan plan = plan_of(2, false);
  plan_output(request, plan);
  EXPECT_TRUE(plan.processes[0].tee && plan.processes[0].echo);
  EXPECT_EQ(plan.processes[0].prefix, "[rank 4] ");
  EXPECT_FALSE(plan.processes[1].tee) << "its file needs none";
}

TEST(PlanOutput, ThatIsCappedGoesToFilesThroughTheTee) {
  Plan plan = plan_of(2, false);
  plan.observe.log_max_bytes = 1 << 20;
  plan_output({}, plan);
  EXPECT_FALSE(plan.processes[0].tee);
  EXPECT_TRUE(plan.processes[1].tee);
  EXPECT_FALSE(plan.processes[1].echo);
  EXPECT_THAT(plan.warnings, IsEmpty());
  Plan none = plan_of(1, false);
  none.observe.log_max_bytes = 1 << 20;
  plan_output({}, none);
  ASSERT_EQ(none.warnings.size(), 1U);
  EXPECT_THAT(none.warnings[0], HasSubstr("--log-max-size is not used"));
}

TEST(PlanOutput, ThatIsWatchedForItsPerformanceIsReadByTheTee) {
  Plan plan = plan_of(2, false);
  plan.observe.perf_threshold_ppm = 900'000;
  plan_output({}, plan);
  EXPECT_TRUE(plan.processes[0].tee && plan.processes[0].echo);
  EXPECT_EQ(plan.processes[0].prefix, "");
  EXPECT_FALSE(plan.processes[1].tee) << "its file is read";
}

}  // namespace
}  // namespace envgen
