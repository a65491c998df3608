// The scenarios of the nodes' world: which follows from a seed, and a smaller one that fails as
// well.

#include <algorithm>
#include <random>

#include "tests/sim/nodes_world.h"

namespace sim {
namespace {

using What = NodeFault::What;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed ^ 0x5EEDULL) {}
  TimeMs draw(TimeMs least, TimeMs most) {
    return std::uniform_int_distribution<TimeMs>(least, most)(random_);
  }
  bool chance(int percent) { return draw(1, 100) <= percent; }

 private:
  std::mt19937_64 random_;
};

// One after the other, each too short to be noticed.
void add_harmless(Dice& dice, NodesScenario& scenario) {
  scenario.harmless = true;
  TimeMs at = dice.draw(0, 4000);
  const TimeMs least = scenario.timeout_ms / 2;
  const TimeMs patience = scenario.timeout_ms - scenario.timeout_ms / 4 - 1500;
  for (TimeMs left = dice.draw(1, 4); left > 0; --left) {
    NodeFault fault{.at = at};
    fault.node = static_cast<std::uint32_t>(dice.draw(0, scenario.nodes - 1));
    static constexpr What kWhat[] = {What::kCut,      What::kPartition, What::kMuteUp,
                                     What::kMuteDown, What::kPause,     What::kCoordinator};
    fault.what = kWhat[dice.draw(0, 5)];
    const bool of_link = fault.what != What::kPause && fault.what != What::kCoordinator;
    if (of_link && fault.node == 0) fault.node = 1;
    fault.length_ms = fault.what == What::kCoordinator ? dice.draw(0, 1200)
                      : dice.chance(50)                ? dice.draw(least, patience)
                                                       : dice.draw(0, patience);
    at += fault.length_ms + dice.draw(5000, 9000);
    scenario.faults.push_back(fault);
  }
  scenario.quiet_at = at;
  scenario.plan.work_until = at + 5000;
}

