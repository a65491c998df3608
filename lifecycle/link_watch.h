#pragma once
// The detection of node 0's loss on the other nodes of a job. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "lifecycle/node_messages.h"

namespace lifecycle {

// The watch of one node over its connection to node 0. A loss is concluded by the rules that node 0
// applies to the other nodes. The caller must deliver all received messages before it calls lost().
// `loss_counts`: the loss stops this node (both Settings::stops and Settings::loss_counts).
// `node0`: node 0's node_text().
class LinkWatch {
 public:
  LinkWatch(TimeMs timeout_ms, bool loss_counts, std::string node0)
      : timeout_ms_(timeout_ms), counts_(loss_counts), node0_(std::move(node0)) {}
  // Continues a watch that has ended. That watch knew node 0 by the process instance id `instance`,
  // in start `restarts`.
  void resume(std::uint64_t instance, std::uint32_t restarts, TimeMs now);
  void connected(TimeMs now);
  void heard(TimeMs now);
  void closed(TimeMs now);
  // Takes a received verdict. Node 0's leave message in it ends the watch. `own`: this node's last
  // report. Returns the verdict that the node must follow, which is `last` or node 0's loss. The
  // loss is returned if a loss stops this node and if node 0 was replaced. Replaced means that
  // another process instance of node 0 sent `last`, while this node is still part of a start of the
  // previous instance.
  NodeVerdict verdict(const NodeVerdict& last, const NodeReport& own, TimeMs now);
  // Returns node 0's loss from its time-out until the connection is back, otherwise nothing.
  [[nodiscard]] std::optional<NodeVerdict> lost(TimeMs now) const;
  // Returns when node 0 counts as lost, unless a message arrives before. The time may have passed.
  [[nodiscard]] std::optional<TimeMs> next_tick() const;

 private:
  [[nodiscard]] NodeVerdict loss(NodeFailure::Kind kind, TimeMs at, TimeMs now) const;

  enum class Link : std::uint8_t { kNever, kOpen, kClosed };
  TimeMs timeout_ms_;
  bool counts_;
  std::string node0_;
  Link link_ = Link::kNever;
  TimeMs heard_at_ = 0;
  TimeMs closed_at_ = 0;
  std::uint32_t restarts_ = 0;
  std::uint64_t instance_ = 0;  // NodeVerdict::instance; 0: no verdict arrived
  struct Replaced {
    TimeMs at = 0;               // when the connection to the previous instance closed
    std::uint32_t restarts = 0;  // start that this node takes part in
  };
  std::optional<Replaced> replaced_;
  bool ended_ = false;
};

}  // namespace lifecycle
