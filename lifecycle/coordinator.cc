#include "lifecycle/coordinator.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "base/exit_codes.h"
#include "base/text.h"

namespace lifecycle {
namespace {

using Kind = NodeFailure::Kind;
using Stage = NodeReport::Stage;

constexpr TimeMs kScanMs = 1000;   // time between two scans of all nodes
constexpr TimeMs kPauseMs = 2500;  // if no call comes for this time, this process was paused
constexpr std::size_t kMaxPhaseBytes = 64;
// 31 years: limits the number of a peer, which can be any
constexpr TimeMs kMaxRanMs = 1'000'000'000'000;

bool is_stop(Kind kind) { return kind == Kind::kStopped || kind == Kind::kExpired; }
bool is_loss(Kind kind) { return kind == Kind::kClosed || kind == Kind::kSilent; }

bool refines(const NodeFailure& first, const NodeFailure& later) {
  // `later` was sent before the complete report
  if (first.complete && !later.complete) return false;
  return first.complete != later.complete || first.role != later.role ||
         first.message != later.message || (first.detail != later.detail && !later.detail.empty());
}

}  // namespace

Coordinator::Coordinator(Settings settings, TimeMs now)
    : settings_(std::move(settings)),
      nodes_(settings_.node_count),
      awake_at_(now),
      made_at_(now),
      absent_from_(std::numeric_limits<TimeMs>::min()),
      absent_until_(now),
      scanned_at_(now) {}

// --- Connections ---

void Coordinator::connected(std::uint32_t node, std::uint64_t instance, TimeMs now) {
  if (node >= nodes_.size()) return;
  awake(now);
  Node& of = nodes_[node];
  differing_.erase(node);
  if (of.known && of.instance != instance) {
    const bool ran = of.report.stage == Stage::kRunning || of.report.stage == Stage::kStopping ||
                     (of.go != 0 && of.go == of.report.arrival);
    if (ran && !of.lost && !of.gone) {
      if (!of.away) of.lost_at = now;
      lose(node, false, now);
    }
    come_back(node);
    count(of, -1);
    of = {};
  } else {
    count(of, -1);
  }
  if (!std::exchange(of.known, true)) of.known_at = now;
  of.connected = true;
  of.instance = instance;
  of.heard_at = now;
  count(of, 1);
}

void Coordinator::closed(std::uint32_t node, TimeMs now) {
  if (node >= nodes_.size() || !nodes_[node].connected) return;
  awake(now);
  Node& of = nodes_[node];
  count(of, -1);
  of.connected = false;
  count(of, 1);
  if (of.gone || of.lost || of.away) return;
  of.away = true;
  of.lost_at = now;
  of.back_by = now + kReconnectMs;
  away_.push_back(node);
}

void Coordinator::heard(std::uint32_t node, TimeMs now) {
  if (node >= nodes_.size() || !nodes_[node].connected) return;
  awake(now);
  Node& of = nodes_[node];
  of.heard_at = now;
  if (of.lost && of.silent) {
    come_back(node);
    give_go();
  }
}

// Clears Node::away and Node::lost, because the node is back or is about to get another state.
void Coordinator::come_back(std::uint32_t node) {
  Node& of = nodes_[node];
  if (of.away) std::erase(away_, node);
  count(of, -1);
  of.away = of.lost = of.silent = false;
  count(of, 1);
}

void Coordinator::differs(std::uint32_t node, const std::string& how, TimeMs now, bool for_good) {
  const bool second = node == 0 && for_good;  // node 0 itself is this coordinator's own node
  if (node >= nodes_.size() || (nodes_[node].connected && !second)) return;
  if (differing_.size() >= kMaxMissingNamed && !differing_.contains(node)) return;
  Difference& kept = differing_[node];
  if (!for_good || now - kept.last >= kDiffersMs) kept.since.reset();
  if (for_good && !kept.since) kept.since = now;
  kept.last = now;
  kept.how = how;
  cut_text(kept.how, kMaxTextBytes / 4);
  if (!for_good || !start_.goes_on() || now - *kept.since < kDiffersMs) return;
  failed({.kind = Kind::kDiffers,
          .node = node,
          .message = difference_text(called(node), kept.how),
          .detail = {}},
         now, now);
  settle(now);  // settle now, so that no node stops on its own first
}

bool Coordinator::ended_by_difference() const {
  return start_.state == NodeVerdict::State::kFailed && start_.failing &&
         start_.failing->first.failure.kind == Kind::kDiffers;
}

// Detects a pause of this process, from the time since its last call. The pause does not count as
// silence of the nodes.
void Coordinator::awake(TimeMs now) {
  const TimeMs gap = now - awake_at_;
  if (gap <= 0) return;
  const TimeMs before = std::exchange(awake_at_, now);
  if (gap < kPauseMs) return;
  absent_from_ = before;
  absent_until_ = now;
  for (Node& node : nodes_) {
    node.heard_at += gap;
    node.back_by += gap;
  }
}

// --- Reports ---

void Coordinator::reported(std::uint32_t node, const NodeReport& report, TimeMs now) {
  if (node >= nodes_.size() || !nodes_[node].connected || nodes_[node].gone) return;
  awake(now);
  come_back(node);
  Node& from = nodes_[node];
  const bool was_astray = astray(from);
  const bool was_to_go = may_go(from);
  const NodeVerdict::State saw = shown(node);
  const NodeReport before = from.report;
  const bool saw_missing = from.sees_missing;
  take(node, report, now);
  if (node == 0) follow(now);
  const bool strays = astray(from);
  const bool moved = before.restarts != report.restarts && (strays || !numbered());
  const bool leads =
      node == 0 && (before.stage != report.stage || before.meeting != report.meeting);
  if (saw != shown(node) || strays != was_astray || moved || leads ||
      saw_missing != from.sees_missing) {
    changed();
  }
  if (in_start(from) && from.report.stage == Stage::kRunning) begin(now);
  if (has_left(from)) {
    // The node has left the start because it lost its connection to node 0. If this process was
    // paused at that time, node 0 counts as lost, otherwise the node.
    const bool ours = was_absent(Kind::kSilent, from.lost_at);
    fail_as_lost(ours ? 0 : node, Kind::kClosed, now, now);
  }
  if (was_to_go && missed_go(from)) {
    failed({.kind = Kind::kReplanned,
            .node = node,
            .restarts = true,
            .message = called(node) + " has looked at its list of nodes again",
            .detail = {}},
           now, now);
  }
  std::string detail = report.failure ? report.failure->detail : "";
  if (detail.size() > kMaxDetailBytes) detail.clear();  // a detail that is cut cannot be decoded
  weigh(node, detail, now);
  if (from.gone) weigh_farewell(node, now);
  if (from.gone || node == 0) weigh_absent(now);
  weigh_unfit(now);
  if (from.gone && node == 0) {
    ended_ = true;
    exit_code_ = from.report.exit_code;
    changed();
  }
  settle(now);
  give_go();
  remember_meeting(now);
  look_who_saves(now);
  judge_hang(now);
}

void Coordinator::take(std::uint32_t node, const NodeReport& report, TimeMs now) {
  Node& from = nodes_[node];
  count(from, -1);
  if (from.report.restarts != report.restarts) from.told = false;
  const TimeMs failed_before = from.report.failure ? from.failed_at : now;
  const bool same_start = from.reported && from.report.restarts == report.restarts;
  if (report.saves > saves_) {
    saves_ = report.saves;
    keeps_running_ = report.keeps_running;
    knowing_ = 0;
    changed();
  } else if (report.saves == saves_ && saves_ > from.report.saves && keeps_running_ &&
             !report.keeps_running) {
    // Two nodes requested a checkpoint at the same time, with the same number. The request that
    // ends the job is stronger. It gets a new number, so that nodes with the weaker one notice it.
    ++saves_;
    keeps_running_ = false;
    knowing_ = 0;
    changed();
  }
  take_look(report, now);
  from.report = report;
  if (from.report.places.size() > kMaxPlacesBytes) from.report.places.clear();
  from.report.ran_ms = std::min(report.ran_ms, kMaxRanMs);
  if (auto& failure = from.report.failure) failure->ran_ms = std::min(failure->ran_ms, kMaxRanMs);
  if (report.ran_ms >= 0) from.began_at = now - from.report.ran_ms;
  from.reported = true;
  from.heard_at = now;
  from.gone = report.stage == Stage::kEnded;
  cut_text(from.report.phase, kMaxPhaseBytes);
  if (auto& failure = from.report.failure; failure) {
    cut_text(failure->message, kMaxTextBytes);
    failure->detail = {};
    // The time that a report is under way makes the failure look later, never earlier. So the
    // earliest time is the most exact.
    const TimeMs at = now - std::max<TimeMs>(failure->age_ms, 0);
    from.failed_at = same_start ? std::min(at, failed_before) : at;
    failure->age_ms = 0;
  }
  if (report.stage == Stage::kArrived && report.arrival != from.go) from.go = 0;
  const bool elsewhere = report.stage == Stage::kPreparing || report.stage == Stage::kRunning;
  from.went = from.went || elsewhere || report.meeting != 0;
  if (!arrived(from)) from.sees_missing = false;
  count(from, 1);
}

// Finds out whether all nodes know of the last checkpoint. An away node (its connection closed, and
// it can reconnect) may have been lost before it received the checkpoint request, so it must know
// too. The same applies to a node that has not connected to a new coordinator yet, because an
// earlier coordinator may have known it. If the failure of a node stops no other node, no node is
// waited for.
void Coordinator::look_who_saves(TimeMs now) {
  if (saves_known_ == saves_ || start_.fails()) return;
  const bool fresh = now - made_at_ < kReconnectMs;
  const auto counts = [this, fresh](const Node& of) {
    if (!settings_.stops) return false;
    if (!of.reported) return fresh;
    const bool here = of.connected || (of.away && settings_.loss_counts);
    return here && !of.gone && !of.lost;
  };
  while (knowing_ < nodes_.size()) {
    const Node& of = nodes_[knowing_];
    if (counts(of) && of.report.saves < saves_) return;
    ++knowing_;
  }
  saves_known_ = saves_;
  changed();
}

// Follows node 0 to another start; node 0 alone decides its number. Failures that nodes have
// already reported for that start are handled now.
void Coordinator::follow(TimeMs now) {
  const std::uint32_t restarts = nodes_[0].report.restarts;
  if (start_.number == restarts) return;
  if (start_.number)
    past_ = Past{*start_.number, start_.fails() ? std::move(start_.failing) : std::nullopt};
  start_ = {.number = restarts};
  changed();
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (numbered()) nodes_[i].told = false;
    if (!in_start(nodes_[i])) continue;
    if (nodes_[i].report.stage == Stage::kRunning) begin(now);
    weigh(i, "", now);
  }
}

