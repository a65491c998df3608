// How a plan shows what was chosen about the job's phases and its end.

#include <gmock/gmock.h>

#include <csignal>

#include "envgen/show/plan_text.h"

namespace envgen {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(PolicyInPlan, ShowsOfTheEndOnlyWhatWasChosen) {
  const Plan plain;
  for (const char* name : {"stop_scope", "escalation", "exit_codes", "signals", "second_term",
                           "drain_ms", "pre_stop_ms", "post_stop_ms", "checkpoint", "restart",
                           "elastic", "max_duration_ms", "rendezvous_ms", "\"link\""}) {
    EXPECT_THAT(plan_to_json(plain, {}), Not(HasSubstr(name)));
  }
  EXPECT_THAT(plan_to_text(plain, {}).text(),
              EndsWith("stops within 8 s\n"
                       "stop signals: SIGTERM, SIGINT, SIGQUIT, SIGRTMIN+3 (the image's STOPSIGNAL "
                       "has to be one of them)\n"));
}

// `trainit checkpoint` can always ask for one.
TEST(PolicyInPlan, ShowsNothingOfTheUsualCheckpoint) {
  Plan plan;
  plan.policy.checkpoint_ms = 300'000;
  plan.policy.checkpoint_signal = SIGUSR1;
  EXPECT_THAT(plan_to_json(plan, {}), Not(HasSubstr("checkpoint")));
  EXPECT_THAT(plan_to_text(plan, {}).text(), Not(HasSubstr("checkpoint")));
}

// The object of `key`, without the white space.
std::string part_of(const Plan& plan, const std::string& key) {
  std::string json = plan_to_json(plan, {});
  std::erase_if(json, [](char c) { return c == ' ' || c == '\n'; });
  const std::size_t at = json.find('"' + key + "\":");
  return at == std::string::npos ? "" : json.substr(at);
}

TEST(PolicyInPlan, ShowsWhatSignalsBecome) {
  Plan plan;
  plan.policy.signals = {{SIGTERM, base::SignalRule::Kind::kSignal, SIGINT, ""},
                         {SIGUSR1, base::SignalRule::Kind::kCheckpoint, 0, ""},
                         {SIGUSR2, base::SignalRule::Kind::kFile, 0, "/run/save"},
                         {SIGHUP, base::SignalRule::Kind::kNothing, 0, ""}};
  EXPECT_THAT(part_of(plan, "signals"),
              StartsWith(R"("signals":[{"signal":"SIGTERM","becomes":"signal","to":"SIGINT"},)"
                         R"({"signal":"SIGUSR1","becomes":"checkpoint"},)"
                         R"({"signal":"SIGUSR2","becomes":"file","path":"/run/save"},)"
                         R"({"signal":"SIGHUP","becomes":"none"}])"));
  EXPECT_THAT(plan_to_text(plan, {}).text(),
              HasSubstr("SIGTERM becomes SIGINT\n"
                        "SIGUSR1 asks for a checkpoint and ends the job with exit code 75\n"
                        "SIGUSR2 touches /run/save\n"
                        "SIGHUP is dropped\n"));
}

TEST(PolicyInPlan, ShowsTheStopsDrainAndItsHooksShares) {
  Plan plan;
  plan.policy.drain_ms = 3000;
  plan.policy.second_term_kills = true;
  plan.policy.pre_stop_ms = 2000;
  plan.policy.post_stop_ms = 1000;
  EXPECT_THAT(plan_to_text(plan, {}).text(),
              HasSubstr("stops within 8 s, after a drain of 3 s, at once on a second SIGTERM\n"));
  EXPECT_THAT(part_of(plan, "second_term"),
              StartsWith(R"("second_term":"kill","drain_ms":3000,"pre_stop_ms":2000,)"
                         R"("post_stop_ms":1000)"));
}

// The drain is cut so that the job keeps a quarter of the grace.
TEST(PolicyInPlan, ShowsTheDrainThatPasses) {
  Plan plan;
  plan.policy.drain_ms = 7000;
  EXPECT_THAT(plan_to_text(plan, {}).text(),
              HasSubstr("stops within 8 s, after a drain of 5.25 s\n"));
}

TEST(PolicyInPlan, ShowsACheckpointThatASignalAsksFor) {
  Plan plan;
  plan.policy.signals = {{SIGUSR2, base::SignalRule::Kind::kCheckpoint, 0, ""}};
  plan.policy.checkpoint_ms = 300'000;
  plan.policy.checkpoint_signal = SIGUSR1;
  EXPECT_THAT(part_of(plan, "checkpoint"),
              StartsWith(R"("checkpoint":{"signal":"SIGUSR1","timeout_ms":300000})"));
  EXPECT_THAT(plan_to_text(plan, {}).text(),
              HasSubstr("a checkpoint is asked for with SIGUSR1 and granted 300 s\n"));
  plan.policy.checkpoint_signal = 0;
  EXPECT_THAT(part_of(plan, "checkpoint"), StartsWith(R"("checkpoint":{"signal":"none")"));
  EXPECT_THAT(plan_to_text(plan, {}).text(), HasSubstr("asked for by hooks and granted 300 s\n"));
}

TEST(PolicyInPlan, ShowsRestartsAndTheLimit) {
  Plan plan;
  plan.policy.max_restarts = 3;
  plan.policy.restart_delay_ms = 1000;
  plan.policy.no_restart_on = {{1, 2}, {126, 126}};
  plan.policy.restart_verdict = base::RestartVerdict::kEnforce;
  plan.policy.elastic = true;
  plan.policy.max_duration_ms = 3'600'000;
  plan.policy.rendezvous_ms = 1'800'000;
  EXPECT_THAT(
      part_of(plan, "elastic"),
      StartsWith(R"("elastic":true,"rendezvous_ms":1800000,"restart":{"most":3,)"
                 R"("delay_ms":1000,)"
                 R"("not_on":[{"first":1,"last":2},{"first":126,"last":126}],"verdict":"enforce"},)"
                 R"("max_duration_ms":3600000)"));
  plan.device_wait = DeviceWait{{{"/dev/nvidia0", "0000:0a:00.0"}, {"/dev/nvidia1"}}, 30'000};
  EXPECT_THAT(
      part_of(plan, "device_wait"),
      StartsWith(R"("device_wait":{"devices":[{"path":"/dev/nvidia0","bus_id":"0000:0a:00.0"},)"
                 R"({"path":"/dev/nvidia1"}],"timeout_ms":30000})"));
  EXPECT_THAT(
      plan_to_text(plan, {}).text(),
      EndsWith("restarts when its list of nodes changes\n"
               "waits for the other nodes before each start, at most 1800 s\n"
               "restarts after a failure, at most 3 times, first at once, then after 1 s, not "
               "after exit code 1 to 2, 126, not where it cannot help\n"
               "ends after 3600 s with exit code 124\n"
               "before a restart waits until nobody holds the devices (/dev/nvidia0 and 1 "
               "more), at most 30 s\n"));
}

TEST(PlanLink, ShowsWhereItIsAndWhatFollows) {
  Plan plan;
  plan.link = NodeLink{.address = "node-0", .port = 29501, .node_rank = 1, .node_count = 2};
  plan.link->timeout_ms = 30'000;
  plan.link->secret = "hush";
  EXPECT_THAT(part_of(plan, "link"),
              StartsWith(R"("link":{"address":"node-0","port":29501,"node_rank":1,"node_count":2,)"
                         R"("timeout_ms":30000,"on_node_failure":"stop"})"));
  EXPECT_THAT(plan_to_json(plan, {}), Not(HasSubstr("hush")));
  EXPECT_THAT(
      plan_to_text(plan, {}).text(),
      EndsWith("link to node 0 at node-0:29501: a failure on one node stops all; no "
               "secret: any process that reaches the port and knows the nodes' names can join "
               "as a node (--job-secret)\n"));
  plan.link->stops = false;
  plan.link->secret_file = "/etc/link/secret";
  EXPECT_THAT(plan_to_text(plan, {}).text(),
              EndsWith(": a failure on one node is told; its secret is /etc/link/secret\n"));
  EXPECT_THAT(plan_to_json(plan, {}), HasSubstr(R"("secret_file": "/etc/link/secret")"));
}

TEST(PolicyInPlan, ShowsEachHookInTheOrderInWhichTheyRun) {
  Plan plan;
  plan.hooks = {{HookEvent::kPreStart, {"/h/a", "/h/script"}, "/h/script", 600'000, true},
                {HookEvent::kOnFailure, {"/h/b"}, "", 60'000, false}};
  EXPECT_THAT(
      part_of(plan, "hooks"),
      StartsWith(R"("hooks":[{"event":"pre-start","path":"/h/a","timeout_ms":600000,"fatal":true},)"
                 R"({"event":"pre-start","path":"/h/script","timeout_ms":600000,"fatal":true},)"
                 R"({"event":"on-failure","path":"/h/b","timeout_ms":60000,"fatal":false}])"));
  EXPECT_THAT(plan_to_text(plan, {}).text(),
              HasSubstr("hook at pre-start: /h/a, at most 600 s; its failure ends the job\n"
                        "hook at pre-start: /h/script pre-start, at most 600 s; its failure ends "
                        "the job\n"
                        "hook at on-failure: /h/b, at most 60 s\n"));
}

// Their own time counts where nobody waits for the end.
TEST(PolicyInPlan, ShowsWhatAStopLeavesItsHooks) {
  Plan plan;
  plan.policy.pre_stop_ms = 2000;
  plan.policy.post_stop_ms = 1000;
  plan.hooks = {{HookEvent::kPreStop, {"/h/a"}, "", 600'000, false},
                {HookEvent::kPostStop, {"/h/b"}, "", 500, false}};
  EXPECT_THAT(plan_to_text(plan, {}).text(),
              HasSubstr("hook at pre-stop: /h/a, at most 600 s, 2 s within a stop\n"
                        "hook at post-stop: /h/b, at most 0.5 s\n"));
  plan.hooks[1].timeout_ms = 1000;
  plan.policy.drain_ms = 3000;
  EXPECT_THAT(plan_to_text(plan, {}).text(),
              HasSubstr("hook at pre-stop: /h/a, at most 600 s, 3 s within a stop\n"
                        "hook at post-stop: /h/b, at most 1 s, at least 0.75 s within a stop\n"))
      << "pre-stop hooks run beside the drain, and the TERM of a post-stop hook comes before KILL";
}

TEST(PolicyInPlan, ShowsScopeEscalationAndExitCodes) {
  Plan plan;
  plan.policy.stop_scope = base::StopScope::kTree;
  plan.policy.escalation = {{2, 1000}, {35, 2500}};
  plan.policy.exit_codes = {{143, 143, 0}, {1, 3, 75}};
  const std::string text = plan_to_text(plan, {}).text();
  EXPECT_THAT(text, HasSubstr("stops within 8 s, telling all processes, SIGINT after 1 s, "
                              "SIGRTMIN+1 after 2.5 s\n"));
  EXPECT_THAT(text, HasSubstr("exit code 143 is given as 0\n"));
  EXPECT_THAT(text, HasSubstr("exit code 1 to 3 is given as 75\n"));
  const std::string json = plan_to_json(plan, {});
  for (const char* part : {"\"stop_scope\"", "\"tree\"", "\"SIGRTMIN+1\"", "\"after_ms\"",
                           "\"exit_codes\"", "\"first\"", "\"to\""}) {
    EXPECT_THAT(json, HasSubstr(part));
  }
}

TEST(GivenCode, IsTheFirstRulesThatFits) {
  const std::vector<base::ExitCodeRule> rules = {{143, 143, 0}, {1, 3, 75}, {2, 2, 9}};
  EXPECT_EQ(base::given_code(rules, 143), 0);
  EXPECT_EQ(base::given_code(rules, 1), 75);
  EXPECT_EQ(base::given_code(rules, 2), 75);
  EXPECT_EQ(base::given_code(rules, 3), 75);
  EXPECT_EQ(base::given_code(rules, 4), 4);
  EXPECT_EQ(base::given_code(rules, 0), 0);
  EXPECT_EQ(base::given_code({}, 137), 137);
}

TEST(GivenCode, IsNotMappedAgain) { EXPECT_EQ(base::given_code({{1, 1, 2}, {2, 2, 3}}, 1), 2); }

}  // namespace
}  // namespace envgen
