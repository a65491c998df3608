#pragma once
// The watch by which a node notices that node 0 is lost. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "lifecycle/node_messages.h"

namespace lifecycle {

// The watch of one node over its connection to node 0. Its rules for a loss are those by which node
// 0 judges the other nodes. The caller must deliver all received messages before it calls lost().
// `loss_counts`: the loss stops this node (both Settings::stops and Settings::loss_counts are
// true). `node0`: node_text() of node 0.
class LinkWatch {
 public:
  LinkWatch(TimeMs timeout_ms, bool loss_counts, std::string node0)
      : timeout_ms_(timeout_ms), counts_(loss_counts), node0_(std::move(node0)) {}
  // Continues the watch of an earlier worker process. That watch knew node 0 by the process
  // instance id `instance`, in start `restarts`.
  void resume(std::uint64_t instance, std::uint32_t restarts, TimeMs now);
  void connected(TimeMs now);
  void heard(TimeMs now);
  void closed(TimeMs now);
  // Handles a received verdict. If it has node 0's leave message, the watch ends. `own`: this
  // node's last report. Returns the verdict that the node must follow. That is `last`, or node 0's
  // loss if node 0 was replaced and a loss stops this node. Replaced means: another process
  // instance of node 0 sent `last`, and this node is still part of a start of the previous
  // instance.
  NodeVerdict verdict(const NodeVerdict& last, const NodeReport& own, TimeMs now);
  // Returns a verdict with node 0's loss, from next_tick() until the connection is back. Otherwise
  // returns nullopt.
  [[nodiscard]] std::optional<NodeVerdict> lost(TimeMs now) const;
  // Returns when node 0 counts as lost, unless a message arrives before. That time may have passed.
  // nullopt: never connected, or node 0 has left.
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
  std::uint64_t instance_ = 0;  // last NodeVerdict::instance; 0: no verdict arrived
  struct Replaced {
    TimeMs at = 0;               // when the connection to the previous instance closed
    std::uint32_t restarts = 0;  // start that this node took part in then
  };
  std::optional<Replaced> replaced_;
  bool ended_ = false;
};

}  // namespace lifecycle
