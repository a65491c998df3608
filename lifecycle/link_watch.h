#pragma once
// Node 0's loss, as another node of the job sees it. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "lifecycle/node_messages.h"

namespace lifecycle {

// What a node that has lost its connection to node 0 concludes by itself, as node 0 would of it.
// Whoever calls it tells what has come before it asks whether node 0 is lost. `loss_counts`: it
// stops this node, as Settings::stops and Settings::loss_counts say together. `node0`: node_text().
class LinkWatch {
 public:
  LinkWatch(TimeMs timeout_ms, bool loss_counts, std::string node0)
      : timeout_ms_(timeout_ms), counts_(loss_counts), node0_(std::move(node0)) {}
  // Takes the place of a watch that has ended and knew node 0 by `life`, in start `restarts`.
  void resume(std::uint64_t life, std::uint32_t restarts, TimeMs now);
  void connected(TimeMs now);
  void heard(TimeMs now);
  void closed(TimeMs now);
  // Takes a verdict that came; a farewell ends the watch. `own`: this node's last report. Returns
  // what the node has to follow: the verdict, or node 0's loss if another process instance of node
  // 0 sent it and this node is still part of a start of the previous one.
  NodeVerdict verdict(const NodeVerdict& last, const NodeReport& own, TimeMs now);
  // Node 0's loss, once it is one. It ends when the connection is there again.
  [[nodiscard]] std::optional<NodeVerdict> lost(TimeMs now) const;
  // When it is lost, unless something comes before. May have passed.
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
  std::uint64_t life_ = 0;  // Verdict::life; 0: none came
  struct Replaced {
    TimeMs at = 0;               // the connection to the previous instance closed
    std::uint32_t restarts = 0;  // the start that this node takes part in
  };
  std::optional<Replaced> replaced_;
  bool ended_ = false;
};

}  // namespace lifecycle
