#pragma once
// The nodes of a job, as one sees it who hears them all: which failure was the first, whether they
// stop, save, or may start again. Pure: no clock, no I/O. Node 0 has the one Coordinator, in the
// process that holds the connections; it may be made again at any time and learns all from the
// reports. Every node has a Machine, and each other one a LinkWatch (link_watch.h).

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

inline constexpr TimeMs kDiffersMs = 5000;  // a container of another job is about to end meanwhile
inline constexpr TimeMs kGatherMs = 300;    // for others that fail in the same breath
inline constexpr TimeMs kDetailMs = 2500;   // for the last lines of what failed, or its cause
inline constexpr TimeMs kReconnectMs = 3000;  // a closed connection may be made again

inline constexpr TimeMs kLookMs = 10'000;  // for all nodes to say where their ranks are

inline constexpr std::size_t kMaxMissingNamed = 8;    // the others are counted
inline constexpr std::size_t kMaxOtherFailures = 16;  // compared with the first one

// Places of one node's ranks, as that node has told them.
struct NodeLook {
  std::uint32_t node = 0;
  std::string places;  // NodeReport::places
};
// Compares the places; `whole`: every node has told its own.
using JudgeHang =
    std::function<HangVerdict(const std::vector<NodeLook>& looks, std::uint32_t look, bool whole)>;

// Whoever calls it tells what has come before it calls tick, so that its own pause is nobody's
// silence; and gives node 0 its verdict before the others, so that no node runs a start that node 0
// does not know of. Node 0's own reports come through the same calls, from connected on; it is
// never silent.
class Coordinator {
 public:
  struct Settings {
    std::uint32_t node_count = 1;
    std::uint64_t cluster = 0;       // what arrivals must have
    std::vector<std::string> names;  // of the nodes, by rank; may be shorter
    bool stops = true;               // a failure on one node stops all; else they are told
    bool together = true;            // all start again, or none; else each by itself
    bool loss_counts = true;         // so does a node that is lost; else they are told
    bool stop_counts = true;         // so does a node that was told to stop; else they are told
    TimeMs timeout_ms = 30'000;      // of silence
    TimeMs restart_reset_ms = 0;     // Policy::restart_reset_ms
    bool all_connected = false;      // all_connected() of the coordinator before this one
    JudgeHang judge_hang = {};       // empty: hangs are not judged
  };
  Coordinator(Settings settings, TimeMs now);

  // A node, by its rank, has shown who it is. `life`: of its process, another one after a crash.
  // Of the same life, this connection takes the place of an open one.
  void connected(std::uint32_t node, std::uint64_t life, TimeMs now);
  void reported(std::uint32_t node, const NodeReport& report, TimeMs now);
  void heard(std::uint32_t node, TimeMs now);   // anything at all
  void closed(std::uint32_t node, TimeMs now);  // its last connection
  // A process said to be this node, and is not of this job: how, for those that wait. `for_good`:
  // it knows the job's key, and its plan can never fit; if it says so again for kDiffersMs, without
  // a gap of as much, the job fails. `node` is 0 on a second node 0.
  void differs(std::uint32_t node, const std::string& how, TimeMs now, bool for_good);
  [[nodiscard]] bool ended_by_difference() const;
  // Why no start may be given on node 0, in words; "": it may.
  void hold(const std::string& why);
  void tick(TimeMs now);
  [[nodiscard]] std::optional<TimeMs> next_tick() const;  // at most a second after the last one

  [[nodiscard]] NodeVerdict verdict_for(std::uint32_t node, TimeMs now) const;
  // Counts up when any verdict is another one than before, age_ms aside.
  [[nodiscard]] std::uint64_t version() const { return version_; }

  // All nodes have been connected, also to the coordinator before this one, and none has ended or
  // is lost.
  [[nodiscard]] bool all_connected() const {
    return left_ == 0 && (known_ == nodes_.size() || (settings_.all_connected && !missed_));
  }

  enum class Presence : std::uint8_t { kNever, kHere, kAway, kLost, kGone };  // kGone: farewell
  [[nodiscard]] Presence presence(std::uint32_t node) const;
  // Without the failure's detail; as it was last heard.
  [[nodiscard]] const NodeReport& report_of(std::uint32_t node) const;
  [[nodiscard]] TimeMs last_heard(std::uint32_t node) const;

 private:
  struct Node {
    NodeReport report;  // the last one, without detail
    std::uint64_t life = 0;
    TimeMs known_at = 0;  // its first connection to this coordinator
    TimeMs heard_at = 0;
    TimeMs failed_at = 0;  // report.failure
    TimeMs lost_at = 0;    // away or lost: its connection closed, or it was last heard
    TimeMs began_at = 0;   // its start; as report.ran_ms is known
    TimeMs back_by = 0;    // away: until then
    std::uint32_t go = 0;
    bool went = false;   // it has said since that it does not wait any more
    bool known = false;  // has been connected
    bool connected = false;
    bool reported = false;
    bool away = false;  // its connection has closed, and no report has come through another one
    bool lost = false;
    bool silent = false;  // so it was lost
    bool gone = false;
    bool told = false;          // of it, in this start
    bool sees_missing = false;  // Verdict::missing and waits_for
  };
  struct Candidate {
    NodeFailure failure;
    TimeMs at = 0;
  };
  struct Failing {                       // a start of the job that fails
    Candidate first;                     // as far as it is known
    std::vector<Candidate> others = {};  // while State is kFailing; at most kMaxOtherFailures
    TimeMs since = 0;                    // when the first report of a failure came
    bool stops = false;                  // a node was stopped
    bool again = false;
  };
  struct Past {  // a start that node 0 has let go of
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
  [[nodiscard]] bool arrived(const Node& node) const;  // and was not given go
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
  TimeMs awake_at_;  // the last call
  TimeMs made_at_;
  TimeMs absent_from_;  // the last time that it heard nobody
  TimeMs absent_until_;
  TimeMs scanned_at_;
  std::vector<std::uint32_t> away_;
  struct Difference {
    std::string how;
    std::optional<TimeMs> since = {};  // it is for good, and is said again and again
    TimeMs last = 0;
  };
  std::map<std::uint32_t, Difference> differing_;
  std::string held_;

  std::optional<std::uint32_t> start_;  // node 0 alone says which
  bool begun_ = false;                  // some node runs it
  NodeVerdict::State state_ = NodeVerdict::State::kFine;
  std::optional<Failing> failing_;  // unless all is fine
  std::optional<Past> past_;

  std::uint32_t ready_ = 0;    // nodes
  std::uint32_t waiting_ = 0;  // nodes that have arrived
  std::uint32_t unfit_ = 0;    // nodes that never will
  std::uint32_t known_ = 0;    // nodes that have been connected
  std::uint32_t left_ = 0;     // nodes that have ended or are lost
  std::uint32_t present_ = 0;  // nodes whose report came through their present connection
  std::uint32_t missing_ = 0;
  std::string waits_for_;
  std::uint32_t given_start_ = 0;  // what go was given last for
  std::uint64_t meeting_ = 0;  // whose go was given last; learned, where that was before our time
  bool missed_ = false;        // it was looked who of the last meeting is not here
  std::uint32_t saves_ = 0;
  bool keeps_running_ = false;
  std::uint32_t saves_known_ = 0;
  std::uint32_t knowing_ = 0;  // nodes below know of checkpoint saves_
  std::uint32_t look_ = 0;
  TimeMs look_since_ = 0;
  bool look_open_ = false;  // the places are still coming
  std::optional<HangVerdict> hang_;
  bool ended_ = false;
  int exit_code_ = 0;
};

}  // namespace lifecycle
