#pragma once
// The agent of one node for hangs of the job. A look is one collection of the places where the
// ranks of all nodes are in their code; node 0 compares them (coordinator.h). This agent decides
// when this node takes the places of its ranks, how long stalled ranks wait for node 0's verdict,
// and whether they fail here. Pure.

#include <cstdint>
#include <optional>
#include <string>

#include "lifecycle/node_messages.h"
#include "lifecycle/task.h"

namespace lifecycle {

// The longest time that a stalled rank waits for node 0's verdict, or for the failure of the rank
// that the verdict names.
inline constexpr TimeMs kHangWaitMs = 15'000;

class HangAgent {
 public:
  // Records whether the connection to node 0 is up.
  void linked(bool up) { linked_ = up; }
  [[nodiscard]] bool is_linked() const { return linked_; }

  // Records that a rank of this node has made no progress for `silent_ms`. Returns false if there
  // is no connection to node 0: the caller then decides alone. Otherwise requests a look, unless
  // node 0 has judged this hang already or is about to. next() gives the answer.
  bool stalled(TimeMs silent_ms, TimeMs now);
  // Forgets the hang, because the ranks of this node make progress again or have ended. If node 0
  // still judges that hang, its verdict makes no rank fail.
  void forget();
  // Stores the encoded places of this node's ranks in their code. add_to() sends them to node 0. If
  // they are larger than kMaxPlacesBytes, stores "" instead. owes_places() is false afterwards.
  void looked(std::string places);
  void apply_verdict(const NodeVerdict& verdict, TimeMs now);

  // True while the last look lacks the places of this node: the caller must take them and call
  // looked().
  [[nodiscard]] bool owes_places() const { return owes_; }
  // Sets the members of `report` about looks: `look`, `places` and `judged`.
  void add_to(NodeReport& report) const;

  enum class Next : std::uint8_t {
    kNothing,
    kLog,  // verdict() is new: the caller must log it, and fail a suspect of this node
    // The stalled ranks fail: the verdict names no suspect, the wait of kHangWaitMs is over, or the
    // connection to node 0 is down.
    kFail,
  };
  Next next(TimeMs now);
  [[nodiscard]] const HangVerdict& verdict() const { return verdict_; }  // the last verdict
  // True if the verdict is about the ranks that hang now. False if it is about a hang that was
  // forgotten, so that its suspects must not fail.
  [[nodiscard]] bool verdict_counts() const { return verdict_.look > forgotten_; }
  // Returns when to call next(), if no other event comes before. The time may have passed. nullopt:
  // no call is due.
  [[nodiscard]] std::optional<TimeMs> next_at() const;

 private:
  bool linked_ = false;
  bool heard_ = false;  // a verdict of node 0 has arrived
  bool owes_ = false;
  std::uint32_t look_ = 0;  // number of the last known look (NodeReport::look)
  std::string places_;
  std::uint32_t forgotten_ = 0;  // last look whose hang is over on this node
  HangVerdict verdict_;
  TimeMs verdict_at_ = 0;
  bool told_ = true;  // false: next() must return kLog for verdict_
  // Time at which the stalled ranks fail; empty: no rank is stalled.
  std::optional<TimeMs> fails_at_;
};

}  // namespace lifecycle
