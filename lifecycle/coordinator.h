#pragma once
// The coordinator of a job's nodes. It receives the reports of all nodes and decides which failure
// was the first, and whether the nodes stop, save, or may start again. Pure: no clock, no I/O. Node
// 0 has the only Coordinator, in the process that holds the connections. It can be created again at
// any time and then learns its state from the reports. Every node has a Machine, and every node but
// node 0 has a LinkWatch (link_watch.h).

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lifecycle/node_messages.h"
#include "lifecycle/node_names.h"

namespace lifecycle {

// Time for which a peer of another job must repeat its claim until the job fails (differs()). The
// peer may be a container of an earlier job that is still ending.
inline constexpr TimeMs kDiffersMs = 5000;
inline constexpr TimeMs kGatherMs = 300;  // wait for failures that happened at nearly the same time
// Longest wait for a complete report, or for the cause of a victim.
inline constexpr TimeMs kDetailMs = 2500;
// Time to restore a closed connection, before its node is lost.
inline constexpr TimeMs kReconnectMs = 3000;

// Longest wait until all nodes have reported their ranks' places.
inline constexpr TimeMs kLookMs = 10'000;

// Missing nodes that a text names; further ones are only counted.
inline constexpr std::size_t kMaxMissingNamed = 8;
inline constexpr std::size_t kMaxOtherFailures = 16;  // failures kept besides the first one

// The places of one node's ranks, as that node reported them.
struct NodeLook {
  std::uint32_t node = 0;
  std::string places;  // NodeReport::places
};
// Compares the places in `looks`, and returns the ranks that the others wait for. `look`: the
// number of the look, NodeReport::look. `whole`: every node has reported its places.
using JudgeHang =
    std::function<HangVerdict(const std::vector<NodeLook>& looks, std::uint32_t look, bool whole)>;

// The caller must deliver all received messages before it calls tick(). Otherwise a pause of the
// caller looks like silence of the nodes. The caller must send node 0 its verdict before it sends
// the other nodes theirs. Otherwise a node could run a start that node 0 does not know. Node 0
// reports through the same calls as the other nodes: connected() first, then reported(). Node 0 is
// never lost by silence.
class Coordinator {
 public:
  struct Settings {
    std::uint32_t node_count = 1;
    // Digest of the list of nodes, which each node must report (NodeReport::cluster).
    std::uint64_t cluster = 0;
    std::vector<std::string> names;  // names of the nodes, by rank; may be shorter
    bool stops = true;  // a failure on one node stops all nodes; otherwise it is announced to them
    // All nodes start again together, or none does; otherwise each restarts alone.
    bool together = true;
    // A lost node stops all nodes; otherwise the loss is announced to them.
    bool loss_counts = true;
    // A stopped node stops all nodes; otherwise the stop is announced to them.
    bool stop_counts = true;
    TimeMs timeout_ms = 30'000;   // silence after which a node is lost
    TimeMs restart_reset_ms = 0;  // Policy::restart_reset_ms
    // all_connected() of the previous coordinator, whose process has died
    bool all_connected = false;
    JudgeHang judge_hang = {};  // empty: hangs are not judged
  };
  Coordinator(Settings settings, TimeMs now);

  // Registers a node, by its rank, that has proved its identity. `instance`: the id of its process,
  // which changes if its container starts again. With a changed `instance`, the previous process
  // counts as lost if it took part in a start. With an unchanged one, this connection replaces the
  // previous one.
  void connected(std::uint32_t node, std::uint64_t instance, TimeMs now);
  void reported(std::uint32_t node, const NodeReport& report, TimeMs now);
  // Records that a message of any kind has arrived from the node.
  void heard(std::uint32_t node, TimeMs now);
  void closed(std::uint32_t node, TimeMs now);  // Records that the node's last connection closed.
  // Records that a process claims to be `node` but does not belong to this job. `how` is the
  // difference, for the nodes that wait. `for_good`: the process knows the job's key, and its plan
  // can never fit. If such claims continue for kDiffersMs, without a gap of that length, the job
  // fails. Ignored while `node` is connected, except for a second node 0 (`node` 0, `for_good`).
  void differs(std::uint32_t node, const std::string& how, TimeMs now, bool for_good);
  [[nodiscard]] bool ended_by_difference() const;
  // Blocks the next start for the reason `why`, which node 0 found; "" lifts the block.
  void block_start(const std::string& why);
  void tick(TimeMs now);
  // Returns when tick() is due next. That is at most one second after the last scan of the nodes.
  [[nodiscard]] std::optional<TimeMs> next_tick() const;

