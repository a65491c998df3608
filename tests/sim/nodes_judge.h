#pragma once
// Judges the nodes of a simulated job from outside: it sees what really happens on each, and what
// has come to node 0, and complains at the first breach of what the link promises. It knows nothing
// of how node 0 decides.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/nodes_member.h"

namespace sim {

// What of a scenario the judge has to know.
struct Expectation {
  std::uint32_t nodes = 2;
  int max_restarts = 0;
  TimeMs restart_reset_ms = 0;
  bool steady = false;  // nothing happens but that ranks fail, one after the other
  bool meets = true;
  bool stops = true;
  bool harmless = false;  // nothing happens that a job would have to notice
  bool calm = false;      // the network loses and delays nothing but a little
  TimeMs unseen_ms = 0;   // a death may be seen so late
  // The one node that something happens to, over a network that works; none: several, or faults of
  // the network.
  std::optional<std::uint32_t> culprit = {};
  bool saves = false;       // nothing happens but that all are asked to save and to end
  std::uint32_t lists = 0;  // how often the list of nodes changes, which is no failure
};

std::string name_of(const NodeFailure& failure);
std::string text(const NodeVerdict& verdict);

// What is true of a node, when all has become quiet.
struct Standing {
  bool alive = false;            // its container
  bool fresh = false;            // another instance than the first one
  bool linked = false;           // its connection is there, or it is node 0 with whoever hears all
  bool known = false;            // who hears all now has heard a report of it
  const Member* node = nullptr;  // of the last instance
};

class NodesJudge {
 public:
  explicit NodesJudge(const Expectation& expected) : expected_(expected), nodes_(expected.nodes) {}

  // What has come to node 0.
  void connected(std::uint32_t node, std::uint32_t instance) {
    if (std::exchange(nodes_[node].instance, instance) != instance) nodes_[node].given.clear();
    nodes_[node].open = true;
    if (node == 0) meeting_ = 0;
  }
  void came(std::uint32_t node, const NodeReport& report) {
    nodes_[node].report = report;
    if (node == 0 && report.meeting != 0) meeting_ = report.meeting;
  }
  void closed(std::uint32_t node) { nodes_[node].open = false; }
  // What it says, whoever hears it. `coordinator`: which, of those that were one after the other.
  void said(std::uint32_t node, std::uint32_t coordinator, const NodeVerdict& verdict);

  // What happens on a node.
  void disturbed(std::uint32_t node, TimeMs now);  // something of its own failed there
  void lost_node_0(std::uint32_t node);
  // A node had failed before the checkpoint that is to end this one.
  void saves_in_vain(std::uint32_t node) { nodes_[node].saves_in_vain = true; }
  void moved(std::uint32_t node, const Member& before, const Member& after, TimeMs now);
  void died(std::uint32_t node);

  void finish(const std::vector<Standing>& nodes);

  [[nodiscard]] const std::string& complaint() const { return complaint_; }
  [[nodiscard]] std::uint32_t starts() const { return starts_; }

 private:
  struct Node {
    bool open = false;
    std::uint32_t instance = 0;
    NodeReport report;
    std::set<std::pair<std::uint32_t, std::uint32_t>> given;  // coordinator, arrival
    std::optional<std::uint64_t> runs;  // the meeting of its live hooks and ranks
    std::set<std::uint64_t> ran;
    TimeMs since = 0;  // its ranks live
    bool saves_in_vain = false;
  };
  void started(std::uint32_t node, const Member& now);
  void ended(std::uint32_t node, const Member& now);
  void check_culprit(std::uint32_t node, std::uint32_t named);
  void check_go(std::uint32_t node, const NodeVerdict& verdict);
  void check_quiet(const std::vector<Standing>& nodes);
  void check_waiting(const std::vector<Standing>& nodes);
  void check_together(const std::vector<Standing>& nodes);
  void complain(const std::string& text) {
    if (complaint_.empty()) complaint_ = text;
  }

  Expectation expected_;
  std::vector<Node> nodes_;
  std::uint64_t meeting_ = 0;                                             // the last one of node 0
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> first_;  // coordinator, start
  std::optional<TimeMs> disturbed_at_;
  int counted_ = 0;    // failures, since a start that ran for long
  bool again_ = true;  // the last one is to be answered by a restart
  std::uint32_t starts_ = 0;
  std::string complaint_;
};

}  // namespace sim
