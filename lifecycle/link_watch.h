#pragma once
// Node 0's loss, as another node of the job sees it. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "lifecycle/node_records.h"

namespace lifecycle {

// What a node that has lost its connection to node 0 concludes by itself, as node 0 would of it.
// Whoever calls it tells what has come before it asks whether node 0 is lost. `loss_counts`: it
// stops this node, as Settings::stops and Settings::loss_counts say together. `node0`: node_text().
class LinkWatch {
 public:
  LinkWatch(TimeMs timeout_ms, bool loss_counts, std::string node0)
      : timeout_ms_(timeout_ms), counts_(loss_counts), node0_(std::move(node0)) {}
  void connected(TimeMs now);
  void heard(TimeMs now);
  void closed(TimeMs now);
  void verdict(const Verdict& last);  // the last one that came: a farewell ends the watch
  // Node 0's loss, once it is one. It ends when the connection is there again.
  [[nodiscard]] std::optional<Verdict> lost(TimeMs now) const;
  // When it is lost, unless something comes before. May have passed.
  [[nodiscard]] std::optional<TimeMs> next_tick() const;

 private:
  enum class Link : std::uint8_t { kNever, kOpen, kClosed };
  TimeMs timeout_ms_;
  bool counts_;
  std::string node0_;
  Link link_ = Link::kNever;
  TimeMs heard_at_ = 0;
  TimeMs closed_at_ = 0;
  std::uint32_t restarts_ = 0;
  bool ended_ = false;
};

}  // namespace lifecycle