  [[nodiscard]] NodeVerdict verdict_for(std::uint32_t node, TimeMs now) const;
  // Returns a number that increases when the verdict for any node changes, except for age_ms.
  [[nodiscard]] std::uint64_t version() const { return version_; }

  // True if all nodes have been connected, to this coordinator or to the previous one, and none has
  // ended or is lost.
  [[nodiscard]] bool all_connected() const {
    return left_ == 0 && (known_ == nodes_.size() || (settings_.all_connected && !missed_));
  }

  // kReconnecting: the connection closed, and the node can still restore it. kLeft: the leave
  // message has arrived.
  enum class Presence : std::uint8_t { kNeverConnected, kConnected, kReconnecting, kLost, kLeft };
  [[nodiscard]] Presence presence(std::uint32_t node) const;
  // Returns the last report of the node, without NodeFailure::detail.
  [[nodiscard]] const NodeReport& report_of(std::uint32_t node) const;
  [[nodiscard]] TimeMs last_heard(std::uint32_t node) const;

 private:
  struct Node {
    NodeReport report;  // last report, without NodeFailure::detail
    std::uint64_t instance = 0;
    TimeMs known_at = 0;  // time of the node's first connection to this coordinator
    TimeMs heard_at = 0;
    TimeMs failed_at = 0;  // time of report.failure, by this coordinator's clock
    // Valid while away or lost: when the connection closed, or the last message came.
    TimeMs lost_at = 0;
    TimeMs began_at = 0;  // time at which the node's present start began, from report.ran_ms
    TimeMs back_by = 0;   // valid while away: end of the time in which the node can reconnect
    std::uint32_t go = 0;
    bool went = false;   // since the grant in `go`, the node has reported that it no longer waits
    bool known = false;  // the node has been connected to this coordinator
    bool connected = false;
    bool reported = false;
    bool away = false;  // the connection has closed, and no report has come through a new one
    bool lost = false;
    bool silent = false;  // lost by silence, not by a closed connection
    bool gone = false;
    bool told = false;          // this node's failure has been announced in this start
    bool sees_missing = false;  // the node waits, and its verdict names the missing nodes
  };
  struct Candidate {
    NodeFailure failure;
    TimeMs at = 0;
  };
  struct Failing {    // a start of the job with a failure
    Candidate first;  // the first failure, as far as it is known now
    // Other failures while State is kFailing; at most kMaxOtherFailures.
    std::vector<Candidate> others = {};
    TimeMs since = 0;    // time at which this coordinator learned of the first of these failures
    bool stops = false;  // a node was stopped, or reached the job's time limit
    bool again = false;
  };
  // The state of the current start of the job.
  struct CurrentStart {
    // NodeReport::restarts of node 0; empty: no report of node 0 yet
    std::optional<std::uint32_t> number;
    bool begun = false;  // a node runs this start
    NodeVerdict::State state = NodeVerdict::State::kFine;
    std::optional<Failing> failing = {};  // empty with State::kFine

    // Returns true if a failure stops all nodes. The first failure may not be known yet.
    [[nodiscard]] bool fails() const {
      return state == NodeVerdict::State::kFailing || state == NodeVerdict::State::kFailed;
    }
    // Returns true if no failure, or only an announced one, has been reported.
    [[nodiscard]] bool goes_on() const { return !fails(); }
  };
  struct Past {  // the start before the current one
    std::uint32_t restarts = 0;
    std::optional<Failing> failing;
  };

  void awake(TimeMs now);
  void take(std::uint32_t node, const NodeReport& report, TimeMs now);
  void weigh(std::uint32_t node, const std::string& detail, TimeMs now);
  void weigh_farewell(std::uint32_t node, TimeMs now);
  void weigh_absent(TimeMs now);
  void weigh_unfit(TimeMs now);
  [[nodiscard]] NodeFailure failure_of(std::uint32_t node, const std::string& detail) const;
  void follow(TimeMs now);
  void begin(TimeMs now);
  void lose(std::uint32_t node, bool silent, TimeMs now);
  void count_loss(std::uint32_t node, TimeMs now);
  void fail_as_lost(std::uint32_t node, NodeFailure::Kind kind, TimeMs at, TimeMs now);
  void fail_as_cut_off(TimeMs now);
  void failed(NodeFailure failure, TimeMs at, TimeMs now);
  void told(NodeFailure failure, TimeMs at, TimeMs now);
  bool add_to(const NodeFailure& failure, TimeMs at);
  void update(Candidate& known, const NodeFailure& failure, TimeMs at);
  void add_other(Candidate other);
  void choose_first();
  [[nodiscard]] TimeMs happened(const Candidate& of) const;
  [[nodiscard]] bool is_earlier(const Candidate& one, const Candidate& other) const;
  [[nodiscard]] bool is_likelier(const Candidate& one, const Candidate& other) const;
  void settle(TimeMs now);
  void give_go();
  void remember_meeting(TimeMs now);
  void look_who_saves(TimeMs now);
  void take_look(const NodeReport& report, TimeMs now);
  void judge_hang(TimeMs now);
  void scan(TimeMs now);
  void miss(TimeMs now);
  void describe_missing();
  void come_back(std::uint32_t node);

