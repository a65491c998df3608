// Every sequence of events up to a depth, for jobs of one and two main tasks, and long random walks
// through the same moves. From wherever a sequence ends, a stop and the timers alone must lead out.

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <random>

#include "tests/lifecycle/text.h"
#include "tests/sim/lifecycle_walker.h"
#include "tests/sim/seeds.h"

namespace sim {
namespace {

using namespace lifecycle;

Policy small_policy() {
  Policy policy;
  policy.grace_ms = 1000;
  policy.kill_reserve_ms = 200;
  policy.resolve_timeout_ms = 5000;
  return policy;
}

std::string as_text(const std::vector<Event>& path, const std::string& complaint) {
  std::string out = complaint + "\n";
  for (const Event& event : path) out += "  " + text(event) + "\n";
  return out;
}

// Depth-first over all moves; every state on the way also gets all the noise there is.
class Explorer {
 public:
  explicit Explorer(int depth) : depth_(depth) {}

  void explore(const Walker& from) {
    if (!failure.empty()) return;
    ++states;
    Walker deaf = from;
    for (const Event& late : from.noise()) {
      if (!check(deaf.take(late), late)) return;
    }
    Walker alone = from;
    if (!check(alone.finish_alone(), event::Begin{})) return;
    if (static_cast<int>(path_.size()) == depth_ || from.referee().exited()) return;
    for (const Event& move : from.moves()) {
      Walker next = from;
      path_.push_back(move);
      if (check(next.take(move), {})) explore(next);
      path_.pop_back();
    }
  }

  std::string failure;
  std::size_t states = 0;

 private:
  bool check(const std::string& complaint, const Event& extra) {
    if (complaint.empty() || !failure.empty()) return failure.empty();
    std::vector<Event> path = path_;
    path.push_back(extra);
    failure = as_text(path, complaint);
    return false;
  }

