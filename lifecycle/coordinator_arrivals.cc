// The part of Coordinator for the starts of a job. It decides which nodes take part in the current
// start, which nodes wait for the next one, and when to grant that one.

#include <utility>

#include "base/text.h"
#include "lifecycle/coordinator.h"

namespace lifecycle {
namespace {

using Kind = NodeFailure::Kind;
using Stage = NodeReport::Stage;

// Mixes the bits of `x`, by splitmix64.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31U);
}

}  // namespace

// True if the node takes part in the current start. If the nodes do not stop and start together
// (numbered() is false), every node that has reported takes part.
bool Coordinator::in_start(const Node& node) const {
  if (!node.reported || !numbered()) return node.reported;
  return start_.number == (may_go(node) ? given_start_ : node.report.restarts) && !astray(node) &&
         !container_restarted(node);
}

// True if the node's container ended and was started again, while the others still run the start.
// The node no longer belongs to that start.
bool Coordinator::container_restarted(const Node& node) const {
  if (!start_.begun || &node == nodes_.data() || may_go(node)) return false;
  return running_meeting() != 0 && node.report.meeting == 0;
}

// True if the node runs or stops a start that the job has left: node 0 has ended that start, or
// another process is node 0 now.
bool Coordinator::astray(const Node& node) const {
  if (!node.reported || !numbered() || !start_.number) return false;
  const NodeReport& report = node.report;
  if (may_go(node)) return given_start_ != *start_.number;
  const bool begins = report.stage == Stage::kPreparing || report.stage == Stage::kArrived;
  const bool met = !begins && report.meeting != 0;
  if (report.restarts < *start_.number) return met || report.failure;
  if (&node == nodes_.data() || !met) return false;
  if (report.restarts > *start_.number) return true;
  return start_.goes_on() && report.meeting != running_meeting();
}

// True if the node got a grant and has not reported yet that it started. It can start at any time.
// Or it is ending, and will not start.
bool Coordinator::may_go(const Node& node) const {
  const NodeReport& report = node.report;
  const bool ends = report.stage == Stage::kStopping || report.stage == Stage::kEnded;
  const bool waits = report.stage == Stage::kArrived || (ends && !node.went);
  return node.reported && waits && node.go != 0 && node.go == report.arrival;
}

std::uint64_t Coordinator::running_meeting() const {
  const Node& zero = nodes_[0];
  const bool begins =
      zero.report.stage == Stage::kPreparing || zero.report.stage == Stage::kArrived;
  if (!begins) return zero.report.meeting;
  return zero.go != 0 && zero.go == zero.report.arrival ? meeting_ : 0;
}

// True if the node has left the current start, which cannot continue without it. The node prepares
// the next start or waits for it. Or it was stopped in one of these states.
bool Coordinator::has_left(const Node& node) const {
  const Node& zero = nodes_[0];
  if (!numbered() || !start_.goes_on() || !start_.begun || !node.reported ||
      node.report.restarts <= *start_.number) {
    return false;
  }
  const bool runs = zero.report.stage == Stage::kRunning || zero.report.stage == Stage::kStopping;
  const bool ends = node.report.stage == Stage::kStopping || node.report.stage == Stage::kEnded;
  const bool was_to_meet = ends && node.report.meeting == 0 && !may_go(node);
  return runs && (node.report.stage == Stage::kPreparing || arrived(node) || was_to_meet);
}

// True if the node resolved its list of nodes again before it received the grant, which all nodes
// got. The current start runs without it.
bool Coordinator::missed_go(const Node& node) const {
  if (!numbered() || !start_.goes_on() || !start_.begun || !node.reported ||
      &node == nodes_.data()) {
    return false;
  }
  const bool is_this =
      meeting_ != 0 && running_meeting() == meeting_ && given_start_ == *start_.number;
  return is_this && node.report.restarts == *start_.number &&
         (node.report.stage == Stage::kPreparing || arrived(node));
}

bool Coordinator::arrived(const Node& node) const {
  return node.reported && node.report.stage == Stage::kArrived && node.report.arrival != node.go;
}

void Coordinator::block_start(const std::string& why) {
  count(nodes_[0], -1);
  blocked_by_ = why;
  cut_text(blocked_by_, kMaxTextBytes / 4);
  count(nodes_[0], 1);
}

bool Coordinator::ready(const Node& node) const {
  if (&node == nodes_.data() && !blocked_by_.empty()) return false;
  return arrived(node) && node.connected && !node.lost && !node.away &&
         node.report.cluster == settings_.cluster;
}