// Marks the current start as begun, because a node runs it. Before, a lost node only delays the
// start. From now on its loss is a failure.
void Coordinator::begin(TimeMs now) {
  if (start_.begun) return;
  start_.begun = true;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].lost) count_loss(i, now);
  }
}

// --- Failures ---

void Coordinator::weigh(std::uint32_t node, const std::string& detail, TimeMs now) {
  const Node& from = nodes_[node];
  if (from.report.failure && in_start(from)) failed(failure_of(node, detail), from.failed_at, now);
}

// Returns the failure that a node has reported. If the node reports that it lost node 0, the
// failure is node 0's or the node's own.
NodeFailure Coordinator::failure_of(std::uint32_t node, const std::string& detail) const {
  const Node& from = nodes_[node];
  NodeFailure failure = *from.report.failure;
  failure.node = node;
  failure.detail = detail;
  if (is_loss(failure.kind)) {
    // If this process was not paused, it was the node's network that failed.
    if (was_absent(failure.kind, from.failed_at) || lost_earlier_coordinator(from))
      failure.node = 0;
    failure.message = loss_message(called(failure.node), failure.kind, settings_.timeout_ms);
    failure.detail.clear();
    failure.restarts = failure.complete = true;
  }
  return failure;
}

// Fails the job if a node has ended with exit code 76 (a failure elsewhere), and no failure is
// known here. Only an earlier coordinator knew that failure. The other nodes must end as well.
void Coordinator::weigh_farewell(std::uint32_t node, TimeMs now) {
  const Node& from = nodes_[node];
  if (start_.fails() || from.report.failure || !in_start(from)) return;
  if (from.report.exit_code != exit_code::kElsewhere) return;
  failed({.kind = Kind::kFailed,
          .node = node,
          .message = called(node) + " has ended for a failure on another node, and which is not "
                                    "known any more",
          .detail = {}},
         now, now);
}

