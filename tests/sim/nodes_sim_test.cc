// Random jobs of several nodes over a bad network, each judged by the NodesJudge.
//   TRAINIT_SIM_STEPS=n   how many steps instead
//   TRAINIT_SIM_FROM=n    from this seed on, instead of the day's
//   TRAINIT_SIM_SEED=n    this scenario alone, with its trace

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>

#include "tests/sim/nodes_world.h"
#include "tests/sim/seeds.h"

namespace sim {
namespace {

using State = NodeVerdict::State;

std::string report(const NodesScenario& scenario) {
  const NodesOutcome outcome = run_nodes(scenario, true);
  return outcome.complaint + "\n" + text(scenario) + outcome.trace;
}

TEST(NodesSim, RandomJobs) {
  if (const char* only = std::getenv("TRAINIT_SIM_SEED"); only != nullptr) {
    const NodesScenario scenario = make_nodes_scenario(std::strtoull(only, nullptr, 10));
    std::cout << report(scenario);
    ASSERT_EQ(run_nodes(scenario).complaint, "");
    return;
  }
  const std::uint64_t wanted = number_of("TRAINIT_SIM_STEPS", 1'000'000);
  const std::uint64_t first = first_seed();
  std::uint64_t steps = 0;
  std::uint64_t starts = 0;
  std::uint64_t seed = first;
  for (; steps < wanted; ++seed) {
    const NodesScenario scenario = make_nodes_scenario(seed);
    const NodesOutcome outcome = run_nodes(scenario);
    steps += outcome.steps;
    starts += outcome.starts;
    if (outcome.complaint.empty()) continue;
    FAIL() << "TRAINIT_SIM_SEED=" << seed << " after " << steps << " steps: " << outcome.complaint
           << "\nshrunk to: " << report(shrink(scenario));
  }
  RecordProperty("scenarios", std::to_string(seed - first));
  RecordProperty("steps", std::to_string(steps));
  EXPECT_GT(starts, seed - first);
}

TEST(NodesSim, SameSeedSameCourse) {
  for (const std::uint64_t seed : {7U, 8U, 9U}) {
    const NodesScenario scenario = make_nodes_scenario(seed);
    EXPECT_EQ(run_nodes(scenario, true).trace, run_nodes(scenario, true).trace);
    EXPECT_NE(run_nodes(scenario, true).trace,
              run_nodes(make_nodes_scenario(seed + 100), true).trace);
  }
}

// Defects, which the judge must find, in a scenario that is a small one.
struct Defect {
  const char* name;
  void (*plant)(NodesScenario& scenario);
};

const Defect kDefects[] = {
    {"gives go to whoever arrives",
     [](auto& scenario) {
       scenario.tamper = [](std::uint32_t, NodeVerdict& verdict, const NodeReport& last) {
         if (last.stage == NodeReport::Stage::kArrived) verdict.go = last.arrival;
       };
     }},
    {"names each node to itself",
     [](auto& scenario) {
       scenario.tamper = [](std::uint32_t node, NodeVerdict& verdict, const NodeReport&) {
         if (verdict.failure) verdict.failure->node = node;
       };
     }},
    {"does not tell node 1",
     [](auto& scenario) {
       scenario.tamper = [](std::uint32_t node, NodeVerdict& verdict, const NodeReport&) {
         if (node == 1) verdict.state = State::kFine;
       };
     }},
    {"tells node 1 that nobody starts again",
     [](auto& scenario) {
       scenario.tamper = [](std::uint32_t node, NodeVerdict& verdict, const NodeReport&) {
         if (node == 1) verdict.again = false;
       };
     }},
    {"never knows which failure was the first",
     [](auto& scenario) {
       scenario.tamper = [](std::uint32_t, NodeVerdict& verdict, const NodeReport&) {
         if (verdict.state == State::kFailed) verdict.state = State::kFailing;
       };
     }},
    {"speaks of another start",
     [](auto& scenario) {
       scenario.tamper = [](std::uint32_t, NodeVerdict& verdict, const NodeReport&) {
         if (verdict.restarts > 0) --verdict.restarts;
       };
     }},
    {"holds silence for a loss too early",
     [](auto& scenario) { scenario.impatience_ms = scenario.timeout_ms * 2 / 3; }},
    {"takes one instance of a node for another",
     [](auto& scenario) { scenario.forgets_instances = true; }},
    {"takes another list of nodes for a failure",
     [](auto& scenario) {
       scenario.tamper = [](std::uint32_t, NodeVerdict& verdict, const NodeReport&) {
         using Kind = lifecycle::NodeFailure::Kind;
         if (!verdict.failure || verdict.failure->kind != Kind::kReplanned) return;
         verdict.failure->kind = Kind::kFailed;
       };
     }},
    {"forgets how long a start ran",
     [](auto& scenario) {
       scenario.tamper_report = [](std::uint32_t, NodeReport& report) {
         if (report.failure) report.failure->ran_ms = -1;
       };
     }},
    {"says that each start ran for long",
     [](auto& scenario) {
       scenario.tamper_report = [](std::uint32_t, NodeReport& report) {
         if (!report.failure) return;
         report.failure->ran_ms = 3'600'000;
         report.failure->restarts = true;
       };
     }},
    {"takes a node whose hooks run for one that prepares another start",
     [](auto& scenario) {
       scenario.plan.hooks = std::max(scenario.plan.hooks, 1);
       scenario.plan.most_hook_ms = std::max<TimeMs>(scenario.plan.most_hook_ms, 500);
       scenario.tamper_report = [](std::uint32_t, NodeReport& report) {
         const bool prepares = report.phase == "preparing";
         if (prepares && report.stage == NodeReport::Stage::kRunning) {
           report.stage = NodeReport::Stage::kPreparing;
         }
       };
     }},
    {"lets a checkpoint count behind a failure",
     [](auto& scenario) {
       scenario.plan.most_save_ms = 100;
       scenario.tamper = [](std::uint32_t, NodeVerdict& verdict, const NodeReport&) {
         verdict.saves_known = verdict.saves;
       };
     }},
    {"hears of no failure",
     [](auto& scenario) {
       scenario.tamper_report = [](std::uint32_t, NodeReport& report) { report.failure.reset(); };
     }},
    {"knows nobody whom the others wait for",
     [](auto& scenario) {
       scenario.tamper = [](std::uint32_t, NodeVerdict& verdict, const NodeReport&) {
         if (verdict.hang) verdict.hang->suspects.clear();
       };
     }},
    {"hears no place of a rank that hangs",
     [](auto& scenario) {
       scenario.tamper_report = [](std::uint32_t, NodeReport& report) {
         if (report.places == kHangs) report.places = "waits";
       };
     }},
    {"hears of an arrival while the ranks still stop",
     [](auto& scenario) {
       scenario.tamper_report = [](std::uint32_t, NodeReport& report) {
         if (report.stage != NodeReport::Stage::kStopping || report.failure) return;
         report.stage = NodeReport::Stage::kArrived;
         ++report.arrival;
       };
     }},
};

TEST(NodesSim, NoticesADefect) {
  for (const Defect& defect : kDefects) {
    std::string noticed = "not noticed";
    for (std::uint64_t seed = 1; seed <= 500 && !noticed.empty(); ++seed) {
      NodesScenario scenario = make_nodes_scenario(seed);
      if (scenario.nodes > 50) continue;
      defect.plant(scenario);
      if (run_nodes(scenario).complaint.empty()) continue;
      const NodesScenario small = shrink(scenario);
      const bool is_small = small.nodes <= 3 && small.faults.size() <= 2;
      noticed = is_small && !run_nodes(small).complaint.empty() ? "" : report(small);
    }
    EXPECT_EQ(noticed, "") << defect.name;
  }
}

}  // namespace
}  // namespace sim