// True if the node starts without waiting for the others (NodeReport::meets). A node that stops or
// ends is not unfit: its state shows why it is missing.
bool Coordinator::is_unfit(const Node& node) const {
  const NodeReport& report = node.report;
  const bool goes_on = report.stage == Stage::kPreparing || report.stage == Stage::kRunning;
  return node.reported && node.connected && goes_on && !report.meets &&
         report.cluster == settings_.cluster;
}

void Coordinator::count(const Node& node, int by) {
  const auto add = [by](std::uint32_t& to, bool what) {
    if (what) to += static_cast<std::uint32_t>(by);
  };
  add(ready_, ready(node));
  add(waiting_, arrived(node));
  add(unfit_, is_unfit(node));
  add(known_, node.known);
  add(left_, node.gone || node.lost);
  add(present_, node.connected && node.reported && !node.away);
}

// Grants the start if all nodes are ready. After a failure, two things must come first. The verdict
// must decide that all nodes start again, and node 0, which counts the starts, must have ended the
// failed start.
void Coordinator::give_go() {
  const bool failing = start_.state == NodeVerdict::State::kFailing ||
                       (start_.state == NodeVerdict::State::kFailed && !start_.failing->again);
  if (ready_ != nodes_.size() || failing || !start_.number) return;
  start_.state = NodeVerdict::State::kFine;
  start_.failing.reset();
  for (Node& node : nodes_) {
    node.go = node.report.arrival;
    node.went = false;
    node.sees_missing = false;
  }
  ready_ = waiting_ = 0;
  given_start_ = *start_.number;
  start_.begun = true;
  meeting_ = meeting_of_all();
  changed();
}

std::uint64_t Coordinator::meeting_of_all() const {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < nodes_.size(); ++i) {
    sum += mixed(mixed(mixed(i) ^ nodes_[i].instance) ^ nodes_[i].report.arrival);
  }
  return sum | 1U;  // never 0, which stands for no rendezvous
}

// Restores the grant that an earlier coordinator gave, once all nodes have reported. A node that
// has not received it gets it again. If a node was replaced since, nodes that wait or prepare count
// as lost instead.
void Coordinator::remember_meeting(TimeMs now) {
  const NodeReport& zero = nodes_[0].report;
  if (meeting_ != 0 || zero.meeting == 0 || zero.stage != Stage::kRunning) return;
  if (present_ != nodes_.size()) return;
  meeting_ = zero.meeting;
  const bool all = meeting_of_all() == meeting_;
  for (std::uint32_t i = 1; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    const bool waits = arrived(node);
    if (all && waits) {
      count(node, -1);
      node.go = node.report.arrival;
      node.went = false;
      given_start_ = *start_.number;
      node.sees_missing = false;
      count(node, 1);
      changed();
    } else if (!all && node.report.restarts <= *start_.number &&
               (waits || node.report.stage == Stage::kPreparing)) {
      fail_as_lost(i, Kind::kClosed, made_at_, now);
    }
  }
}

std::string Coordinator::why_missing(std::uint32_t node) const {
  const Node& of = nodes_[node];
  if (const auto found = differing_.find(node); found != differing_.end()) return found->second.how;
  if (node == 0 && arrived(of) && !blocked_by_.empty()) return blocked_by_;
  if (!of.known) return "not connected";
  if (of.gone) return "ended with exit code " + std::to_string(of.report.exit_code);
  if (of.lost && of.silent) return "silent for " + base::seconds(settings_.timeout_ms);
  if (!of.connected) return "its connection is closed";
  if (arrived(of) && of.report.cluster != settings_.cluster) {
    return "came with another list of nodes";
  }
  if (of.report.stage == Stage::kRunning) return "still running";
  return of.report.stage == Stage::kStopping ? "still stopping" : "still preparing";
}

void Coordinator::describe_missing() {
  std::string text;
  std::string reason;  // reason of the last node in `text`, written after the last node that has it
  std::uint32_t missing = 0;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (ready(nodes_[i])) continue;
    if (missing++ >= kMaxMissingNamed) continue;
    std::string one = called(i);
    cut_text(one, kMaxTextBytes / kMaxMissingNamed / 2);
    std::string why = why_missing(i);
    if (!text.empty()) text += (why == reason ? "" : ": " + reason) + ", ";
    text += one;
    reason = std::move(why);
  }
  if (!text.empty()) text += ": " + reason;
  if (missing > kMaxMissingNamed)
    text += " and " + std::to_string(missing - kMaxMissingNamed) + " more";
  cut_text(text, kMaxTextBytes);
  bool new_to_some = text != waits_for_ || missing != missing_;
  for (Node& node : nodes_) {
    if (!arrived(node)) continue;
    new_to_some = new_to_some || !node.sees_missing;
    node.sees_missing = true;
  }
  missing_ = missing;
  waits_for_ = std::move(text);
  if (new_to_some) changed();
}

}  // namespace lifecycle
