// Random jobs in a fake container, a million steps of them, each judged by the Referee.
//   TRAINIT_SIM_STEPS=n   how many steps instead
//   TRAINIT_SIM_FROM=n    from this seed on, instead of the day's
//   TRAINIT_SIM_SEED=n    this scenario alone, with its trace

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/lifecycle_world.h"
#include "tests/sim/seeds.h"

namespace sim {
namespace {

std::string report(const Scenario& scenario) {
  const Outcome outcome = run(scenario, {.trace = true});
  const auto& policy = scenario.policy;
  return outcome.complaint + "\n  grace " + std::to_string(policy.grace_ms) + " reserve " +
         std::to_string(policy.kill_reserve_ms) + " post-stop " +
         std::to_string(policy.post_stop_ms) + " hold " + std::to_string(policy.hold_ms) +
         " restarts " + std::to_string(policy.max_restarts) + " rendezvous " +
         std::to_string(policy.rendezvous_ms) + " reset " +
         std::to_string(policy.restart_reset_ms) + " verdict " +
         std::to_string(static_cast<int>(policy.restart_verdict)) + "\n" + outcome.trace;
}

TEST(LifecycleSim, RandomJobs) {
  const char* only = std::getenv("TRAINIT_SIM_SEED");
  if (only != nullptr) {
    const Scenario scenario = make_scenario(std::strtoull(only, nullptr, 10));
    std::cout << report(scenario);
    ASSERT_EQ(run(scenario).complaint, "");
    return;
  }
  const std::uint64_t wanted = number_of("TRAINIT_SIM_STEPS", 1'000'000);
  std::uint64_t steps = 0;
  std::uint64_t seed = first_seed();
  for (; steps < wanted; ++seed) {
    const Scenario scenario = make_scenario(seed);
    const Outcome outcome = run(scenario);
    steps += outcome.steps;
    if (outcome.complaint.empty()) continue;
    FAIL() << "TRAINIT_SIM_SEED=" << seed << ": " << outcome.complaint
           << "\nshrunk to: " << report(shrink(scenario));
  }
  RecordProperty("scenarios", std::to_string(seed - first_seed()));
}

// A simulation is worth something only if what it is about happens.
TEST(LifecycleSim, EveryStateMeetsEveryEventAndEveryMoveIsMade) {
  std::set<std::string> met;
  std::set<std::string> moves;
  for (std::uint64_t seed = 1; seed <= 250'000; ++seed) {
    Outcome outcome = run(make_scenario(seed), {.met = true});
    met.merge(outcome.met);
    moves.merge(outcome.moves);
  }
  constexpr std::size_t kPhases = 10;
  constexpr std::size_t kEvents = 23 + lifecycle::kTimerCount;  // each timer counts as an event
  std::string all;
  for (const std::string& one : met) all += one + "\n";
  EXPECT_EQ(met.size(), kPhases * kEvents) << all;
  const std::set<std::string> expected = {
      "preparing -> starting",    "preparing -> running",      "preparing -> stopping",
      "starting -> running",      "starting -> checkpointing", "starting -> stopping",
      "running -> checkpointing", "running -> stopping",       "checkpointing -> stopping",
      "stopping -> on-failure",   "stopping -> auto-restart",  "stopping -> hold",
      "stopping -> post-stop",    "stopping -> exited",        "on-failure -> auto-restart",
      "on-failure -> hold",       "on-failure -> post-stop",   "on-failure -> exited",
      "on-failure -> stopping",   "auto-restart -> starting",  "auto-restart -> preparing",
      "auto-restart -> running",  "auto-restart -> stopping",  "hold -> stopping",
      "post-stop -> exited",
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
  void (*mishear)(lifecycle::Event& event) = nullptr;
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

template <typename T, typename Change>
void hear(lifecycle::Event& event, Change how) {
  if (auto* found = std::get_if<T>(&event); found != nullptr) how(*found);
}

template <lifecycle::Timer kTimer>
void never_set(std::vector<lifecycle::Action>& actions) {
  std::erase_if(actions, [](const auto& action) {
    const auto* timer = std::get_if<lifecycle::action::SetTimer>(&action);
    return timer != nullptr && timer->timer == kTimer;
  });
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
    {"escalates not", never_set<lifecycle::Timer::kEscalate>},
    {"never tells the main tasks", never_set<lifecycle::Timer::kNotify>},
    {"waits for ever for a checkpoint", never_set<lifecycle::Timer::kCheckpoint>},
    {"knows no time limit", never_set<lifecycle::Timer::kExpire>},
    {"asks nobody to save", drop<lifecycle::action::AskToSave>},
    {"asks twice to save",
     [](auto& actions) {
       const auto copy = actions;
       for (const auto& action : copy) {
         if (std::holds_alternative<lifecycle::action::AskToSave>(action)) {
           actions.push_back(action);
         }
       }
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
    {"waits for ever for the verdict", never_set<lifecycle::Timer::kVerdict>},
    {"waits for ever for the other nodes", never_set<lifecycle::Timer::kRendezvous>},
    {"never waits for the verdict", nullptr,
     [](auto& event) { hear<lifecycle::event::Linked>(event, [](auto& l) { l.up = false; }); }},
    {"starts before the nodes are ready", nullptr,
     [](auto& event) {
       hear<lifecycle::event::ClusterReady>(event, [](auto& r) { r.policy.rendezvous_ms = 0; });
     }},
    {"takes each failure for its own", nullptr,
     [](auto& event) { hear<lifecycle::event::JobFailed>(event, [](auto& f) { f.here = true; }); }},
    {"believes a verdict that is none", nullptr,
     [](auto& event) {
       hear<lifecycle::event::JobFailed>(event, [](auto& f) { f.known = true; });
     }},
    {"starts again alone", nullptr,
     [](auto& event) {
       hear<lifecycle::event::JobFailed>(event, [](auto& f) { f.again = true; });
     }},
    {"waits for ever for the cause", never_set<lifecycle::Timer::kDiagnosis>},
    {"starts again although it cannot help", nullptr,
     [](auto& event) {
       hear<lifecycle::event::Diagnosed>(event, [](auto& found) { found.hopeless = false; });
     }},
    {"does not start again although it may help", nullptr,
     [](auto& event) {
       hear<lifecycle::event::Diagnosed>(event, [](auto& found) { found.hopeless = true; });
     }},
    {"asks nobody whether it can help", nullptr,
     [](auto& event) {
       hear<lifecycle::event::ClusterReady>(
           event, [](auto& r) { r.policy.restart_verdict = base::RestartVerdict::kOff; });
     }},
    {"takes who was dead before for torn down", nullptr,
     [](auto& event) {
       hear<lifecycle::event::TasksEnded>(event, [](auto& ended) {
         for (lifecycle::event::TaskEnd& end : ended.ends) end.unasked = false;
       });
     }},
    {"takes the one seen first for the first", nullptr,
     [](auto& event) {
       hear<lifecycle::event::Diagnosed>(event, [](auto& found) { found.first.reset(); });
     }},
    {"takes what was found of another start", nullptr,
     [](auto& event) {
       hear<lifecycle::event::Diagnosed>(event, [](auto& found) { found.restarts ^= 1U; });
     }},
    {"counts restarts anew after each start", nullptr,
     [](auto& event) {
       hear<lifecycle::event::ClusterReady>(event, [](auto& r) { r.policy.restart_reset_ms = 1; });
     }},
    {"never counts restarts anew", nullptr,
     [](auto& event) {
       hear<lifecycle::event::ClusterReady>(event, [](auto& r) { r.policy.restart_reset_ms = 0; });
     }},
    {"counts restarts by itself", nullptr,
     [](auto& event) {
       hear<lifecycle::event::NodesReady>(event, [](auto& ready) { ready.restarts = 3; });
     }},
};

TEST(LifecycleSim, NoticesAMachineThatDoesWrong) {
  for (const Fault& fault : kFaults) {
    std::string noticed = "not noticed";
    for (std::uint64_t seed = 1; seed <= 10'000 && !noticed.empty(); ++seed) {
      Scenario scenario = make_scenario(seed);
      scenario.tamper = fault.tamper;
      scenario.mishear = fault.mishear;
      if (run(scenario).complaint.empty()) continue;
      const Scenario small = shrink(scenario);
      EXPECT_NE(run(small).complaint, "") << fault.name;
      const bool is_small = run(small).steps <= 12 && small.inputs.size() <= 1;
      noticed = is_small ? "" : report(small);
    }
    EXPECT_EQ(noticed, "") << fault.name;
  }
}

}  // namespace
}  // namespace sim
