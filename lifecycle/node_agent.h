#pragma once
// The agent of one node of a job. It connects the node's Machine with the coordinator on node 0
// (coordinator.h): it writes this node's reports and turns verdicts into events. Pure.

#include <cstdint>
#include <optional>
#include <vector>

#include "lifecycle/coordinator.h"
#include "lifecycle/machine.h"

namespace lifecycle {

class NodeAgent {
 public:
  // `together`: all nodes start again together, or none does. Otherwise this node does not report a
  // failure that its own restart answers.
  explicit NodeAgent(std::uint32_t node = 0, bool together = true)
      : node_(node), together_(together) {}

  // Starts over for another list of nodes, in which this node may have another rank. Forgets all
  // verdicts. The counters of arrivals and checkpoints continue, so that no new one is confused
  // with an earlier one.
  void relink(std::uint32_t node, bool together);

  // Returns this node's report. Must be called after each step of the machine. The caller adds the
  // texts and the role of a failure, and the number of live ranks.
  NodeReport report(const Machine& machine, std::uint64_t cluster, TimeMs now);
  // Returns the events that follow from a verdict, in the order in which the caller must post them.
  // A failure of an earlier start yields no event. A repeated verdict can yield the same events
  // again, which the machine ignores.
  std::vector<Event> apply_verdict(const NodeVerdict& verdict, const Machine& machine, TimeMs now);

 private:
  void count_own_saves(const Machine& machine);
  void apply_saves(const NodeVerdict& verdict, const Machine& machine, std::vector<Event>& events);
  [[nodiscard]] std::optional<NodeFailure> failure(const Machine& machine, TimeMs now);

  std::uint32_t node_;
  bool together_;
  std::uint32_t arrival_ = 0;
  bool arrived_ = false;
  std::optional<TimeMs> stopped_at_;
  std::optional<TimeMs> replanned_at_;
  std::uint64_t meeting_ = 0;
  std::uint32_t met_for_ = 0;    // number of the start that meeting_ was granted for
  std::uint32_t own_saves_ = 0;  // Machine::saves_asked(), as far as saves_ counts them
  std::uint32_t saves_ = 0;      // NodeReport::saves
  bool keeps_running_ = false;
  std::uint32_t saves_known_ = 0;  // number of the last checkpoint for which SaveKnown was posted
  bool heard_ = false;             // a verdict has arrived
  struct Loss {
    NodeFailure failure;
    TimeMs at = 0;
    std::uint32_t restarts = 0;
  };
  // Loss of node 0 that this node noticed. The node reports it when node 0 is back.
  std::optional<Loss> loss_;
};

}  // namespace lifecycle