  [[nodiscard]] bool counts(NodeFailure::Kind kind) const;
  [[nodiscard]] NodeFailure loss_of(std::uint32_t node, NodeFailure::Kind kind, TimeMs at) const;
  [[nodiscard]] bool is_cut_off(TimeMs now) const;
  [[nodiscard]] bool awaits_away(TimeMs now) const;
  [[nodiscard]] bool all_may_restart(const NodeFailure& first) const;
  [[nodiscard]] bool arrived(const Node& node) const;  // waits for a start that is not granted yet
  [[nodiscard]] bool ready(const Node& node) const;
  [[nodiscard]] bool is_unfit(const Node& node) const;
  [[nodiscard]] bool in_start(const Node& node) const;
  [[nodiscard]] bool numbered() const { return settings_.stops && settings_.together; }
  [[nodiscard]] bool astray(const Node& node) const;
  [[nodiscard]] bool may_go(const Node& node) const;
  [[nodiscard]] bool has_left(const Node& node) const;
  [[nodiscard]] bool missed_go(const Node& node) const;
  [[nodiscard]] bool container_restarted(const Node& node) const;
  [[nodiscard]] std::uint64_t running_meeting() const;
  [[nodiscard]] bool was_absent(NodeFailure::Kind kind, TimeMs since) const;
  [[nodiscard]] bool lost_earlier_coordinator(const Node& node) const;
  [[nodiscard]] std::uint64_t meeting_of_all() const;
  [[nodiscard]] std::string called(std::uint32_t node) const {
    return node_text(node, settings_.names);
  }
  [[nodiscard]] std::string why_missing(std::uint32_t node) const;
  [[nodiscard]] NodeVerdict of_past(std::uint32_t node, TimeMs now) const;
  [[nodiscard]] NodeVerdict::State shown(std::uint32_t node) const;
  void count(const Node& node, int by);
  void changed() { ++version_; }

  Settings settings_;
  std::vector<Node> nodes_;
  std::uint64_t version_ = 1;
  TimeMs awake_at_;  // time of the last received message or tick()
  TimeMs made_at_;
  TimeMs absent_from_;  // begin of the last pause of this process, in which it received nothing
  TimeMs absent_until_;
  TimeMs scanned_at_;
  std::vector<std::uint32_t> away_;
  struct Difference {
    std::string how;
    // Time of the first of the repeated claims that are `for_good`.
    std::optional<TimeMs> since = {};
    TimeMs last = 0;
  };
  std::map<std::uint32_t, Difference> differing_;
  std::string blocked_by_;

  CurrentStart start_;
  std::optional<Past> past_;

  std::uint32_t ready_ = 0;    // nodes that are ready()
  std::uint32_t waiting_ = 0;  // nodes that have arrived
  std::uint32_t unfit_ = 0;    // nodes for which is_unfit() is true
  std::uint32_t known_ = 0;    // nodes that have been connected to this coordinator
  std::uint32_t left_ = 0;     // nodes that have ended or are lost
  std::uint32_t present_ = 0;  // nodes that have reported through their present connection
  std::uint32_t missing_ = 0;
  std::string waits_for_;
  std::uint32_t given_start_ = 0;  // number of the start that was granted last
  // Rendezvous id of the last grant; learned from node 0 if an earlier coordinator gave it.
  std::uint64_t meeting_ = 0;
  bool missed_ = false;  // miss() has looked for the nodes of the last rendezvous that are absent
  std::uint32_t saves_ = 0;
  bool keeps_running_ = false;
  std::uint32_t saves_known_ = 0;
  // All nodes with a lower rank know of checkpoint saves_, or do not count.
  std::uint32_t knowing_ = 0;
  std::uint32_t look_ = 0;
  TimeMs look_since_ = 0;
  bool look_open_ = false;  // the last look is not judged yet, because places are expected
  std::optional<HangVerdict> hang_;
  bool ended_ = false;
  int exit_code_ = 0;
};

}  // namespace lifecycle
