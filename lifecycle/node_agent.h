#pragma once
// One node of a job, between its Machine and what node 0 says (coordinator.h): what it reports of
// itself, and which events follow from a verdict. Pure.

#include <cstdint>
#include <optional>
#include <vector>

#include "lifecycle/coordinator.h"
#include "lifecycle/machine.h"

namespace lifecycle {

class NodeAgent {
 public:
  // `together`: all nodes start again together, or none does. Otherwise a failure that this node
  // answers by a restart of its own concerns nobody else.
  explicit NodeAgent(std::uint32_t node = 0, bool together = true)
      : node_(node), together_(together) {}

  // The link is made anew: by another list of nodes, perhaps with another place in it. What was
  // heard is forgotten; arrivals and checkpoints count on, so that none is taken for one of before.
  void relink(std::uint32_t node, bool together);

  // To be asked after each step of the machine. Texts, details and ranks are the caller's to add.
  NodeReport report(const Machine& machine, std::uint64_t cluster, TimeMs now);
  // What follows here from a verdict, in the order in which it is to be posted. Nothing follows
  // from one of an earlier start, or one that has been heeded.
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
  std::uint32_t met_for_ = 0;    // the start that it was given for
  std::uint32_t own_saves_ = 0;  // that were asked for here
  std::uint32_t saves_ = 0;      // NodeReport::saves
  bool keeps_running_ = false;
  std::uint32_t saves_known_ = 0;  // last checkpoint that the machine was told of as known
  bool heard_ = false;             // a verdict
  struct Loss {
    NodeFailure failure;
    TimeMs at = 0;
    std::uint32_t restarts = 0;
  };
  std::optional<Loss> loss_;  // of node 0, as this node has seen it: to be told when it is back
};

}  // namespace lifecycle
