#include "envgen/resolve/watches.h"

#include <gmock/gmock.h>

#include "envgen/plan/observation_json.h"
#include "envgen/resolve/output.h"

namespace envgen {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Watches : public testing::Test {
 protected:
  Plan& plan() {
    plan_watches(Inputs(snapshot_, request_), plan_);
    return plan_;
  }
  void add_health_hook() {
    HookGroup group;
    group.event = HookEvent::kHealth;
    group.paths = {"/hook"};
    plan_.hooks.push_back(group);
  }

  Snapshot snapshot_;
  Request request_;
  Plan plan_;
};

TEST_F(Watches, RanksCanBeAskedForTheirStacksWhereThereAreSeveral) {
  snapshot_.facts.run_dir = "/run/trainit";
  plan_.processes.resize(1);
  EXPECT_FALSE(plan().observe.stacks);
  EXPECT_THAT(plan_.processes[0].env, IsEmpty()) << "a single command";
  plan_.world_size = 2;  // a launcher's
  EXPECT_TRUE(plan().observe.stacks);
  EXPECT_THAT(plan_.processes[0].env,
              ElementsAre(base::EnvEdit{base::EnvEdit::Kind::kPutInFront, "PYTHONPATH",
                                        "/run/trainit/stacks/python"}));
}

TEST_F(Watches, AStallWantsStacksAndNoneAreTakenWithoutARunDirectory) {
  request_.observe.stall_ms = 1000;
  plan_.processes.resize(1);
  EXPECT_FALSE(plan().observe.stacks);
  snapshot_.facts.run_dir = "/run/trainit";
  EXPECT_TRUE(plan().observe.stacks);
}

TEST_F(Watches, NcclIsAskedWhereItListens) {
  plan_.processes.resize(2);
  EXPECT_EQ(plan().observe.nccl_ras, "localhost:28028");
  plan_.processes.resize(1);
  EXPECT_EQ(plan().observe.nccl_ras, "") << "a single command";
  request_.observe.stall_ms = 1000;
  EXPECT_EQ(plan().observe.nccl_ras, "localhost:28028") << "perhaps a launcher";
  snapshot_.env.set("NCCL_RAS_ADDR", "[::1]:4000");
  EXPECT_EQ(plan().observe.nccl_ras, "[::1]:4000");
  snapshot_.env.set("NCCL_RAS_ENABLE", "0");
  EXPECT_EQ(plan().observe.nccl_ras, "");
}

TEST_F(Watches, FlightRecordersDumpsAreWhereTheJobPutsThem) {
  plan_.processes.resize(2);
  plan_.processes[0].cwd = "/srv/job";
  EXPECT_THAT(plan().observe.traces, IsEmpty());
  snapshot_.env.set("HOME", "/home/u");
  snapshot_.env.set("TORCH_FR_BUFFER_SIZE", "2000");
  EXPECT_THAT(plan().observe.traces,
              ElementsAre("/home/u/.cache/torch/comm_lib_trace_rank_", "/tmp/nccl_trace_rank_"));
  snapshot_.env.set("TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "dumps/trace_");
  snapshot_.env.set("TORCH_HCCL_TRACE_BUFFER_SIZE", "2000");
  snapshot_.env.set("TORCH_NCCL_DEBUG_INFO_PIPE_FILE", "/tmp/pipe_");
  EXPECT_THAT(plan().observe.traces, ElementsAre("/srv/job/dumps/trace_", "/tmp/hccl_trace_rank_"));
  EXPECT_THAT(plan_.observe.trace_pipes, ElementsAre("/tmp/pipe_"));
}

TEST_F(Watches, AreNoneUnlessAskedFor) {
  EXPECT_FALSE(has_watches(plan().observe));
  EXPECT_EQ(watches_text(plan_.observe).text(), "");
  EXPECT_THAT(plan_.warnings, IsEmpty());
}

TEST_F(Watches, HealthIsCheckedEachFiveMinutesWhereThereIsSomethingToRun) {
  add_health_hook();
  EXPECT_EQ(plan().observe.health_interval_ms, 300'000);
  EXPECT_EQ(watches_text(plan_.observe).text(),
            "watches health: each 300 s; 2 failed rounds in succession save the job and end it "
            "with exit code 75\n");
}

TEST_F(Watches, DoctorsChecksAreSomethingToRun) {
  request_.observe.health_checks = "disk";
  request_.observe.health_failures = 1;
  EXPECT_EQ(plan().observe.health_interval_ms, 300'000);
  EXPECT_EQ(watches_text(plan_.observe).text(),
            "watches health: each 300 s, checks disk; a failed round saves the job and ends it "
            "with exit code 75\n");
}

TEST_F(Watches, HealthMayBeTurnedOff) {
  add_health_hook();
  request_.observe.health_interval_ms = kNoHealth;
  EXPECT_FALSE(has_watches(plan().observe));
}

TEST_F(Watches, AnIntervalOfNothingIsWarnedOf) {
  request_.observe.health_interval_ms = 1000;
  EXPECT_FALSE(has_watches(plan().observe));
  EXPECT_THAT(plan_.warnings, ElementsAre(HasSubstr("--health-interval has nothing to run")));
}

TEST_F(Watches, AJobThatRestartsByItselfIsNotSavedForItsNode) {
  add_health_hook();
  plan_.policy.max_restarts = 3;
  EXPECT_THAT(plan().warnings, ElementsAre(HasSubstr("only reported")));
}

TEST_F(Watches, OutputThatNobodyWouldSeeGoesThroughTheTee) {
  const auto teed = [](std::int64_t perf_threshold_ppm, std::int64_t stall_ms) {
    Plan plan;
    plan.observe.perf_threshold_ppm = perf_threshold_ppm;
    plan.observe.stall_ms = stall_ms;
    plan.processes.resize(2);
    plan.processes[1].log = "/log";
    plan_output(Request{}, plan);
    EXPECT_FALSE(plan.processes[1].tee) << "its file is read";
    EXPECT_EQ(plan.processes[0].tee, plan.processes[0].echo);
    return plan.processes[0].tee;
  };
  EXPECT_FALSE(teed(0, 0));
  EXPECT_TRUE(teed(500'000, 0));
  EXPECT_TRUE(teed(0, 60'000));
}

TEST_F(Watches, WhatServesDoesNotStall) {
  request_.observe.stall_ms = 60'000;
  plan_.policy.success = base::SuccessPolicy::kServe;
  EXPECT_FALSE(has_watches(plan().observe));
}

TEST_F(Watches, AreShownToAPerson) {
  request_.observe.perf_threshold_ppm = 800'000;
  request_.observe.perf_count = 3;
  request_.observe.perf_reschedules = true;
  request_.observe.stall_ms = 1'800'000;
  EXPECT_EQ(watches_text(plan().observe).text(),
            "watches performance: hardware / e2e above 0.8 in 3 lines in succession saves the job "
            "and ends it with exit code 75\n"
            "watches for stalls: no output and no CPU time for 1800 s is reported\n");
  request_.observe.perf_threshold_ppm = 0;
  request_.observe.progress = {"step {step}"};
  EXPECT_EQ(watches_text(plan().observe).text(),
            "watches progress: lines with \"step {step}\"\n"
            "watches for stalls: no output and no CPU time, of ranks that tell their steps no new "
            "one, for 1800 s is reported\n");
  request_.observe.progress.clear();
  request_.observe.stall_ends = true;
  EXPECT_EQ(watches_text(plan().observe).text(),
            "watches for stalls: no output and no CPU time for 1800 s fails the job with exit code "
            "70\n");
}

}  // namespace
}  // namespace envgen