// Fails the job if a node has ended, perhaps by a stop, before a start that the other nodes wait
// for. That start cannot come. In an elastic job the list of nodes changes instead.
void Coordinator::weigh_absent(TimeMs now) {
  if (!numbered() || !settings_.stop_counts || !start_.goes_on()) return;
  if (!start_.number || start_.begun) return;
  for (std::uint32_t i = 1; i < nodes_.size(); ++i) {
    const Node& of = nodes_[i];
    if (!of.gone || in_start(of)) continue;
    NodeFailure failure =
        of.report.failure
            ? failure_of(i, "")
            : NodeFailure{.node = i,
                          .message = called(i) + " has ended with exit code " +
                                     std::to_string(of.report.exit_code) + " before the next start",
                          .detail = {}};
    failure.restarts = false;
    return failed(std::move(failure), of.heard_at, now);
  }
}

// Fails the job if some nodes wait for a node that starts alone, because the nodes have different
// options. Such a wait would never end.
void Coordinator::weigh_unfit(TimeMs now) {
  if (unfit_ == 0 || waiting_ == 0 || !start_.goes_on()) return;
  const auto unfit = std::ranges::find_if(nodes_, [this](const Node& of) { return is_unfit(of); });
  const auto waiter = std::ranges::find_if(nodes_, [this](const Node& of) { return arrived(of); });
  const auto node = static_cast<std::uint32_t>(unfit - nodes_.begin());
  failed({.kind = Kind::kUnfit,
          .node = node,
          .message = called(node) + " does not wait for the other nodes before a start, and " +
                     called(static_cast<std::uint32_t>(waiter - nodes_.begin())) +
                     " waits for it: give all nodes the same --restart-across-nodes, "
                     "--max-restarts and --elastic",
          .detail = {}},
         now, now);
}

