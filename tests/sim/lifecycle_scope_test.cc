// Every sequence of events up to a depth, for jobs of one and two main tasks, and long random walks
// through the same moves. From wherever a sequence ends, a stop and the timers alone must lead out.

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <random>

#include "tests/lifecycle/text.h"
#include "tests/sim/lifecycle_walker.h"

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

std::string told(const std::vector<Event>& path, const std::string& complaint) {
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
    failure = told(path, complaint);
    return false;
  }

  int depth_;
  std::vector<Event> path_;
};

// Explores all that can follow `prefix`, whose events are indices into moves() by their text.
std::size_t explore_after(const Job& job, const std::vector<std::string>& prefix, int depth) {
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
  const Job job{small_policy(), {TaskKind::kResolve}, {TaskKind::kMain}};
  EXPECT_GT(explore_after(job, {}, 7), 10'000U);
}

TEST(LifecycleScope, EverySequenceWithHooksAndData) {
  const Job job{small_policy(),
                {TaskKind::kPreStart, TaskKind::kData, TaskKind::kResolve, TaskKind::kPostStop},
                {TaskKind::kMain}};
  EXPECT_GT(explore_after(job, {"Begin"}, 6), 10'000U);
}

TEST(LifecycleScope, EverySequenceOfTwoRanks) {
  for (const SuccessPolicy success :
       {SuccessPolicy::kAll, SuccessPolicy::kFirst, SuccessPolicy::kServe}) {
    const Job job{small_policy(), {}, {TaskKind::kMain, TaskKind::kMain}, success};
    constexpr const char* kNames[] = {"all", "first", "serve"};
    const std::string ready =
        std::string("ClusterReady success=") + kNames[static_cast<int>(success)] + " main main";
    EXPECT_GT(explore_after(job, {"Begin", ready}, 6), 10'000U);
  }
}

TEST(LifecycleScope, EverySequenceOfARankWithAServiceAndAHold) {
  Job job{small_policy(), {TaskKind::kPostStop}, {TaskKind::kMain, TaskKind::kService}};
  job.policy.hold_ms = 3000;
  const std::string ready = "ClusterReady success=all main service";
  EXPECT_GT(explore_after(job, {"Begin", ready, "Started 1#1"}, 7), 10'000U);
}

TEST(LifecycleScope, EverySequenceFromTheHold) {
  Job job{small_policy(), {}, {TaskKind::kMain, TaskKind::kService}};
  job.policy.hold_ms = 3000;
  const std::string ready = "ClusterReady success=all main service";
  EXPECT_GT(
      explore_after(job, {"Begin", ready, "Started 0#1", "Ended 0#1(exit 3)", "NothingAdopted"}, 7),
      10'000U);
}

TEST(LifecycleScope, EverySequenceThroughARestart) {
  Job job{small_policy(), {TaskKind::kResolve}, {TaskKind::kMain}};
  job.policy.max_restarts = 1;
  EXPECT_GT(explore_after(job,
                          {"Begin", kReadyOne, "Ended 0#1(exit 0)", "Started 1#1",
                           "Ended 1#1(exit 3)", "NothingLeft"},
                          7),
            10'000U);
}

TEST(LifecycleScope, EverySequenceAfterTwoRanksRun) {
  const Job job{small_policy(), {}, {TaskKind::kMain, TaskKind::kMain}};
  EXPECT_GT(explore_after(job, {"Begin", kReadyTwo, "Started 0#1", "Started 1#1"}, 7), 10'000U);
}

std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

Job random_job(std::mt19937_64& random) {
  const auto pick = [&random](std::initializer_list<TimeMs> values) {
    return *(values.begin() + static_cast<std::ptrdiff_t>(random() % values.size()));
  };
  Job job;
  job.policy.grace_ms = pick({0, 1, 100, 8000, 25000});
  job.policy.kill_reserve_ms = pick({0, 7, 1000, 9000});
  job.policy.post_stop_ms = pick({0, 500, 5000});
  job.policy.resolve_timeout_ms = pick({0, 2000});
  job.policy.hold_ms = pick({0, 0, 1, 60000});
  job.policy.max_restarts = static_cast<std::uint32_t>(pick({0, 0, 1, 3}));
  job.policy.restart_backoff_ms = pick({0, 1000, 90000});
  const auto some = [&](TaskKind kind, std::uint64_t most, std::vector<TaskKind>* out) {
    out->insert(out->end(), random() % (most + 1), kind);
  };
  some(TaskKind::kPreStart, 2, &job.preparing);
  some(TaskKind::kData, 2, &job.preparing);
  some(TaskKind::kResolve, 1, &job.preparing);
  some(TaskKind::kPostStop, 2, &job.preparing);
  some(TaskKind::kMain, 3, &job.cluster);
  some(TaskKind::kService, 2, &job.cluster);
  job.success = static_cast<SuccessPolicy>(random() % 3);
  return job;
}

// One random walk; returns the complaint with its path, and adds its length to *steps.
std::string walk(std::uint64_t seed, std::uint64_t* steps) {
  std::mt19937_64 random(seed);
  const Job job = random_job(random);
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
    if (!complaint.empty()) return told(path, complaint);
  }
  *steps += path.size();
  const std::string& complaint = walker.finish_alone();
  return complaint.empty() ? "" : told(path, complaint);
}

TEST(LifecycleScope, RandomWalksOfAnyEvents) {
  const std::uint64_t wanted = number("TRAINIT_SIM_STEPS", 500'000);
  std::uint64_t steps = 0;
  for (std::uint64_t seed = 1; steps < wanted; ++seed) {
    const std::string failure = walk(seed, &steps);
    ASSERT_EQ(failure, "") << "walk " << seed;
  }
}

}  // namespace
}  // namespace sim
