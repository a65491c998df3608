#pragma once
// The agent of one node for hangs of the job. It connects this node's stall detection with node 0,
// which compares the places of all nodes' ranks (coordinator.h). It decides when this node looks at
// its ranks, how long stalled ranks wait for the verdict, and which ranks fail here. Pure.

#include <cstdint>
#include <optional>
#include <string>

#include "lifecycle/node_messages.h"
#include "lifecycle/task.h"

namespace lifecycle {

// The longest wait for node 0's verdict, or for the failure of another node.
inline constexpr TimeMs kHangWaitMs = 15'000;

class HangAgent {
 public:
  // Records whether the connection to node 0 is up.
  void linked(bool up) { linked_ = up; }
  [[nodiscard]] bool is_linked() const { return linked_; }

  // Records that a rank here has made no progress for `silent_ms`. Returns false if there is no
  // connection to node 0. Otherwise node 0 is asked, or has judged this hang already, and next()
  // gives the answer.
  bool stalled(TimeMs silent_ms, TimeMs now);
  // Forgets the hang, because the ranks here make progress again or have ended. A later verdict on
  // it makes no rank fail.
  void forget();
  // Stores the places of this node's ranks, as bytes for node 0.
  void looked(std::string places);
  void apply_verdict(const NodeVerdict& verdict, TimeMs now);

  // True while a look lacks the places of this node, because looked() was not called yet.
  [[nodiscard]] bool owes_places() const { return owes_; }
  // Adds the look and the places to a report.
  void add_to(NodeReport& report) const;

  enum class Next : std::uint8_t {
    kNothing,
    kLog,  // verdict() is new and must be logged
    // The ranks of stalled() fail: the verdict names no suspect, no other rank failed in time, or
    // the link is down.
    kFail,
  };
  Next next(TimeMs now);
  [[nodiscard]] const HangVerdict& verdict() const { return verdict_; }  // the last verdict
  // True if the verdict is about the ranks that run now. Its suspects then fail.
  [[nodiscard]] bool verdict_counts() const { return verdict_.look > forgotten_; }
  // Returns when next() will return something other than kNothing without a further event.
  [[nodiscard]] std::optional<TimeMs> next_at() const;

 private:
  bool linked_ = false;
  bool heard_ = false;  // a verdict of node 0 has arrived
  bool owes_ = false;
  std::uint32_t look_ = 0;  // NodeReport::look
  std::string places_;
  std::uint32_t forgotten_ = 0;  // last look at ranks that do not hang any more
  HangVerdict verdict_;
  TimeMs verdict_at_ = 0;
  bool told_ = true;                // next() has returned kLog
  std::optional<TimeMs> fails_at_;  // time at which the stalled ranks fail; empty: none
};

}  // namespace lifecycle