// True if this process was paused while a node waited for node 0. The wait began at `since` and
// lasted for the time-out by which the node concluded the loss.
bool Coordinator::was_absent(Kind kind, TimeMs since) const {
  const TimeMs patience = kind == Kind::kSilent ? settings_.timeout_ms : kReconnectMs;
  return since <= absent_until_ && since + patience >= absent_from_;
}

// True if the node's failure is older than its first connection to this coordinator. So the lost
// connection was to an earlier coordinator.
bool Coordinator::lost_earlier_coordinator(const Node& node) const {
  return node.failed_at <= node.known_at;
}

void Coordinator::lose(std::uint32_t node, bool silent, TimeMs now) {
  come_back(node);
  Node& of = nodes_[node];
  count(of, -1);
  of.lost = true;
  of.silent = silent;
  count(of, 1);
  count_loss(node, now);
}

void Coordinator::count_loss(std::uint32_t node, TimeMs now) {
  const Node& of = nodes_[node];
  if (of.gone || !in_start(of) || (numbered() && !start_.begun)) return;
  if (of.silent && is_cut_off(now)) return fail_as_cut_off(now);
  fail_as_lost(node, of.silent ? Kind::kSilent : Kind::kClosed, of.lost_at, now);
}

// True if node 0 receives nothing from all other nodes, and there are at least two of them. Node
// 0's own network is then the more likely cause. If a connection closed, the network works: the
// close came from a peer or its kernel.
bool Coordinator::is_cut_off(TimeMs now) const {
  std::uint32_t others = 0;
  for (std::uint32_t i = 1; i < nodes_.size(); ++i) {
    const Node& of = nodes_[i];
    if (!of.known || of.gone) continue;
    if (!of.connected && !of.silent) return false;
    if (!of.silent && now - of.heard_at < settings_.timeout_ms / 2) return false;
    ++others;
  }
  return others >= 2;
}

