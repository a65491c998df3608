#include <gtest/gtest.h>

#include <random>

#include "envgen/plan/plan.h"

namespace envgen {
namespace {

base::Policy example_policy() {
  base::Policy policy;
  policy.success = base::SuccessPolicy::kFirst;
  policy.grace_ms = 25'000;
  policy.kill_reserve_ms = 900;
  policy.hold_ms = 14'400'000;
  policy.post_stop_ms = 2000;
  policy.post_stop_alone_ms = 5000;
  policy.resolve_timeout_ms = 1'800'000;
  policy.stop_scope = base::StopScope::kTree;
  policy.escalation = {{2, 1000}, {64, 9000}};
  policy.exit_codes = {{143, 143, 0}, {1, 3, 255}};
  policy.signals = {{2, base::SignalRule::Kind::kSignal, 64, ""},
                    {10, base::SignalRule::Kind::kCheckpoint, 0, ""},
                    {12, base::SignalRule::Kind::kFile, 0, "/run/save"},
                    {1, base::SignalRule::Kind::kNothing, 0, ""},
                    {2, base::SignalRule::Kind::kForward, 0, ""}};
  policy.second_term_kills = true;
  policy.drain_ms = 3000;
  policy.pre_stop_ms = 4000;
  policy.checkpoint_ms = 300'000;
  policy.checkpoint_signal = 12;
  policy.max_restarts = 1'000'000;
  policy.restart_delay_ms = 2000;
  policy.restart_delay_max_ms = 9000;
  policy.no_restart_on = {{1, 2}, {126, 255}};
  policy.restart_verdict = base::RestartVerdict::kTell;
  policy.elastic = true;
  policy.max_duration_ms = 1LL << 34;
  return policy;
}

Observation example_observation() {
  return {.log_max_bytes = 1LL << 40,
          .log_keep = 2,
          .log_reader_timeout_ms = 7000,
          .perf_threshold_ppm = 700'000,
          .perf_pattern = "{hardware} of {e2e}",
          .perf_reschedules = true,
          .perf_count = 3,
          .progress = {"step {step}", "saved {saved}"},
          .stall_ms = 60'000,
          .stall_by_output = true,
          .stall_ends = true,
          .health_interval_ms = 300'000,
          .health_checks = "devices,network",
          .health_failures = 4,
          .preflight_found = "3 ok, 0 warnings, 0 failed, 0 skipped",
          .datasets = {"/data/a", "/data/b"},
          .job_directories = {"/run/trainit/errors"},
          .timeline = "/logs"};
}

Plan example_plan() {
  Plan plan;
  plan.platform = "modelarts";
  plan.framework = "ascend";
  plan.local_node = LocalNode{1, ""};
  plan.node_count = 2;
  plan.world_size = 16;
  plan.policy = example_policy();
  plan.observe = example_observation();
  plan.cluster_id = ~0ULL;
  plan.env = {{base::EnvEdit::Kind::kSetDefault, "CONDA_DEFAULT_ENV", "train"}};
  for (int rank = 8; rank < 10; ++rank) {
    Process process;
    process.name = "rank-" + std::to_string(rank);
    process.rank = rank;
    process.device = rank - 8;
    process.argv = {"python", "train.py", "", std::string("odd\0byte", 8)};
    process.cwd = "/srv/job/device0";
    process.env = {{base::EnvEdit::Kind::kSet, "RANK_ID", std::to_string(rank)},
                   {base::EnvEdit::Kind::kUnset, "RANK", ""},
                   {base::EnvEdit::Kind::kPrependPath, "PATH", "/opt/bin"}};
    process.log = "/logs/x.log";
    process.tee = true;
    process.echo = rank == 9;
    process.prefix = "[rank " + std::to_string(rank) + "] ";
    process.cpus = "0-7,16-23";
    plan.processes.push_back(process);
  }
  Process sshd;
  sshd.name = "sshd";
  sshd.argv = {"/trainit", "peer", "serve"};
  sshd.log = "/logs/sshd.log";
  Process terminal;
  terminal.of_job = true;
  terminal.argv = {"ttyd"};
  plan.services = {sshd, terminal};
  Process end;
  end.name = "peer-end";
  end.argv = {"/trainit", "peer", "end"};
  end.env = {{base::EnvEdit::Kind::kUnset, "LD_PRELOAD", ""}};
  plan.post_stop = {end, end};
  plan.hooks = {{HookEvent::kPreStart, {"/etc/trainit/hooks/pre-start.d/10-link"}, "", 1000, true},
                {HookEvent::kOnFailure, {"/h/a", "/h/script"}, "/h/script", 60'000, false}};
  plan.hook_env = {{base::EnvEdit::Kind::kSet, "TRAINIT_PLATFORM", "modelarts"}};
  plan.sandbox.identity = Identity{1000, 100, {100, 4'000'000'000U}, "bob", "/home/bob"};
  plan.sandbox.capabilities = 1ULL << 40;
  plan.sandbox.ambient = 1ULL << 13;
  plan.sandbox.settings.no_new_privs = true;
  plan.sandbox.filter = std::string(16, '\6');
  plan.sandbox.profile = "/profile.json";
  plan.sandbox.limits = {{7, 1024, ~0ULL}, {4, 0, 0}};
  plan.sandbox.settings.umask = 027;
  plan.sandbox.settings.nice = -5;
  plan.sandbox.settings.oom_score_adj = -1000;
  plan.warnings = {"one", "two"};
  return plan;
}

TEST(PlanWire, CarriesAllThatPid1Needs) {
  auto decoded = decode_plan(encode_plan(example_plan()));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(*decoded, example_plan());
}

TEST(PlanWire, LeavesOutWhatTheResolverHasDone) {
  Plan plan = example_plan();
  plan.files.push_back({"/run/table.json", 0644, std::string(1 << 20, 'x')});
  plan.cluster = Cluster{};
  plan.platform_reason = "MA_VJ_NAME is set";
  plan.local_node->reason = "pod_name";
  plan.observe.preflight = Preflight::kRequire;
  plan.observe.bind = Bind::kCore;
  plan.peers = PeerWait{{"node-1"}, {"ssh"}, 600'000};
  plan.scripts = {"/opt/conda/etc/conda/activate.d/x.sh"};
  plan.shell = "/bin/sh";
  plan.directories = {{"/srv/job/device0", true}};
  plan.waits = {{"/table.json", "", 1000}};
  plan.elastic_launcher = true;
  EXPECT_EQ(encode_plan(plan), encode_plan(example_plan()));
}

TEST(PlanWire, EveryTruncationIsRefused) {
  std::string bytes = encode_plan(example_plan());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_plan(std::string_view(bytes).substr(0, size)).has_value()) << size;
  }
  EXPECT_FALSE(decode_plan(bytes + 'x').has_value());
}

TEST(PlanWire, FlippedBytesNeverReadOutsideOrAskForMoreThanTheyBring) {
  const std::string good = encode_plan(example_plan());
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    for (int flips = 0; flips < 3; ++flips)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    auto decoded = decode_plan(bytes);
    if (!decoded) continue;
    EXPECT_LE(decoded->processes.size(), bytes.size());
    for (const HookGroup& group : decoded->hooks) EXPECT_FALSE(group.paths.empty());
    for (const auto* processes : {&decoded->processes, &decoded->services, &decoded->post_stop}) {
      for (const Process& process : *processes) EXPECT_FALSE(process.argv.empty());
    }
  }
}

TEST(PlanWire, RefusesAServiceOrAPostStopProcessWithoutAProgram) {
  Plan service = example_plan();
  service.services[0].argv.clear();
  EXPECT_FALSE(decode_plan(encode_plan(service)).has_value());
  Plan post_stop = example_plan();
  post_stop.post_stop[1].argv.clear();
  EXPECT_FALSE(decode_plan(encode_plan(post_stop)).has_value());
}

TEST(PlanWire, RefusesHooksOfAnEventThatHasNone) {
  Plan plan = example_plan();
  plan.hooks[1].paths.clear();
  EXPECT_FALSE(decode_plan(encode_plan(plan)).has_value());
}

TEST(PlanWire, RefusesMoreGroupsOfHooksThanThereAreEvents) {
  Plan plan = example_plan();
  plan.hooks.assign(kHookEvents, plan.hooks[0]);
  EXPECT_TRUE(decode_plan(encode_plan(plan)).has_value());
  plan.hooks.push_back(plan.hooks[0]);
  EXPECT_FALSE(decode_plan(encode_plan(plan)).has_value());
}

TEST(PlanWire, RefusesWhatIsNoSignalAndNoNumberOfRestarts) {
  for (auto change : {+[](base::Policy& policy) { policy.signals[0].to = 65; },
                      +[](base::Policy& policy) { policy.signals[0].from = 65; },
                      +[](base::Policy& policy) { policy.checkpoint_signal = 65; },
                      +[](base::Policy& policy) { policy.checkpoint_signal = -1; },
                      +[](base::Policy& policy) { policy.max_restarts = -1; },
                      +[](base::Policy& policy) { policy.max_restarts = 1'000'001; },
                      +[](base::Policy& policy) { policy.no_restart_on[0].last = 256; }}) {
    Plan plan = example_plan();
    change(plan.policy);
    EXPECT_FALSE(decode_plan(encode_plan(plan)).has_value());
  }
}

TEST(PlanWire, RefusesAFilterThatTheKernelWouldNotTake) {
  Plan plan = example_plan();
  plan.sandbox.filter.assign(std::size_t{4096} * 8, 'x');
  EXPECT_TRUE(decode_plan(encode_plan(plan)).has_value());
  plan.sandbox.filter.assign(std::size_t{4097} * 8, 'x');
  EXPECT_FALSE(decode_plan(encode_plan(plan)).has_value());
  plan.sandbox.filter.assign(12, 'x');
  EXPECT_FALSE(decode_plan(encode_plan(plan)).has_value());
}

TEST(PlanWire, RefusesALimitOfNothingThatIsLimited) {
  Plan plan = example_plan();
  plan.sandbox.limits[0].resource = kResources;
  EXPECT_FALSE(decode_plan(encode_plan(plan)).has_value());
}

TEST(PlanWire, RefusesMoreProcessesAndEditsThanANodeCanHave) {
  Plan plan = example_plan();
  plan.services.assign(4096, plan.services[0]);
  EXPECT_TRUE(decode_plan(encode_plan(plan)).has_value());
  plan.services.push_back(plan.services[0]);
  EXPECT_FALSE(decode_plan(encode_plan(plan)).has_value());

  Plan edits = example_plan();
  edits.env.assign(65'536, edits.env[0]);
  EXPECT_TRUE(decode_plan(encode_plan(edits)).has_value());
  edits.env.push_back(edits.env[0]);
  EXPECT_FALSE(decode_plan(encode_plan(edits)).has_value());
}

}  // namespace
}  // namespace envgen
