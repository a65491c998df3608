// Random jobs in a fake container, a million steps of them, each judged by the Referee.
//   TRAINIT_SIM_STEPS=n   how many steps instead
//   TRAINIT_SIM_SEED=n    this scenario alone, with its trace

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/lifecycle_world.h"

namespace sim {
namespace {

std::string report(const Scenario& scenario) {
  const Outcome outcome = run(scenario, {.trace = true});
  const auto& policy = scenario.policy;
  return outcome.complaint + "\n  grace " + std::to_string(policy.grace_ms) + " reserve " +
         std::to_string(policy.kill_reserve_ms) + " post-stop " +
         std::to_string(policy.post_stop_ms) + " hold " + std::to_string(policy.hold_ms) +
         " restarts " + std::to_string(policy.max_restarts) + "\n" + outcome.trace;
}

TEST(LifecycleSim, RandomJobs) {
  const char* only = std::getenv("TRAINIT_SIM_SEED");
  if (only != nullptr) {
    const Scenario scenario = make_scenario(std::strtoull(only, nullptr, 10));
    std::cout << report(scenario);
    ASSERT_EQ(run(scenario).complaint, "");
    return;
  }
  const char* length = std::getenv("TRAINIT_SIM_STEPS");
  const std::uint64_t wanted = length == nullptr ? 1'000'000 : std::strtoull(length, nullptr, 10);
  std::uint64_t steps = 0;
  std::uint64_t seed = 0;
  while (steps < wanted) {
    const Scenario scenario = make_scenario(++seed);
    const Outcome outcome = run(scenario);
    steps += outcome.steps;
    if (outcome.complaint.empty()) continue;
    FAIL() << "TRAINIT_SIM_SEED=" << seed << ": " << outcome.complaint
           << "\nshrunk to: " << report(shrink(scenario));
  }
  RecordProperty("scenarios", std::to_string(seed));
}

// A simulation is worth something only if what it is about happens.
TEST(LifecycleSim, EveryStateMeetsEveryEventAndEveryMoveIsMade) {
  std::set<std::string> met;
  std::set<std::string> moves;
  for (std::uint64_t seed = 1; seed <= 20'000; ++seed) {
    Outcome outcome = run(make_scenario(seed), {.met = true});
    met.merge(outcome.met);
    moves.merge(outcome.moves);
  }
  constexpr std::size_t kPhases = 8;
  constexpr std::size_t kEvents = 11 + lifecycle::kTimerCount;  // each timer counts as an event
  EXPECT_EQ(met.size(), kPhases * kEvents) << ::testing::PrintToString(met);
  const std::set<std::string> expected = {
      "preparing -> starting",    "preparing -> running",     "preparing -> stopping",
      "starting -> running",      "starting -> stopping",     "running -> stopping",
      "stopping -> auto-restart", "stopping -> hold",         "stopping -> post-stop",
      "stopping -> exited",       "auto-restart -> starting", "auto-restart -> preparing",
      "auto-restart -> stopping", "hold -> stopping",         "post-stop -> exited",
  };
  EXPECT_EQ(moves, expected);
}

TEST(LifecycleSim, SameSeedSameCourse) {
  for (const std::uint64_t seed : {7U, 8U, 9U}) {
    const Scenario scenario = make_scenario(seed);
    EXPECT_EQ(run(scenario, {.trace = true}).trace,
              run(make_scenario(seed), {.trace = true}).trace);
    EXPECT_NE(run(scenario, {.trace = true}).trace,
              run(make_scenario(seed + 100), {.trace = true}).trace);
  }
}

// A machine that does wrong is noticed, and the scenario that shows it is a small one.
struct Fault {
  const char* name;
  void (*tamper)(std::vector<lifecycle::Action>& actions);
};

template <typename T>
void drop(std::vector<lifecycle::Action>& actions) {
  std::erase_if(actions, [](const auto& action) { return std::holds_alternative<T>(action); });
}

template <typename T, typename Change>
void change(std::vector<lifecycle::Action>& actions, Change how) {
  for (auto& action : actions) {
    if (auto* found = std::get_if<T>(&action); found != nullptr) how(*found);
  }
}

const Fault kFaults[] = {
    {"says nothing of the failure", drop<lifecycle::action::Report>},
    {"signals nobody", drop<lifecycle::action::Signal>},
    {"sets no timer", drop<lifecycle::action::SetTimer>},
    {"cancels no timer", drop<lifecycle::action::CancelTimer>},
    {"sweeps nothing", drop<lifecycle::action::SweepAdopted>},
    {"never exits", drop<lifecycle::action::Exit>},
    {"starts nothing", drop<lifecycle::action::Start>},
    {"exits with another code",
     [](auto& actions) {
       change<lifecycle::action::Exit>(actions, [](auto& exit) { exit.code ^= 1; });
     }},
    {"kills at once",
     [](auto& actions) {
       change<lifecycle::action::Signal>(actions, [](auto& signal) { signal.signal = SIGKILL; });
     }},
    {"never kills",
     [](auto& actions) {
       change<lifecycle::action::Signal>(actions, [](auto& signal) { signal.signal = SIGTERM; });
     }},
    {"sets timers too late",
     [](auto& actions) {
       change<lifecycle::action::SetTimer>(actions, [](auto& timer) { timer.at += 30'000; });
     }},
    {"starts twice",
     [](auto& actions) {
       const auto copy = actions;
       for (const auto& action : copy) {
         if (std::holds_alternative<lifecycle::action::Start>(action)) actions.push_back(action);
       }
     }},
};

TEST(LifecycleSim, NoticesAMachineThatDoesWrong) {
  for (const Fault& fault : kFaults) {
    bool noticed = false;
    for (std::uint64_t seed = 1; seed <= 1000 && !noticed; ++seed) {
      Scenario scenario = make_scenario(seed);
      scenario.tamper = fault.tamper;
      if (run(scenario).complaint.empty()) continue;
      noticed = true;
      const Scenario small = shrink(scenario);
      EXPECT_NE(run(small).complaint, "") << fault.name;
      EXPECT_LE(run(small).steps, 12U) << fault.name << "\n" << report(small);
      EXPECT_LE(small.inputs.size(), 1U) << fault.name << "\n" << report(small);
    }
    EXPECT_TRUE(noticed) << fault.name;
  }
}

}  // namespace
}  // namespace sim