void Coordinator::fail_as_cut_off(TimeMs now) {
  TimeMs at = now;
  std::uint32_t others = 0;
  for (std::uint32_t i = 1; i < nodes_.size(); ++i) {
    const Node& of = nodes_[i];
    if (!of.known || of.gone) continue;
    at = std::min(at, of.heard_at);
    ++others;
  }
  NodeFailure failure = loss_of(0, Kind::kSilent, at);
  failure.message = cut_off_message(called(0), others, settings_.timeout_ms);
  failed(std::move(failure), at, now);
}

NodeFailure Coordinator::loss_of(std::uint32_t node, Kind kind, TimeMs at) const {
  const Node& of = nodes_[node];
  return {.kind = kind,
          .node = node,
          .ran_ms = of.report.ran_ms < 0 ? -1 : std::max<TimeMs>(0, at - of.began_at),
          .restarts = true,
          .message = loss_message(called(node), kind, settings_.timeout_ms),
          .detail = {}};
}

void Coordinator::fail_as_lost(std::uint32_t node, Kind kind, TimeMs at, TimeMs now) {
  failed(loss_of(node, kind, at), at, now);
}

bool Coordinator::counts(Kind kind) const {
  return settings_.stops && (settings_.loss_counts || !is_loss(kind)) &&
         (settings_.stop_counts || !is_stop(kind));
}

void Coordinator::failed(NodeFailure failure, TimeMs at, TimeMs now) {
  if (!counts(failure.kind)) {
    told(std::move(failure), at, now);
    return;
  }
  if (start_.goes_on()) {
    start_.state = NodeVerdict::State::kFailing;
    const bool stops = is_stop(failure.kind);
    start_.failing = Failing{.first = {std::move(failure), at}, .since = now, .stops = stops};
    changed();
    return;
  }
  const bool known = add_to(failure, at);
  if (start_.state == NodeVerdict::State::kFailed) return;
  start_.failing->stops = start_.failing->stops || is_stop(failure.kind);
  if (!known) add_other({std::move(failure), at});
  choose_first();
}

// Returns the time by which failures are compared. Node 0 notices a closed connection later than
// ranks on other nodes notice theirs, because of the transit and because the kernel needs time to
// end a container. So such a loss counts as kGatherMs earlier. It does not if a node was stopped: a
// platform may kill the containers that it stops, so losses are then consequences.
TimeMs Coordinator::happened(const Candidate& of) const {
  const bool loss = of.failure.kind == Kind::kClosed && !start_.failing->stops;
  return of.at - (loss ? kGatherMs : 0);
}

bool Coordinator::is_earlier(const Candidate& one, const Candidate& other) const {
  const auto order = [this](const Candidate& of) {
    return std::tuple(happened(of), of.failure.node, of.failure.kind);
  };
  return order(one) < order(other);
}