  int depth_;
  std::vector<Event> path_;
};

// Explores all that can follow `prefix`, whose events are indices into moves() by their text.
std::size_t explore_after(const WalkedJob& job, const std::vector<std::string>& prefix, int depth) {
  Walker walker(job);
  for (const std::string& wanted : prefix) {
    bool found = false;
    for (const Event& move : walker.moves()) {
      if (text(move) != wanted) continue;
      EXPECT_EQ(walker.take(move), "") << wanted;
      found = true;
      break;
    }
    EXPECT_TRUE(found) << "no move \"" << wanted << "\"";
  }
  Explorer explorer(depth);
  explorer.explore(walker);
  EXPECT_EQ(explorer.failure, "");
  return explorer.states;
}

const std::string kReadyOne = "ClusterReady success=all main";
const std::string kReadyTwo = "ClusterReady success=all main main";

TEST(LifecycleScope, EverySequenceFromTheBeginning) {
  const WalkedJob job{small_policy(), {TaskKind::kResolve}, {TaskKind::kMain}};
  EXPECT_GT(explore_after(job, {}, 7), 10'000U);
}

TEST(LifecycleScope, EverySequenceWithHooksAndData) {
  const WalkedJob job{small_policy(),
                      {TaskKind::kData, TaskKind::kResolve},
                      {TaskKind::kMain, TaskKind::kPreStart, TaskKind::kPostStop}};
  EXPECT_GT(explore_after(job, {"Begin"}, 6), 10'000U);
}

TEST(LifecycleScope, EverySequenceOfTwoRanks) {
  for (const SuccessPolicy success :
       {SuccessPolicy::kAll, SuccessPolicy::kFirst, SuccessPolicy::kServe}) {
    const WalkedJob job{small_policy(), {}, {TaskKind::kMain, TaskKind::kMain}, success};
    constexpr const char* kNames[] = {"all", "first", "serve"};
    const std::string ready =
        std::string("ClusterReady success=") + kNames[static_cast<int>(success)] + " main main";
    EXPECT_GT(explore_after(job, {"Begin", ready}, 6), 10'000U);
  }
}

TEST(LifecycleScope, EverySequenceOfARankWithAServiceAndAHold) {
  WalkedJob job{small_policy(), {}, {TaskKind::kMain, TaskKind::kService, TaskKind::kPostStop}};
  job.policy.hold_ms = 3000;
  const std::string ready = "ClusterReady success=all main service post-stop";
  EXPECT_GT(explore_after(job, {"Begin", ready, "Started 0#1"}, 7), 10'000U);
}

TEST(LifecycleScope, EverySequenceOfAnAnswerWithAServiceAndPostStopTasks) {
  WalkedJob job{small_policy(),
                {TaskKind::kResolve},
                {TaskKind::kMain, TaskKind::kService, TaskKind::kPostStop, TaskKind::kPostStop}};
  job.post_stop_ms = 400;
  const std::string ready = "ClusterReady success=all main service post-stop post-stop";
  EXPECT_GT(explore_after(job, {"Begin", ready, "Ended 0#1(exit 0)"}, 7), 10'000U);
}

TEST(LifecycleScope, EverySequenceThroughARestartWithPostStopTasks) {
  WalkedJob job{small_policy(),
                {TaskKind::kResolve},
                {TaskKind::kMain, TaskKind::kPostStop, TaskKind::kPostStop}};
  job.post_stop_ms = 400;
  job.policy.max_restarts = 1;
  const std::string ready = "ClusterReady success=all main post-stop post-stop";
  EXPECT_GT(explore_after(job,
                          {"Begin", ready, "Ended 0#1(exit 0)", "Started 1#1", "Ended 1#1(exit 3)",
                           "NothingLeft"},
                          7),
            10'000U);
}

TEST(LifecycleScope, EverySequenceFromTheHold) {
  WalkedJob job{small_policy(), {}, {TaskKind::kMain, TaskKind::kService}};
  job.policy.hold_ms = 3000;
  const std::string ready = "ClusterReady success=all main service";
  EXPECT_GT(
      explore_after(job, {"Begin", ready, "Started 0#1", "Ended 0#1(exit 3)", "NothingAdopted"}, 7),
      10'000U);
}

TEST(LifecycleScope, EverySequenceThroughARestart) {
  WalkedJob job{small_policy(), {TaskKind::kResolve}, {TaskKind::kMain}};
  job.policy.max_restarts = 1;
  EXPECT_GT(explore_after(job,
                          {"Begin", kReadyOne, "Ended 0#1(exit 0)", "Started 1#1",
                           "Ended 1#1(exit 3)", "NothingLeft"},
                          7),
            10'000U);
}

TEST(LifecycleScope, EverySequenceAfterTwoRanksRun) {
  const WalkedJob job{small_policy(), {}, {TaskKind::kMain, TaskKind::kMain}};
  EXPECT_GT(explore_after(job, {"Begin", kReadyTwo, "Started 0#1", "Started 1#1"}, 7), 10'000U);
}

// A step in time, one at the same instant as the KILL and so left out.
TEST(LifecycleScope, EverySequenceThroughAnEscalation) {
  for (const std::size_t mains : {1U, 2U}) {
    WalkedJob job{small_policy(), {}, std::vector<TaskKind>(mains, TaskKind::kMain)};
    job.policy.escalation = {{SIGINT, 300}, {SIGQUIT, 800}};
    std::vector<std::string> prefix = {"Begin", mains == 1 ? kReadyOne : kReadyTwo};
    for (std::size_t i = 0; i < mains; ++i) prefix.push_back("Started " + std::to_string(i) + "#1");
    prefix.emplace_back("Stop 15");
    EXPECT_GT(explore_after(job, prefix, 7), 1'000U);
  }
}

TEST(LifecycleScope, EverySequenceThroughAnEscalationOfAServer) {
  WalkedJob job{small_policy(), {}, {TaskKind::kMain}, SuccessPolicy::kServe};
  job.policy.escalation = {{SIGTERM, 100}, {SIGINT, 300}, {SIGKILL, 500}};
  EXPECT_GT(explore_after(job, {"Begin", "ClusterReady success=serve main", "Started 0#1"}, 8),
            1'000U);
}

// By signal, by hooks and by both; asked for while the job starts, runs, saves or ends.
TEST(LifecycleScope, EverySequenceThroughACheckpoint) {
  for (const bool by_signal : {false, true}) {
    WalkedJob job{
        small_policy(), {}, {TaskKind::kMain, TaskKind::kCheckpoint, TaskKind::kCheckpoint}};
    job.policy.checkpoint_signal = by_signal ? SIGUSR1 : 0;
    job.policy.checkpoint_ms = 600;
    job.asks = {event::CheckpointRequested{}, event::CheckpointRequested{true}};
    const std::string ready = "ClusterReady success=all main checkpoint checkpoint";
    EXPECT_GT(explore_after(job, {"Begin", ready}, 6), 10'000U);
    EXPECT_GT(explore_after(job, {"Begin", ready, "Started 0#1", "Checkpoint"}, 6), 1'000U);
  }
}

TEST(LifecycleScope, EverySequenceThroughACheckpointOfTwoRanks) {
  WalkedJob job{small_policy(),
                {},
                {TaskKind::kMain, TaskKind::kMain, TaskKind::kPreStop},
                SuccessPolicy::kFirst};
  job.policy.checkpoint_signal = SIGUSR1;
  job.policy.checkpoint_ms = 600;
  job.policy.pre_stop_ms = 200;
  const std::string ready = "ClusterReady success=first main main pre-stop";
  job.asks = {event::CheckpointRequested{}, event::NobodySaves{}};
  EXPECT_GT(explore_after(job, {"Begin", ready, "Started 0#1", "Checkpoint"}, 6), 1'000U);
}

TEST(LifecycleScope, EverySequenceUntilTheTimeIsOver) {
  WalkedJob job{small_policy(), {TaskKind::kResolve}, {TaskKind::kMain, TaskKind::kOnFailure}};
  job.policy.max_duration_ms = 1500;
  job.policy.max_restarts = 1;
  job.policy.restart_delay_ms = 400;
  job.asks = {event::ExpireIn{500}};
  const std::string ready = "ClusterReady success=all main on-failure";
  EXPECT_GT(explore_after(job, {}, 6), 10'000U);
  EXPECT_GT(explore_after(job, {"Begin", ready, "Ended 0#1(exit 0)", "Started 1#1"}, 7), 10'000U);
  EXPECT_GT(explore_after(job,
                          {"Begin", ready, "Ended 0#1(exit 0)", "Started 1#1", "Ended 1#1(exit 3)",
                           "NothingLeft", "Ended 2#1(exit 0)"},
                          6),
            1'000U);
}

TEST(LifecycleScope, EverySequenceWhenTheNodesAreOthers) {
  WalkedJob job{small_policy(),
                {TaskKind::kResolve},
                {TaskKind::kMain, TaskKind::kService, TaskKind::kPostStart, TaskKind::kPreStop}};
  job.policy.pre_stop_ms = 200;
  job.policy.hold_ms = 3000;
  job.policy.max_restarts = 1;
  job.asks = {event::MembershipChanged{}};
  const std::string ready = "ClusterReady success=all main service post-start pre-stop";
  std::vector<std::string> prefix = {"Begin", ready, "Ended 0#1(exit 0)"};
  EXPECT_GT(explore_after(job, prefix, 6), 10'000U);
  prefix.insert(prefix.end(), {"Started 1#1", "MembershipChanged"});
  EXPECT_GT(explore_after(job, prefix, 6), 10'000U);
  prefix.insert(prefix.end(), {"Timer notify#1", "Ended 1#1(exit 0)"});
  EXPECT_GT(explore_after(job, prefix, 6), 1'000U);
}

// Of a job of several nodes: while it runs and is waited for, through a restart, and at the end.
TEST(LifecycleScope, EverySequenceWithALink) {
  WalkedJob job{small_policy(),
                {TaskKind::kResolve},
                {TaskKind::kMain, TaskKind::kService, TaskKind::kOnFailure}};
  job.linked = true;
  job.policy.max_restarts = 1;
  job.policy.hold_ms = 3000;
  job.asks = {event::MembershipChanged{true}};
  const std::string ready = "ClusterReady success=all main service on-failure";
  std::vector<std::string> prefix = {"Linked", "Begin", ready, "Ended 0#1(exit 0)", "Started 1#1"};
  EXPECT_GT(explore_after(job, prefix, 5), 10'000U);
  prefix.emplace_back("Ended 1#1(exit 3)");
  EXPECT_GT(explore_after(job, prefix, 5), 10'000U);
  prefix.insert(prefix.end(), {"Timer verdict#1", "NothingAdopted", "Ended 3#1(exit 0)"});
  EXPECT_GT(explore_after(job, prefix, 5), 1'000U);
}

// Two ranks, one of which had died before it was told to stop: here or elsewhere it began.
TEST(LifecycleScope, EverySequenceWhenADeathIsSeenLate) {
  for (const bool linked : {false, true}) {
    WalkedJob job{small_policy(), {}, {TaskKind::kMain, TaskKind::kMain, TaskKind::kOnFailure}};
    job.linked = linked;
    job.finds_dead = true;
    job.policy.max_restarts = 1;
    std::vector<std::string> prefix = {"Begin", "ClusterReady success=all main main on-failure",
                                       "Started 0#1", "Started 1#1"};
    if (linked) prefix.insert(prefix.begin(), "Linked");
    EXPECT_GT(explore_after(job, prefix, 3), 100U);
    prefix.emplace_back("Ended 0#1(exit 3)");
    EXPECT_GT(explore_after(job, prefix, 4), 100U);
  }
}

TEST(LifecycleScope, EverySequenceOfARendezvous) {
  WalkedJob job{small_policy(),
                {TaskKind::kData, TaskKind::kResolve},
                {TaskKind::kMain, TaskKind::kPreStart}};
  job.policy.rendezvous_ms = 2000;
  job.policy.max_restarts = 1;
  job.asks = {event::MembershipChanged{}};
  const std::string ready = "ClusterReady success=all main pre-start";
  std::vector<std::string> prefix = {"Begin", ready};
  EXPECT_GT(explore_after(job, prefix, 6), 10'000U);
  prefix.insert(prefix.end(), {"Ended 0#1(exit 0)", "Ended 1#1(exit 0)", "NodesReady 1",
                               "Ended 3#1(exit 0)", "Started 2#1", "Ended 2#1(exit 3)"});
  EXPECT_GT(explore_after(job, prefix, 7), 1'000U);
}

TEST(LifecycleScope, EverySequenceWhenARankStalls) {
  WalkedJob job{small_policy(), {}, {TaskKind::kMain, TaskKind::kOnFailure}};
  job.policy.max_restarts = 1;
  job.stalls = true;
  std::vector<std::string> prefix = {"Begin", "ClusterReady success=all main on-failure"};
  EXPECT_GT(explore_after(job, prefix, 5), 1'000U);
  prefix.insert(prefix.end(), {"Started 0#1", "Stalled 0#1"});
  EXPECT_GT(explore_after(job, prefix, 5), 100U);
}

// Found in time, late or never; here or elsewhere; after one start and after the next.
TEST(LifecycleScope, EverySequenceUntilItIsKnownWhetherARestartHelps) {
  for (const TimeMs rendezvous_ms : {TimeMs{0}, TimeMs{2000}}) {
    WalkedJob job{small_policy(), {}, {TaskKind::kMain, TaskKind::kOnFailure}};
    job.linked = true;
    job.policy.max_restarts = 1;
    job.policy.restart_verdict = base::RestartVerdict::kEnforce;
    job.policy.restart_reset_ms = 1;
    job.policy.rendezvous_ms = rendezvous_ms;
    const std::string ready = "ClusterReady success=all main on-failure";
    std::vector<std::string> prefix = {"Linked", "Begin", ready};
    if (rendezvous_ms > 0) prefix.emplace_back("NodesReady 1");
    prefix.insert(prefix.end(), {"Started 0#1", "Ended 0#1(exit 3)"});
    EXPECT_GT(explore_after(job, prefix, 4), 100U);
    prefix.insert(prefix.end(), {"Timer verdict#1", "NothingLeft", "Ended 1#1(exit 0)"});
    EXPECT_GT(explore_after(job, prefix, 4), 100U);
  }
}

TEST(LifecycleScope, EverySequenceWithEveryHook) {
  WalkedJob job{small_policy(),
                {},
                {TaskKind::kMain, TaskKind::kPreStart, TaskKind::kPostStart, TaskKind::kCheckpoint,
                 TaskKind::kPreStop, TaskKind::kOnFailure, TaskKind::kPostStop}};
  job.policy.pre_stop_ms = 150;
  job.policy.drain_ms = 100;
  job.policy.post_stop_ms = 200;
  job.policy.max_restarts = 1;
  job.asks = {event::CheckpointRequested{true}};
  const std::string ready =
      "ClusterReady success=all main pre-start post-start checkpoint pre-stop on-failure post-stop";
  EXPECT_GT(explore_after(job, {"Begin", ready}, 6), 10'000U);
  EXPECT_GT(explore_after(job, {"Begin", ready, "Ended 1#1(exit 0)", "Started 0#1", "Stop 15"}, 6),
            1'000U);
  EXPECT_GT(explore_after(job,
                          {"Begin", ready, "Ended 1#1(exit 0)", "Started 0#1", "Ended 2#1(exit 0)",
                           "Ended 0#1(exit 3)", "NothingLeft"},
                          6),
            1'000U);
}

TEST(LifecycleScope, EverySequenceOfTwoPreStopHooksAndADrain) {
  WalkedJob job{small_policy(), {}, {TaskKind::kMain, TaskKind::kPreStop, TaskKind::kPreStop}};
  job.policy.pre_stop_ms = 200;
  job.policy.drain_ms = 100;
  job.policy.second_term_kills = true;
  job.policy.escalation = {{SIGQUIT, 100}};
  const std::string ready = "ClusterReady success=all main pre-stop pre-stop";
  EXPECT_GT(explore_after(job, {"Begin", ready, "Started 0#1", "Stop 15"}, 7), 1'000U);
}

WalkedJob random_job(std::mt19937_64& random) {
  const auto pick = [&random](std::initializer_list<TimeMs> values) {
    return *(values.begin() + static_cast<std::ptrdiff_t>(random() % values.size()));
  };
  WalkedJob job;
  job.policy.grace_ms = pick({0, 1, 100, 8000, 25000});
  job.policy.kill_reserve_ms = pick({0, 7, 1000, 9000});
  job.policy.post_stop_ms = pick({0, 500, 5000});
  job.policy.resolve_timeout_ms = pick({0, 2000});
  job.policy.hold_ms = pick({0, 0, 1, 60000});
  job.policy.max_restarts = static_cast<std::uint32_t>(pick({0, 0, 1, 3}));
  job.policy.restart_delay_ms = pick({0, 1000, 90000});
  job.policy.drain_ms = pick({0, 0, 300, 9000});
  job.policy.failure_grace_ms = pick({0, 3000, 40});
  job.policy.pre_stop_ms = pick({0, 300, 9000});
  job.policy.max_duration_ms = pick({0, 0, 500, 20000});
  job.policy.checkpoint_ms = pick({0, 700, 300'000});
  job.policy.checkpoint_signal = random() % 2 == 0 ? SIGUSR1 : 0;
  job.policy.second_term_kills = random() % 4 == 0;
  if (random() % 4 == 0) job.policy.no_restart_on = {{3, 3}};
  job.policy.rendezvous_ms = pick({0, 0, 800, 70'000});
  job.linked = random() % 2 == 0;
  const auto some = [&](TaskKind kind, std::uint64_t most, std::vector<TaskKind>* out) {
    out->insert(out->end(), random() % (most + 1), kind);
  };
  some(TaskKind::kData, 2, &job.preparing);
  some(TaskKind::kResolve, 1, &job.preparing);
  some(TaskKind::kMain, 3, &job.cluster);
  some(TaskKind::kService, 2, &job.cluster);
  for (const TaskKind hook : {TaskKind::kPreStart, TaskKind::kPostStart, TaskKind::kCheckpoint,
                              TaskKind::kPreStop, TaskKind::kOnFailure, TaskKind::kPostStop}) {
    some(hook, 2, &job.cluster);
  }
  job.asks = {event::CheckpointRequested{},  event::CheckpointRequested{true},
              event::ExpireIn{100},          event::MembershipChanged{},
              event::NobodySaves{},          event::StopRequested{SIGTERM, SIGINT},
              event::MembershipChanged{true}};
  job.stalls = random() % 4 == 0;
  job.finds_dead = random() % 2 == 0;
  job.silent_ms = pick({0, 0, 300, 90'000});
  job.policy.restart_reset_ms = pick({0, 0, 1, 2000});
  job.policy.restart_verdict = static_cast<base::RestartVerdict>(random() % 3);
  job.post_stop_ms = pick({0, 700, 6000});
  job.success = static_cast<SuccessPolicy>(random() % 3);
  TimeMs after_ms = 0;
  for (std::uint64_t i = random() % 3; i > 0; --i) {
    after_ms += pick({1, 50, 3000});
    const TimeMs signal = pick({SIGINT, SIGQUIT, SIGTERM, SIGKILL});
    job.policy.escalation.push_back({static_cast<int>(signal), after_ms});
  }
  return job;
}

// One random walk; returns the complaint with its path, and adds its length to *steps.
std::string walk(std::uint64_t seed, std::uint64_t* steps) {
  std::mt19937_64 random(seed);
  const WalkedJob job = random_job(random);
  Walker walker(job);
  std::vector<Event> path;
  const std::uint64_t length = 10 + random() % 60;
  const std::uint64_t stop_in = 5 + random() % 20;  // stops are rarer than their share of moves
  while (path.size() < length && !walker.referee().exited()) {
    std::vector<Event> choices = random() % 4 == 0 ? walker.noise() : walker.moves();
    Event event = choices[random() % choices.size()];
    if (path.empty() && random() % 16 != 0) event = event::Begin{};
    if (std::holds_alternative<event::StopRequested>(event) && random() % stop_in != 0) continue;
    const TimeMs until = walker.until_next_timer();
    const TimeMs elapsed = until <= 0 ? 0 : static_cast<TimeMs>(random() % 4) * until / 8;
    path.push_back(event);
    const std::string& complaint = walker.take(event, elapsed);
    if (!complaint.empty()) return as_text(path, complaint);
  }
  *steps += path.size();
  const std::string& complaint = walker.finish_alone();
  return complaint.empty() ? "" : as_text(path, complaint);
}

TEST(LifecycleScope, RandomWalksOfAnyEvents) {
  const std::uint64_t wanted = number_of("TRAINIT_SIM_STEPS", 500'000);
  std::uint64_t steps = 0;
  for (std::uint64_t seed = first_seed(); steps < wanted; ++seed) {
    const std::string failure = walk(seed, &steps);
    ASSERT_EQ(failure, "") << "TRAINIT_SIM_FROM=" << seed;
  }
}

}  // namespace
}  // namespace sim
