#pragma once
// A node of a job that may hang, between its own watch and node 0, which compares where the ranks
// of all nodes are (coordinator.h): when this node looks at its ranks, how long its stalled ranks
// wait for the verdict, and who fails here. Pure.

#include <cstdint>
#include <optional>
#include <string>

#include "lifecycle/node_messages.h"
#include "lifecycle/task.h"

namespace lifecycle {

inline constexpr TimeMs kHangWaitMs = 15'000;  // for node 0's verdict, and for another node to fail

class HangAgent {
 public:
  // Tells whether the connection to node 0 is up.
  void linked(bool up) { linked_ = up; }
  [[nodiscard]] bool is_linked() const { return linked_; }

  // Takes a rank here that has made no progress for `silent_ms`. True: node 0 is asked, or has
  // judged this hang already; the answer comes from next(). False: there is no connection to node
  // 0.
  bool stalled(TimeMs silent_ms, TimeMs now);
  // Forgets the hang: the ranks here make progress again, or end. A verdict on it fails nobody.
  void forget();
  // Takes the places of this node's ranks, as bytes for node 0.
  void looked(std::string places);
  void apply_verdict(const NodeVerdict& verdict, TimeMs now);

  // Node 0 has asked for the places, and this node has not taken them.
  [[nodiscard]] bool owes_places() const { return owes_; }
  // Adds the look and the places to a report.
  void add_to(NodeReport& report) const;

  enum class Next : std::uint8_t {
    kNothing,
    kLog,   // verdict(): new, for the log
    kFail,  // the ranks of stalled(): nobody else was named, or has failed in time
  };
  Next next(TimeMs now);
  [[nodiscard]] const HangVerdict& verdict() const { return verdict_; }  // the last one
  // The verdict is on the ranks that run now, so that its suspects fail.
  [[nodiscard]] bool verdict_counts() const { return verdict_.look > forgotten_; }
  // Returns when next() has something to say without a further event.
  [[nodiscard]] std::optional<TimeMs> next_at() const;

 private:
  bool linked_ = false;
  bool heard_ = false;  // a verdict of node 0
  bool owes_ = false;
  std::uint32_t look_ = 0;  // NodeReport::look
  std::string places_;
  std::uint32_t forgotten_ = 0;  // the last look at ranks that do not hang any more
  HangVerdict verdict_;
  TimeMs verdict_at_ = 0;
  bool told_ = true;                // next() has said kLog
  std::optional<TimeMs> fails_at_;  // stalled ranks wait until then
};

}  // namespace lifecycle