// Orders failures by role: first a root, then an open role, last a victim. If the roles are equal,
// the earlier failure is likelier.
bool Coordinator::is_likelier(const Candidate& one, const Candidate& other) const {
  const auto order = [](NodeFailure::Role role) {
    return role == NodeFailure::Role::kRoot ? 0 : role == NodeFailure::Role::kOpen ? 1 : 2;
  };
  const int first = order(one.failure.role);
  const int second = order(other.failure.role);
  return first != second ? first < second : is_earlier(one, other);
}

// Adds a failure to `others`. If there are more than kMaxOtherFailures, drops the least likely one,
// but never the earliest.
void Coordinator::add_other(Candidate other) {
  std::vector<Candidate>& others = start_.failing->others;
  others.push_back(std::move(other));
  if (others.size() <= kMaxOtherFailures) return;
  const auto earlier = [this](const auto& one, const auto& two) { return is_earlier(one, two); };
  std::swap(others.front(), *std::ranges::min_element(others, earlier));
  const auto likelier = [this](const auto& one, const auto& two) { return is_likelier(one, two); };
  others.erase(std::max_element(others.begin() + 1, others.end(), likelier));
}

// Chooses the first failure among all known ones. It is the earliest one. If the earliest is a
// victim, it is the likeliest one (is_likelier).
void Coordinator::choose_first() {
  std::vector<Candidate>& all = start_.failing->others;
  all.push_back(std::move(start_.failing->first));
  const auto earlier = [this](const auto& one, const auto& two) { return is_earlier(one, two); };
  const auto likelier = [this](const auto& one, const auto& two) { return is_likelier(one, two); };
  auto chosen = std::ranges::min_element(all, earlier);
  if (chosen->failure.role == NodeFailure::Role::kVictim) {
    chosen = std::ranges::min_element(all, likelier);
  }
  start_.failing->first = std::move(*chosen);
  all.erase(chosen);
}

// Announces a failure that does not stop the other nodes, at most once for each node in a start. A
// verdict has the failure that was announced last.
void Coordinator::told(NodeFailure failure, TimeMs at, TimeMs now) {
  if (start_.fails()) return;
  if (start_.failing && add_to(failure, at)) return;
  if (std::exchange(nodes_[failure.node].told, true)) return;
  start_.state = NodeVerdict::State::kTold;
  start_.failing = Failing{.first = {std::move(failure), at}, .since = now};
  changed();
}

// Updates a known failure of the same node and kind from a later report. Returns false if no such
// failure is known.
bool Coordinator::add_to(const NodeFailure& failure, TimeMs at) {
  const auto same = [&failure](const Candidate& known) {
    return known.failure.node == failure.node && known.failure.kind == failure.kind;
  };
  if (same(start_.failing->first)) {
    update(start_.failing->first, failure, at);
    return true;
  }
  const auto other = std::ranges::find_if(start_.failing->others, same);
  if (other == start_.failing->others.end()) return false;
  update(*other, failure, at);
  return true;
}

void Coordinator::update(Candidate& known, const NodeFailure& failure, TimeMs at) {
  NodeFailure& of = known.failure;
  if (start_.state == NodeVerdict::State::kFailing) {
    known.at = std::min(known.at, at);
    of.ran_ms = failure.ran_ms;
    of.restarts = failure.restarts;
  }
  if (!refines(of, failure)) return;
  of.message = failure.message;
  of.role = failure.role;
  if (!failure.detail.empty()) of.detail = failure.detail;
  of.complete = failure.complete;
  if (start_.state != NodeVerdict::State::kFailing) changed();
}

// Decides which failure was the first, when no earlier one is expected any more.
void Coordinator::settle(TimeMs now) {
  if (start_.state != NodeVerdict::State::kFailing) return;
  const NodeFailure& first = start_.failing->first.failure;
  const TimeMs waited = now - start_.failing->since;
  // If the first known failure is a victim, a slower node may still report its cause.
  const bool open = !first.complete || first.role == NodeFailure::Role::kVictim;
  const bool gathers = waited < kGatherMs || awaits_away(now) || (open && waited < kDetailMs);
  const bool replanned = first.kind == Kind::kReplanned;  // all other failures follow from it
  const bool is_sure = replanned || first.kind == Kind::kUnfit || first.kind == Kind::kDiffers;
  if (gathers && !is_sure && !ended_) return;  // node 0's end ends the wait
  start_.state = NodeVerdict::State::kFailed;
  start_.failing->others.clear();
  start_.failing->again =
      numbered() && first.restarts && !is_stop(first.kind) && (replanned || all_may_restart(first));
  changed();
}