void add_faults(Dice& dice, NodesScenario& scenario) {
  const bool at_once = dice.chance(30);
  for (TimeMs left = dice.draw(1, 4); left > 0; --left) {
    NodeFault fault;
    fault.what = static_cast<What>(dice.draw(0, 9));
    fault.at = at_once ? dice.draw(6000, 6600) : dice.draw(0, 40'000);
    fault.node = static_cast<std::uint32_t>(dice.draw(0, scenario.nodes - 1));
    const bool dies = fault.what == What::kCrash || fault.what == What::kVanish;
    fault.length_ms = dice.chance(50) ? dice.draw(0, 5000) : dice.draw(0, 40'000);
    if (dies && dice.chance(40)) fault.length_ms = -1;
    scenario.quiet_at =
        std::max(scenario.quiet_at, fault.at + std::max<TimeMs>(0, fault.length_ms));
    scenario.faults.push_back(fault);
  }
}

// With dice of its own, so that the other scenarios stay what they are.
void add_lists(NodesScenario& scenario) {
  Dice dice(scenario.seed + (1ULL << 40U));
  if (!scenario.plan.meets || !scenario.stops || !dice.chance(25)) return;
  TimeMs at = scenario.harmless ? scenario.quiet_at : dice.draw(0, 30'000);
  for (TimeMs left = dice.draw(1, 3); left > 0; --left) {
    NodeFault fault{.what = What::kList, .at = at, .node = 0};
    fault.length_ms = dice.chance(50) ? dice.draw(0, 2000) : dice.draw(0, 15'000);
    scenario.faults.push_back(fault);
    at += fault.length_ms + dice.draw(0, 30'000);
    scenario.quiet_at = std::max(scenario.quiet_at, fault.at + fault.length_ms);
  }
  if (scenario.harmless) scenario.plan.work_until = scenario.quiet_at + 60'000;
}

// Hooks and data before the start, which take time, on one node perhaps much more, and may fail.
void add_preparations(NodesScenario& scenario) {
  Dice dice(scenario.seed + (3ULL << 40U));
  if (dice.chance(30)) return;
  NodePlan& plan = scenario.plan;
  plan.hooks = static_cast<int>(dice.draw(0, 2));
  plan.most_hook_ms = dice.chance(50) ? dice.draw(1, 200) : dice.draw(1, 4000);
  plan.data = dice.chance(40);
  plan.most_data_ms = dice.chance(50) ? dice.draw(1, 1000) : dice.draw(1, 8000);
  if (dice.chance(50)) plan.slow_node = static_cast<int>(dice.draw(0, scenario.nodes - 1));
  if (scenario.harmless || scenario.spaced || !dice.chance(40)) return;
  NodeFault fault{.what = dice.chance(70) ? What::kHookFails : What::kThrottle};
  fault.at = dice.draw(1000, 20'000);
  fault.node = plan.slow_node >= 0 ? static_cast<std::uint32_t>(plan.slow_node)
                                   : static_cast<std::uint32_t>(dice.draw(0, scenario.nodes - 1));
  if (fault.what == What::kThrottle) fault.length_ms = dice.draw(1000, 40'000);
  scenario.quiet_at = std::max(scenario.quiet_at, fault.at + fault.length_ms);
  scenario.faults.push_back(fault);
}

// Plants one culprit, also on a slow node whose victims fail first.
void add_culprit(NodesScenario& scenario) {
  Dice dice(scenario.seed + (4ULL << 40U));
  if (scenario.harmless || scenario.spaced || !scenario.stops || !dice.chance(25)) return;
  static constexpr What kWhat[] = {What::kRankFails, What::kRankFails, What::kHookFails,
                                   What::kCrash,     What::kVanish,    What::kStop,
                                   What::kHang};
  NodeFault fault{.what = kWhat[dice.draw(0, 6)], .at = dice.draw(4000, 20'000)};
  fault.node = static_cast<std::uint32_t>(dice.draw(0, scenario.nodes - 1));
  const bool dies = fault.what == What::kCrash || fault.what == What::kVanish;
  if (dies) fault.length_ms = dice.chance(30) ? -1 : dice.draw(0, dice.chance(50) ? 3000 : 40'000);
  scenario.faults = {fault};
  scenario.planted = true;
  scenario.plan.rendezvous_ms = 100'000'000;  // a wait that ends is a failure of whoever waits
  scenario.victims = dice.chance(70);
  scenario.quiet_at = fault.at + std::max<TimeMs>(0, fault.length_ms);
  // Seen after the word of a victim, perhaps.
  if (fault.what == What::kRankFails && dice.chance(50)) scenario.plan.most_unseen_ms = 1000;
  if (dies || !dice.chance(40)) return;
  scenario.faults.push_back({.what = What::kThrottle,
                             .at = fault.at - dice.draw(1, 3000),
                             .node = fault.node,
                             .length_ms = 6000});
}

// A checkpoint that ends the job: alone, shortly behind the culprit's fault, or among others.
void add_checkpoint(NodesScenario& scenario) {
  Dice dice(scenario.seed + (5ULL << 40U));
  if (scenario.harmless || scenario.spaced || !dice.chance(scenario.planted ? 50 : 20)) return;
  NodePlan& plan = scenario.plan;
  plan.saves = true;
  plan.max_restarts = 0;
  plan.most_save_ms = dice.chance(50) ? dice.draw(0, 1000) : dice.draw(1000, 8000);
  NodeFault save{.what = What::kSave, .at = dice.draw(0, 40'000), .length_ms = dice.draw(0, 300)};
  if (scenario.planted) {
    save.at =
        scenario.faults.front().at + (dice.chance(50) ? dice.draw(1, 200) : dice.draw(1, 4000));
  } else if (dice.chance(30)) {
    scenario.faults.clear();
  }
  scenario.quiet_at = std::max(scenario.quiet_at, save.at + save.length_ms);
  scenario.faults.push_back(save);
}

// One rank after the other, each when all run again: after short starts and after long ones.
void add_failures_in_turn(NodesScenario& scenario) {
  Dice dice(scenario.seed + (2ULL << 40U));
  if (!scenario.plan.meets) return;
  if (dice.chance(50)) scenario.plan.restart_reset_ms = dice.draw(1, 40) * 1000;
  if (!scenario.stops || scenario.harmless || !dice.chance(20)) return;
  scenario.spaced = true;
  scenario.faults.clear();
  TimeMs at = 10'000;
  for (int left = scenario.plan.max_restarts + 2; left > 0; --left) {
    scenario.faults.push_back(
        {.what = What::kRankFails,
         .at = at,
         .node = static_cast<std::uint32_t>(dice.draw(0, scenario.nodes - 1))});
    scenario.quiet_at = at;
    at += 12'000 + (dice.chance(30) ? scenario.plan.restart_reset_ms : dice.draw(0, 5000));
  }
}

}  // namespace

NodesScenario make_nodes_scenario(std::uint64_t seed) {
  Dice dice(seed);
  NodesScenario scenario;
  scenario.seed = seed;
  scenario.nodes = static_cast<std::uint32_t>(dice.draw(2, 6));
  if (dice.chance(5)) scenario.nodes = static_cast<std::uint32_t>(dice.draw(7, 40));
  if (seed % 500 == 0) scenario.nodes = static_cast<std::uint32_t>(dice.draw(200, 1000));
  scenario.plan.meets = dice.chance(80);
  scenario.plan.max_restarts = scenario.plan.meets ? static_cast<int>(dice.draw(0, 5)) : 0;
  scenario.stops = !dice.chance(10);
  scenario.timeout_ms = dice.draw(8, 30) * 1000;
  scenario.most_delay_ms = dice.chance(70) ? 20 : 60;
  if (dice.chance(20)) {
    add_harmless(dice, scenario);
  } else if (dice.chance(15)) {
    scenario.faults.push_back(
        {.what = What::kRankFails,
         .at = dice.draw(4000, 20'000),
         .node = static_cast<std::uint32_t>(dice.draw(0, scenario.nodes - 1))});
    scenario.quiet_at = scenario.faults[0].at;
  } else {
    add_faults(dice, scenario);
  }
  add_lists(scenario);
  add_failures_in_turn(scenario);
  add_preparations(scenario);
  add_culprit(scenario);
  add_checkpoint(scenario);
  return scenario;
}

std::string text(const NodesScenario& scenario) {
  static constexpr const char* kWhat[] = {
      "a rank fails", "told to stop", "crashes",   "vanishes", "cut",
      "partitioned",  "mute up",      "mute down", "paused",   "coordinator dies",
      "another list", "hook fails",   "throttled", "hangs",    "all save"};
  std::string out =
      std::to_string(scenario.nodes) + " nodes, " + std::to_string(scenario.plan.max_restarts) +
      " restarts, anew after " + std::to_string(scenario.plan.restart_reset_ms) + ", time-out " +
      std::to_string(scenario.timeout_ms) + (scenario.plan.meets ? "" : ", without meeting") +
      (scenario.stops ? "" : ", told") + (scenario.harmless ? ", harmless" : "") +
      (scenario.planted ? ", one culprit" : "") + (scenario.victims ? ", victims" : "") + ", " +
      std::to_string(scenario.plan.hooks) + " hooks of " +
      std::to_string(scenario.plan.most_hook_ms) +
      (scenario.plan.data ? ", data in " + std::to_string(scenario.plan.most_data_ms) : "") +
      (scenario.plan.most_unseen_ms > 0 ? ", deaths seen late" : "") + ", slow node " +
      std::to_string(scenario.plan.slow_node) + "\n";
  for (const NodeFault& fault : scenario.faults) {
    out += "  at " + std::to_string(fault.at) + " node " + std::to_string(fault.node) + " " +
           kWhat[static_cast<int>(fault.what)] + " for " + std::to_string(fault.length_ms) + "\n";
  }
  return out;
}

NodesScenario shrink(const NodesScenario& failing) {
  NodesScenario best = failing;
  for (std::size_t i = 0; i < best.faults.size();) {
    NodesScenario smaller = best;
    smaller.faults.erase(smaller.faults.begin() + static_cast<std::ptrdiff_t>(i));
    if (run_nodes(smaller).complaint.empty()) {
      ++i;
    } else {
      best = smaller;
    }
  }
  for (std::uint32_t nodes = 2; nodes < best.nodes; nodes = nodes < 8 ? nodes + 1 : nodes * 2) {
    NodesScenario smaller = best;
    smaller.nodes = nodes;
    const bool fits = std::ranges::all_of(
        smaller.faults, [nodes](const NodeFault& fault) { return fault.node < nodes; });
    if (fits && !run_nodes(smaller).complaint.empty()) return smaller;
  }
  return best;
}

}  // namespace sim
