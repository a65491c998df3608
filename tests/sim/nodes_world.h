#pragma once
// The nodes of a job over a network that delays, cuts, holds back and partitions, with containers
// that die, stand still and come again, and a coordinator that may die as well. A connection
// delivers in order; nothing else is in order. All follows from a NodesScenario, and that from a
// seed.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/nodes_judge.h"

namespace sim {

struct NodeFault {
  enum class What : std::uint8_t {
    kRankFails,
    kStop,         // its platform wants the container to end
    kCrash,        // the container is killed; another instance after length_ms, or never (-1)
    kVanish,       // so is its machine: nothing closes its connection
    kCut,          // of its connection: each end sees it in its own time
    kPartition,    // nothing passes, in either direction, for length_ms
    kMuteUp,       // nothing passes to node 0
    kMuteDown,     // nothing comes from it
    kPause,        // the container stands still
    kCoordinator,  // the process that holds the connections dies; another one after length_ms
    kList,         // the list of nodes is another one, which each node has within length_ms
    kHookFails,    // the pre-start hook, or the copy of data, that runs there
    kThrottle,     // each step of the container comes late by up to a second, for length_ms
    kHang,         // its rank is stuck, and the ranks of all nodes wait for it
    kSave,         // the platform asks all nodes to save and to end, within length_ms
  };
  What what = What::kRankFails;
  TimeMs at = 0;
  std::uint32_t node = 0;
  TimeMs length_ms = 0;
};

struct NodesScenario {
  std::uint64_t seed = 0;
  std::uint32_t nodes = 2;
  NodePlan plan;
  bool stops = true;
  bool harmless = false;  // see Expectation
  bool spaced = false;    // what fails does when the job runs again
  bool planted = false;   // one node alone is to blame: Expectation::culprit
  bool victims = false;   // what fails on a node lets the ranks of others fail
  TimeMs timeout_ms = 10'000;
  TimeMs most_delay_ms = 20;
  std::vector<NodeFault> faults;
  TimeMs quiet_at = 0;  // nothing happens from outside from here on
  // Falsifies what goes to a node, or comes from it, to see that the judge notices.
  void (*tamper)(std::uint32_t node, NodeVerdict& verdict, const NodeReport& last) = nullptr;
  void (*tamper_report)(std::uint32_t node, NodeReport& report) = nullptr;
  TimeMs impatience_ms = 0;  // the coordinator's time-out is shorter by so much
  bool forgets_instances = false;
};
NodesScenario make_nodes_scenario(std::uint64_t seed);

struct NodesOutcome {
  std::string complaint;  // "": all was well
  std::uint64_t steps = 0;
  std::uint32_t starts = 0;
  std::string trace;  // if asked for
};
NodesOutcome run_nodes(const NodesScenario& scenario, bool trace = false);

// A smaller scenario that fails as well: fewer faults, fewer nodes.
NodesScenario shrink(const NodesScenario& failing);
std::string text(const NodesScenario& scenario);

}  // namespace sim