// True while a node whose connection closed at about the time of the failure can still reconnect.
// Otherwise that node is lost, and its loss may have been the first failure.
bool Coordinator::awaits_away(TimeMs now) const {
  const TimeMs latest = start_.failing->since + kGatherMs;
  return std::ranges::any_of(away_, [this, now, latest](std::uint32_t node) {
    return nodes_[node].lost_at <= latest && now < nodes_[node].back_by;
  });
}

// Returns whether all nodes that have reported can start again: they have not ended, and have
// restarts left. A start that ran for Settings::restart_reset_ms resets the restart counts of all
// nodes.
bool Coordinator::all_may_restart(const NodeFailure& first) const {
  const TimeMs enough = settings_.restart_reset_ms;
  const bool anew = enough > 0 && first.ran_ms >= enough;
  return std::ranges::all_of(nodes_, [anew](const Node& node) {
    return !node.reported || ((anew || node.report.may_restart) && !node.gone);
  });
}

// --- Time ---

void Coordinator::tick(TimeMs now) {
  awake(now);
  for (const std::uint32_t node : std::vector<std::uint32_t>(away_)) {
    if (now < nodes_[node].back_by) continue;
    if (nodes_[node].connected) {
      come_back(node);
    } else {
      lose(node, false, now);
    }
  }
  if (now >= scanned_at_ + kScanMs) scan(now);
  settle(now);
  give_go();
  look_who_saves(now);
  judge_hang(now);
}

void Coordinator::scan(TimeMs now) {
  scanned_at_ = now;
  for (std::uint32_t i = 1; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    const bool watched = node.connected && !node.lost && !node.gone;
    if (!watched || now - node.heard_at < settings_.timeout_ms) continue;
    node.lost_at = node.heard_at;
    lose(i, true, now);
  }
  miss(now);
  if (waiting_ != 0) describe_missing();
}

// Fails the job for each node that has not reported to this coordinator within the time-out. Each
// was connected to an earlier coordinator, at the grant of this start or later.
void Coordinator::miss(TimeMs now) {
  const NodeReport& zero = nodes_[0].report;
  const bool given = settings_.all_connected || (zero.meeting != 0 && meeting_ == 0);
  const bool runs = zero.stage == Stage::kRunning;
  if (missed_ || !given || !runs || now - made_at_ < settings_.timeout_ms) return;
  missed_ = true;
  for (std::uint32_t i = 1; i < nodes_.size(); ++i) {
    if (!nodes_[i].reported) fail_as_lost(i, Kind::kSilent, made_at_, now);
  }
}

std::optional<TimeMs> Coordinator::next_tick() const {
  TimeMs next = scanned_at_ + kScanMs;
  for (const std::uint32_t node : away_) next = std::min(next, nodes_[node].back_by);
  if (look_open_) next = std::min(next, look_since_ + kLookMs);
  if (start_.state == NodeVerdict::State::kFailing) {
    for (const TimeMs wait : {kGatherMs, kDetailMs}) {
      const TimeMs at = start_.failing->since + wait;
      if (at > awake_at_) next = std::min(next, at);
    }
  }
  return next;
}

// --- Answers ---

