// What of a plan's policy follows from the options, and which jobs PID 1 may plan by itself.

#include <gmock/gmock.h>

#include <csignal>

#include "envgen/resolve/hooks.h"
#include "envgen/resolve/resolve.h"
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

PlanPolicy policy_of(const Request& request) {
  return early_policy(Environ({"PATH=/bin"}), request);
}

TEST(Policy, OfAJobWithoutOptions) {
  const PlanPolicy policy = policy_of(train());
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
  request.signals = {{SIGTERM, SignalRule::Kind::kSignal, SIGINT, ""}};
  request.second_term_kills = true;
  request.drain_ms = 2000;
  request.checkpoint_signal = SIGUSR2;
  request.checkpoint_timeout_ms = 60'000;
  request.max_restarts = 3;
  request.restart_delay_ms = 5000;
  request.no_restart_on = {{1, 2}};
  request.elastic = true;
  request.max_duration_ms = kHourMs;
  const PlanPolicy policy = policy_of(request);
  EXPECT_EQ(policy.signals, request.signals);
  EXPECT_TRUE(policy.second_term_kills);
  EXPECT_EQ(policy.drain_ms, 2000);
  EXPECT_EQ(policy.checkpoint_signal, SIGUSR2);
  EXPECT_EQ(policy.checkpoint_ms, 60'000);
  EXPECT_EQ(policy.max_restarts, 3);
  EXPECT_EQ(policy.restart_delay_ms, 5000);
  EXPECT_THAT(policy.no_restart_on, ElementsAre(CodeRange{1, 2}));
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

// --- The grace that the hooks of a stop get ---

struct Shares {
  std::int64_t pre_stop_ms = 0;
  std::int64_t post_stop_ms = 0;

  bool operator==(const Shares&) const = default;
};

Plan plan_of(const std::vector<std::string>& hooks, const Request& request) {
  Tree tree;
  tree.directory("/etc");
  for (const std::string& hook : hooks) tree.program(kHooksDirectory + hook);
  Snapshot snapshot;
  snapshot.env = Environ({"PATH=/bin"});
  Answer answer = resolve_in(tree, snapshot, request);
  const auto* planned = std::get_if<Planned>(&answer.outcome);
  if (planned == nullptr) {
    ADD_FAILURE() << "no plan";
    return {};
  }
  return planned->plan;
}

Shares shares_of(const std::vector<std::string>& hooks, const Request& request) {
  const PlanPolicy policy = plan_of(hooks, request).policy;
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
  set_time(request, HookEvent::kPostStop, 9000);
  EXPECT_EQ(shares_of({kPreStop, kPostStop}, request), (Shares{1000, 9000}));
  set_time(request, HookEvent::kPreStop, 600'000);
  EXPECT_EQ(shares_of({kPreStop, kPostStop}, request), (Shares{10'000, 9000}));
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
              ElementsAre("--hook-timeout gives pre-stop hooks 10 s: within a stop they have 2.666 "
                          "s of the grace; raise --grace",
                          "--hook-timeout gives post-stop hooks 2.667 s: within a stop they have "
                          "2.666 s of the grace; raise --grace"));
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
  return is_pass_through(Environ({"PATH=/bin"}), request);
}

TEST(PassThrough, StaysWithOptionsOfTheJobsCourse) {
  EXPECT_TRUE(passes_through([](Request& r) {
    r.signals = {{SIGTERM, SignalRule::Kind::kSignal, SIGINT, ""},
                 {SIGUSR1, SignalRule::Kind::kCheckpoint, 0, ""}};
  }));
  EXPECT_TRUE(passes_through([](Request& r) { r.drain_ms = 1000; }));
  EXPECT_TRUE(passes_through([](Request& r) { r.second_term_kills = true; }));
  EXPECT_TRUE(passes_through([](Request& r) { r.max_duration_ms = kHourMs; }));
  EXPECT_TRUE(passes_through([](Request& r) { r.max_restarts = 0; }));
  EXPECT_TRUE(passes_through([](Request& r) { r.checkpoint_timeout_ms = 1000; }));
  EXPECT_TRUE(passes_through([](Request& r) { r.hold_ms = kHourMs; }));
  EXPECT_TRUE(passes_through([](Request& r) { r.terminal = "0"; }));
}

TEST(PassThrough, EndsWhereSomethingHasToBeLookedFor) {
  EXPECT_FALSE(passes_through([](Request& r) { r.hooks_dir = "/h"; }));
  EXPECT_FALSE(passes_through([](Request& r) { r.lifecycle_script = "/s"; }));
  EXPECT_FALSE(passes_through([](Request& r) { r.terminal = "1"; }));
  EXPECT_FALSE(passes_through([](Request& r) { r.elastic = true; }));
}

// The start after a restart is planned again, with TRAINIT_RESTART_COUNT and the directory that the
// first one had.
TEST(PassThrough, EndsWhereThereMayBeARestart) {
  EXPECT_FALSE(passes_through([](Request& r) { r.max_restarts = 1; }));
}

}  // namespace
}  // namespace envgen
