// What of a plan's policy follows from the options, and which jobs PID 1 may plan by itself.

#include <gmock/gmock.h>

#include <csignal>
#include <limits>

#include "envgen/resolve/hooks.h"
#include "envgen/resolve/resolve.h"
#include "envgen/resolve/restart_policy.h"
#include "tests/envgen/tree.h"

namespace envgen {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kHourMs = 3'600'000;

Request train() {
  Request request;
  request.command = {"python", "train.py"};
  return request;
}

base::Policy policy_of(const Request& request) {
  return policy_of(base::Environ({"PATH=/bin"}), request);
}

Plan plan_of(const std::vector<std::string>& hooks, const Request& request) {
  Tree tree;
  tree.directory("/etc");
  for (const std::string& hook : hooks) tree.program(kHooksDirectory + hook);
  Snapshot snapshot;
  snapshot.env = base::Environ({"PATH=/bin"});
  Answer answer = resolve_in(tree, snapshot, request);
  const auto* planned = std::get_if<Planned>(&answer.outcome);
  if (planned == nullptr) {
    ADD_FAILURE() << "no plan";
    return {};
  }
  return planned->plan;
}

TEST(Policy, OfAJobWithoutOptions) {
  const base::Policy policy = policy_of(train());
  EXPECT_EQ(policy.grace_ms, 8000);
  EXPECT_EQ(policy.hold_ms, 0);
  EXPECT_EQ(policy.drain_ms, 0);
  EXPECT_FALSE(policy.second_term_kills);
  EXPECT_EQ(policy.checkpoint_ms, 300'000);
  EXPECT_EQ(policy.max_restarts, 0);
  EXPECT_EQ(policy.restart_delay_ms, 1000);
  EXPECT_FALSE(policy.elastic);
  EXPECT_EQ(policy.max_duration_ms, 0);
}

TEST(Policy, IsWhatTheOptionsSay) {
  Request request = train();
  request.policy.signals = {{SIGTERM, base::SignalRule::Kind::kSignal, SIGINT, ""}};
  request.policy.second_term_kills = true;
  request.policy.drain_ms = 2000;
  request.checkpoint_signal = SIGUSR2;
  request.policy.checkpoint_ms = 60'000;
  request.max_restarts = 3;
  request.policy.restart_delay_ms = 5000;
  request.policy.no_restart_on = {{1, 2}};
  request.policy.elastic = true;
  request.policy.max_duration_ms = kHourMs;
  const base::Policy policy = policy_of(request);
  EXPECT_EQ(policy.signals, request.policy.signals);
  EXPECT_TRUE(policy.second_term_kills);
  EXPECT_EQ(policy.drain_ms, 2000);
  EXPECT_EQ(policy.checkpoint_signal, SIGUSR2);
  EXPECT_EQ(policy.checkpoint_ms, 60'000);
  EXPECT_EQ(policy.max_restarts, 3);
  EXPECT_EQ(policy.restart_delay_ms, 5000);
  EXPECT_THAT(policy.no_restart_on, ElementsAre(base::CodeRange{1, 2}));
  EXPECT_TRUE(policy.elastic);
  EXPECT_EQ(policy.max_duration_ms, kHourMs);
}

TEST(Policy, ATerminalKeepsAFailedJobForFourHours) {
  Request request = train();
  for (const char* terminal : {"1", "ttyd bash"}) {
    request.terminal = terminal;
    EXPECT_EQ(policy_of(request).hold_ms, 4 * kHourMs) << terminal;
  }
  request.hold_ms = 0;
  EXPECT_EQ(policy_of(request).hold_ms, 0) << "--hold counts";
  request.hold_ms.reset();
  request.terminal = "0";
  EXPECT_EQ(policy_of(request).hold_ms, 0);
}

// The plan's own policy begins with it, so that what holds before the plan and in it is the same.
TEST(Policy, IsThePlansAsFarAsNothingElseDecidesIt) {
  Request request = train();
  request.grace_ms = 20'000;
  request.max_restarts = 2;
  request.policy.exit_codes = {{1, 3, 75}};
  EXPECT_EQ(plan_of({}, request).policy, policy_of(request));
}

TEST(Policy, RestartsAfterATenthOfASecondAtTheEarliest) {
  Request request = train();
  request.policy.restart_delay_ms = 0;
  EXPECT_EQ(policy_of(request).restart_delay_ms, 100);
}

TEST(Policy, EndsBeforeKubernetesKills) {
  const base::Environ kubernetes({"KUBERNETES_SERVICE_HOST=10.0.0.1"});
  Request request = train();
  EXPECT_EQ(policy_of(kubernetes, request).grace_ms, 25'000);
  request.grace_ms = 0;
  EXPECT_EQ(policy_of(kubernetes, request).grace_ms, 0);
}

// --- The time of the other ranks after a failure ---

std::int64_t failure_grace_of(
    const std::vector<std::string>& command, int slots,
    void (*change)(Request& request) = [](Request&) {}) {
  Request request = train();
  request.command = command;
  request.slots = slots;
  request.torch_launcher = TorchLauncher::kFanOut;
  request.framework = "pytorch";
  change(request);
  return plan_of({}, request).policy.failure_grace_ms;
}

TEST(FailureGrace, IsShortForRanksWithPeersOnly) {
  EXPECT_EQ(failure_grace_of({"python3", "train.py"}, 2), 3000);
  EXPECT_EQ(failure_grace_of({"python3", "train.py"}, 1), 0) << "no peer is left to wait for";
  EXPECT_EQ(plan_of({}, train()).policy.failure_grace_ms, 0);
}

TEST(FailureGrace, IsTheGraceWhereTheJobHasChosenItsTimes) {
  const std::vector<std::string> command = {"python3", "serve.py"};
  EXPECT_EQ(failure_grace_of(command, 2,
                             [](Request& r) { r.policy.success = base::SuccessPolicy::kServe; }),
            0);
  EXPECT_EQ(
      failure_grace_of(command, 2, [](Request& r) { r.policy.escalation = {{SIGINT, 1000}}; }), 0);
  EXPECT_EQ(failure_grace_of(command, 2, [](Request& r) { r.failure_grace_ms = 500; }), 500);
  EXPECT_EQ(failure_grace_of(command, 1, [](Request& r) { r.failure_grace_ms = 500; }), 500);
}

// Each wait by itself, with a tenth of the waits and from 2 s to a minute of work besides.
TEST(Policy, LeavesTheResolverTheTimeOfAllThatItWaitsFor) {
  Request request = train();
  request.framework = "pytorch";
  request.script_timeout_ms = 0;
  request.rank_table_timeout_ms = 0;
  EXPECT_EQ(policy_of(request).resolve_timeout_ms, 2000);
  request.script_timeout_ms = kHourMs;
  EXPECT_EQ(policy_of(request).resolve_timeout_ms, kHourMs + 2000);
  request.rank_table_timeout_ms = 100'000;
  EXPECT_EQ(policy_of(request).resolve_timeout_ms, kHourMs + 110'000);
  request.rank_table_timeout_ms = kHourMs;
  EXPECT_EQ(policy_of(request).resolve_timeout_ms, 2 * kHourMs + 60'000);
  request.observe.preflight = Preflight::kWarn;
  EXPECT_EQ(policy_of(request).resolve_timeout_ms, 2 * kHourMs + 40'000 + 60'000);
}

TEST(Policy, LeavesTheResolverTheTimeOfPeersWhereThereMayBeSome) {
  Request request = train();
  request.peer_timeout_ms = kHourMs;
  EXPECT_GT(policy_of(request).resolve_timeout_ms, kHourMs) << "the plan alone may know";
  request.framework = "mpi";
  EXPECT_GT(policy_of(request).resolve_timeout_ms, kHourMs);
  request.framework = "pytorch";
  request.rank_table_timeout_ms = 1000;
  EXPECT_LT(policy_of(request).resolve_timeout_ms, kHourMs);
}

TEST(Policy, WaitsForNothingLongerThanTheMachineDoes) {
  constexpr std::int64_t kMaxMs = 1'000'000'000;
  Request request = train();
  request.script_timeout_ms = request.rank_table_timeout_ms = request.peer_timeout_ms =
      request.device_wait_ms = std::numeric_limits<std::int64_t>::max();
  request.policy.elastic = true;
  constexpr std::int64_t kLastLookMs = 10'000;  // at the devices
  EXPECT_EQ(policy_of(request).resolve_timeout_ms, 4 * kMaxMs + kLastLookMs + 60'000);
}

TEST(Policy, LeavesTheHoldersOfDevicesTheirTime) {
  Request request = train();
  request.rank_table_timeout_ms = 1000;
  request.device_wait_ms = kHourMs;
  EXPECT_LT(policy_of(request).resolve_timeout_ms, kHourMs) << "it does not restart";
  request.max_restarts = 1;
  EXPECT_GT(policy_of(request).resolve_timeout_ms, kHourMs);
}

// --- The grace that the hooks of a stop get ---

struct Shares {
  std::int64_t pre_stop_ms = 0;
  std::int64_t post_stop_ms = 0;

  bool operator==(const Shares&) const = default;
};

Shares shares_of(const std::vector<std::string>& hooks, const Request& request) {
  const base::Policy policy = plan_of(hooks, request).policy;
  return {policy.pre_stop_ms, policy.post_stop_ms};
}

void set_time(Request& request, HookEvent event, std::int64_t time_ms) {
  request.hook_timeouts.at(static_cast<std::size_t>(event)) = time_ms;
}

const std::string kPreStop = "/pre-stop.d/10-x";
const std::string kPostStop = "/post-stop.d/10-x";

TEST(Shares, AreAQuarterOfTheGraceForEachEventThatHasHooks) {
  Request request = train();
  request.grace_ms = 20'000;
  EXPECT_EQ(shares_of({}, request), (Shares{0, 0}));
  EXPECT_EQ(shares_of({"/pre-start.d/10-x"}, request), (Shares{0, 0}));
  EXPECT_EQ(shares_of({kPreStop}, request), (Shares{5000, 0}));
  EXPECT_EQ(shares_of({kPostStop}, request), (Shares{0, 5000}));
  EXPECT_EQ(shares_of({kPreStop, kPostStop}, request), (Shares{5000, 5000}));
}

TEST(Shares, AreTheHooksTimeoutUpToAThirdOfTheGrace) {
  Request request = train();
  request.grace_ms = 30'000;
  set_time(request, HookEvent::kPreStop, 1000);
  set_time(request, HookEvent::kPostStop, 6000);
  EXPECT_EQ(shares_of({kPreStop, kPostStop}, request), (Shares{1000, 8000}))
      << "the last quarter of a post-stop share is between TERM and KILL";
  set_time(request, HookEvent::kPreStop, 600'000);
  set_time(request, HookEvent::kPostStop, 9000);
  EXPECT_EQ(shares_of({kPreStop, kPostStop}, request), (Shares{10'000, 10'000}));
}

Request with_short_shares() {
  Request request = train();
  request.grace_ms = 8000;
  set_time(request, HookEvent::kPreStop, 10'000);
  set_time(request, HookEvent::kPostStop, 2667);
  return request;
}

TEST(Shares, ThatCutAHooksTimeoutAreAWarning) {
  EXPECT_THAT(plan_of({kPreStop, kPostStop}, with_short_shares()).warnings,
              ElementsAre("--hook-timeout gives pre-stop hooks 10 s: within a stop they have 2.526 "
                          "s of the grace; raise --grace",
                          "--hook-timeout gives post-stop hooks 2.667 s: within a stop they have "
                          "at least 1.897 s of the grace; raise --grace"));
}

TEST(Shares, WarnOnlyOfATimeoutThatWasAskedForAndIsCut) {
  EXPECT_THAT(plan_of({"/pre-start.d/10-x"}, with_short_shares()).warnings, IsEmpty())
      << "there are no such hooks";
  EXPECT_THAT(plan_of({kPreStop, kPostStop}, train()).warnings, IsEmpty());
  Request fits = with_short_shares();
  fits.grace_ms = 30'000;
  EXPECT_THAT(plan_of({kPreStop, kPostStop}, fits).warnings, IsEmpty());
}

// --- Jobs that need no resolver ---

bool passes_through(void (*change)(Request& request)) {
  Request request = train();
  change(request);
  return is_pass_through(base::Environ({"PATH=/bin"}), request);
}

TEST(PassThrough, StaysWithOptionsOfTheJobsPhases) {
  EXPECT_TRUE(passes_through([](Request& r) {
    r.policy.signals = {{SIGTERM, base::SignalRule::Kind::kSignal, SIGINT, ""},
                        {SIGUSR1, base::SignalRule::Kind::kCheckpoint, 0, ""}};
  }));
  EXPECT_TRUE(passes_through([](Request& r) { r.policy.drain_ms = 1000; }));
  EXPECT_TRUE(passes_through([](Request& r) { r.policy.second_term_kills = true; }));
  EXPECT_TRUE(passes_through([](Request& r) { r.policy.max_duration_ms = kHourMs; }));
  EXPECT_TRUE(passes_through([](Request& r) { r.max_restarts = 0; }));
  EXPECT_TRUE(passes_through([](Request& r) { r.policy.checkpoint_ms = 1000; }));
  EXPECT_TRUE(passes_through([](Request& r) { r.hold_ms = kHourMs; }));
  EXPECT_TRUE(passes_through([](Request& r) { r.terminal = "0"; }));
}

TEST(PassThrough, EndsWhereSomethingHasToBeLookedFor) {
  EXPECT_FALSE(passes_through([](Request& r) { r.hooks_dir = "/h"; }));
  EXPECT_FALSE(passes_through([](Request& r) { r.lifecycle_script = "/s"; }));
  EXPECT_FALSE(passes_through([](Request& r) { r.terminal = "1"; }));
  EXPECT_FALSE(passes_through([](Request& r) { r.policy.elastic = true; }));
}

// The start after a restart is planned again, with TRAINIT_RESTART_COUNT and the directory that the
// first one had.
TEST(PassThrough, EndsWhereThereMayBeARestart) {
  EXPECT_FALSE(passes_through([](Request& r) { r.max_restarts = 1; }));
}

}  // namespace
}  // namespace envgen