// Returns the state in the verdict for a node. While the job may start again (kFailing, or kFailed
// with `again`), a node that has not begun this start gets kFine: it has nothing to stop, and
// continues to the next rendezvous. The replacement of a lost node is an example. The exception is
// node 0, which must count the starts.
NodeVerdict::State Coordinator::shown(std::uint32_t node) const {
  const Node& to = nodes_[node];
  if (astray(to)) return NodeVerdict::State::kFailed;
  const bool inside =
      !numbered() || (to.reported && start_.number && to.report.restarts >= *start_.number);
  const bool meets = start_.state == NodeVerdict::State::kFailing ||
                     (start_.state == NodeVerdict::State::kFailed && start_.failing->again);
  const bool begins = to.report.stage == Stage::kPreparing || arrived(to);
  const bool spared = meets && (!inside || (node != 0 && begins && !to.report.failure));
  return spared ? NodeVerdict::State::kFine : start_.state;
}

// Returns the verdict for a node that runs or stops a start that the job has left (astray()).
NodeVerdict Coordinator::of_past(std::uint32_t node, TimeMs now) const {
  const NodeReport& report = nodes_[node].report;
  NodeVerdict verdict;
  verdict.state = NodeVerdict::State::kFailed;
  verdict.restarts = may_go(nodes_[node]) ? given_start_ : report.restarts;
  verdict.again = true;
  TimeMs at = now;
  const bool behind = verdict.restarts < *start_.number;
  if (behind && past_ && past_->restarts == verdict.restarts && past_->failing) {
    verdict.failure = past_->failing->first.failure;
    at = past_->failing->first.at;
  } else if (behind && report.failure) {
    verdict.failure = report.failure;
    verdict.failure->node = node;
    verdict.again = report.failure->restarts && report.may_restart;
    at = nodes_[node].failed_at;
  } else {
    verdict.failure = {
        .kind = behind ? Kind::kFailed : Kind::kClosed,
        .restarts = true,
        .message = behind ? called(0) + " has let go of this start of the job"
                          : loss_message(called(0), Kind::kClosed, settings_.timeout_ms),
        .detail = {}};
  }
  verdict.failure->age_ms = std::max<TimeMs>(0, now - at);
  return verdict;
}

NodeVerdict Coordinator::verdict_for(std::uint32_t node, TimeMs now) const {
  NodeVerdict verdict;
  if (node >= nodes_.size()) return verdict;
  const Node& to = nodes_[node];
  if (astray(to)) {
    verdict = of_past(node, now);
  } else {
    verdict.restarts = numbered() ? start_.number.value_or(to.report.restarts) : to.report.restarts;
    verdict.state = shown(node);
    if (verdict.state == NodeVerdict::State::kTold ||
        verdict.state == NodeVerdict::State::kFailed) {
      verdict.again = start_.failing->again;
      verdict.failure = start_.failing->first.failure;
      verdict.failure->age_ms = std::max<TimeMs>(0, now - start_.failing->first.at);
    }
  }
  verdict.go = to.go;
  if (to.go != 0) verdict.meeting = meeting_;
  if (to.sees_missing) {
    verdict.missing = missing_;
    verdict.waits_for = waits_for_;
  }
  verdict.saves = saves_;
  verdict.keeps_running = keeps_running_;
  verdict.saves_known = saves_known_;
  verdict.look = look_;
  verdict.hang = hang_;
  verdict.instance = nodes_[0].instance;
  verdict.ended = ended_;
  verdict.exit_code = exit_code_;
  return verdict;
}

Coordinator::Presence Coordinator::presence(std::uint32_t node) const {
  if (node >= nodes_.size() || !nodes_[node].known) return Presence::kNeverConnected;
  const Node& of = nodes_[node];
  if (of.gone) return Presence::kLeft;
  if (of.lost) return Presence::kLost;
  return of.connected ? Presence::kConnected : Presence::kReconnecting;
}

const NodeReport& Coordinator::report_of(std::uint32_t node) const {
  static const NodeReport none;
  return node < nodes_.size() ? nodes_[node].report : none;
}

TimeMs Coordinator::last_heard(std::uint32_t node) const {
  return node < nodes_.size() ? nodes_[node].heard_at : 0;
}

}  // namespace lifecycle
