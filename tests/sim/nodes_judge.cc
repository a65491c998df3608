#include "tests/sim/nodes_judge.h"

#include <algorithm>

#include "base/exit_codes.h"

namespace sim {
namespace {

using Kind = NodeFailure::Kind;
using Stage = NodeReport::Stage;
using State = NodeVerdict::State;

// From a rank's death to the stop of all ranks that depend on it, in a network that works.
constexpr TimeMs kKnownMs = 250;

std::string named(std::uint32_t node) { return "node " + std::to_string(node); }

}  // namespace

std::string name_of(const NodeFailure& failure) {
  static constexpr const char* kKinds[] = {"failed", "stopped",   "expired", "closed",
                                           "silent", "replanned", "unfit"};
  return "node " + std::to_string(failure.node) + " " + kKinds[static_cast<int>(failure.kind)];
}

std::string text(const NodeVerdict& verdict) {
  static constexpr const char* kStates[] = {"fine", "told", "failing", "failed"};
  std::string out = std::string(kStates[static_cast<int>(verdict.state)]) + " " +
                    std::to_string(verdict.restarts);
  if (verdict.failure) out += " of " + name_of(*verdict.failure);
  if (verdict.again) out += ", again";
  if (verdict.failure && verdict.failure->ran_ms >= 0) {
    out += ", ran " + std::to_string(verdict.failure->ran_ms);
  }
  if (verdict.go != 0) out += ", go " + std::to_string(verdict.go);
  if (verdict.missing != 0) out += ", waits for " + verdict.waits_for;
  if (verdict.ended) out += ", ended";
  return out;
}

void NodesJudge::said(std::uint32_t node, std::uint32_t coordinator, const NodeVerdict& verdict) {
  const bool replanned = verdict.failure && verdict.failure->kind == Kind::kReplanned;
  if (expected_.harmless && verdict.state != State::kFine && !(replanned && verdict.again)) {
    complain(named(node) + " is told of a failure, and there was none");
  }
  if (!expected_.stops && (verdict.state == State::kFailing || verdict.state == State::kFailed)) {
    complain(named(node) + " is to stop, and lives on its own");
  }
  if (verdict.go != 0 && nodes_[node].given.emplace(coordinator, verdict.go).second) {
    check_go(node, verdict);
  }
  if (verdict.state != State::kFailed) return;
  if (!verdict.failure) return complain("a failure is of nobody");
  check_culprit(node, verdict.failure->node);
  // A node that takes another's place has failures of its own, in a start that is none of the job.
  const bool own = verdict.failure->node == node && verdict.restarts < nodes_[0].report.restarts;
  if (own) return;
  if (expected_.steady && verdict.again != again_) {
    complain(again_ ? "no restart, and there are some left" : "a restart more than there may be");
  }
  const std::string name = name_of(*verdict.failure) + (verdict.again ? ", all again" : "");
  // What ran with an earlier node 0 ends as it can.
  const std::uint64_t meeting = nodes_[node].report.meeting;
  if (meeting != 0 && meeting != meeting_) return;
  const auto [known, fresh] = first_.emplace(std::pair(coordinator, verdict.restarts), name);
  if (!fresh && known->second != name) {
    complain(named(node) + " hears of " + name + ", and others of " + known->second);
  }
}

void NodesJudge::check_culprit(std::uint32_t node, std::uint32_t named_node) {
  if (!expected_.culprit || *expected_.culprit == named_node) return;
  complain(named(node) + " hears of a failure of " + named(named_node) + ", and " +
           named(*expected_.culprit) + " is the culprit");
}

void NodesJudge::check_go(std::uint32_t node, const NodeVerdict& verdict) {
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const Node& other = nodes_[i];
    const bool arrived =
        other.report.stage == Stage::kArrived && other.report.cluster == nodes_[0].report.cluster;
    // One coordinator after another may repeat what was given.
    const bool went = other.report.meeting != 0 && other.report.meeting == verdict.meeting;
    if (other.open && (arrived || went)) continue;
    complain(named(node) + " is given go without " + named(i));
  }
}

void NodesJudge::disturbed(std::uint32_t node, TimeMs now) {
  if (!disturbed_at_) disturbed_at_ = now;
  const TimeMs enough = expected_.restart_reset_ms;
  if (enough > 0 && now - nodes_[node].since >= enough) counted_ = 0;
  again_ = counted_++ < expected_.max_restarts;
}

void NodesJudge::lost_node_0(std::uint32_t node) {
  check_culprit(node, 0);
  // One whose list is still the old one is not let in.
  const bool let_in = expected_.lists == 0;
  if (expected_.harmless && let_in) complain(named(node) + " holds node 0 for lost");
}

void NodesJudge::died(std::uint32_t node) { nodes_[node].runs.reset(); }

void NodesJudge::moved(std::uint32_t node, const Member& before, const Member& after, TimeMs now) {
  if (!before.has_ranks() && after.has_ranks()) nodes_[node].since = now;
  if (!before.takes_part() && after.takes_part()) started(node, after);
  if (before.takes_part() && !after.takes_part()) nodes_[node].runs.reset();
  const bool stops = before.stage() == Stage::kRunning && after.stage() == Stage::kStopping;
  if (stops && expected_.calm && disturbed_at_ &&
      now > std::max(*disturbed_at_, nodes_[node].since) + kKnownMs + expected_.unseen_ms) {
    complain(named(node) + " hears of the failure late");
  }
  if (stops && !after.ends_by_itself() && !expected_.stops) {
    complain(named(node) + " stops for another one");
  }
  const bool lets_go = before.stage() == Stage::kStopping && after.stage() != Stage::kStopping;
  if (lets_go) ended(node, after);
}

// A start of a node: all that runs is of the same meeting, and each takes part in it once.
void NodesJudge::started(std::uint32_t node, const Member& now) {
  ++starts_;
  Node& of = nodes_[node];
  of.runs = now.meeting();
  if (!expected_.meets) return;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].runs && nodes_[i].runs != of.runs) {
      complain(named(node) + " starts while " + named(i) + " runs another start");
    }
  }
  if (!of.ran.insert(now.meeting()).second) {
    complain(named(node) + " takes part twice in one start");
  }
}

void NodesJudge::ended(std::uint32_t node, const Member& now) {
  const auto& name = now.named();
  const bool is_end = now.stage() == Stage::kEnded;
  const bool rescheduled = is_end && now.exit_code() == exit_code::kReschedule;
  const bool fresh = expected_.culprit == node && !now.guilty();  // another instance of the culprit
  if (rescheduled && nodes_[node].saves_in_vain && !fresh) {
    complain(named(node) + " ends as if a node had not failed before the checkpoint");
  }
  if (is_end && expected_.saves && !rescheduled) {
    complain(named(node) + " has been asked to save, and ends otherwise");
  }
  if (is_end && now.exit_code() == kGuiltyCode && !now.guilty()) {
    complain(named(node) + " is innocent and ends as a guilty one");
  }
  if (!name && expected_.calm) complain(named(node) + " is not told which failure was the first");
  if (is_end && expected_.culprit && now.exit_code() == kVictimCode) {
    complain(named(node) + " is a victim and ends with its own code");
  }
  if (is_end && expected_.culprit && *expected_.culprit != node &&
      now.exit_code() == exit_code::kHangs) {
    complain(named(node) + " waits for a rank that hangs, and ends as if its own did");
  }
  if (!name) return;
  check_culprit(node, name->node);
  const bool here = name->node == node && name->kind == Kind::kFailed;
  // The instance that took the place of a guilty one is innocent.
  if (is_end && here && now.guilty() && now.exit_code() == exit_code::kElsewhere) {
    complain(named(node) + " is guilty and says that another one is");
  }
  if (is_end && !here && now.exit_code() == kGuiltyCode) {
    complain(named(node) + " ends with its own code, and the first failure is another one's");
  }
  if (is_end && name->kind == Kind::kReplanned && now.exit_code() == exit_code::kElsewhere) {
    complain(named(node) + " ends with another one's failure, which is only another list");
  }
  if (expected_.harmless && name->kind != Kind::kReplanned) {
    complain(named(node) + " ends for a failure that there was not");
  }
}

void NodesJudge::finish(const std::vector<Standing>& nodes) {
  if (expected_.harmless) {
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].node->exit_code() != 0 || nodes[i].node->stage() != Stage::kEnded) {
        complain(named(i) + " has not ended well");
      }
    }
    // Of a list that comes and goes, a start that not all heard of may come of it as well.
    const std::size_t most = nodes.size() * (1 + 2UL * expected_.lists);
    if (starts_ < nodes.size() || starts_ > most) complain("somebody has started too often");
    return;
  }
  if (expected_.stops) check_quiet(nodes);
  if (expected_.stops && expected_.meets) check_together(nodes);
  if (expected_.stops && expected_.meets && expected_.lists == 0) check_waiting(nodes);
}

// Nobody waits for a node whose farewell node 0 has heard.
void NodesJudge::check_waiting(const std::vector<Standing>& nodes) {
  if (!nodes[0].alive || nodes[0].node->stage() == Stage::kEnded) return;
  std::size_t ended = 0;
  while (ended < nodes.size() && !(nodes[ended].alive && nodes[ended].known &&
                                   nodes[ended].node->stage() == Stage::kEnded &&
                                   nodes_[ended].report.stage == Stage::kEnded)) {
    ++ended;
  }
  if (ended == nodes.size()) return;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const Standing& of = nodes[i];
    if (!of.alive || !of.linked || of.node->stage() != Stage::kArrived) continue;
    complain(named(i) + " waits for " + named(static_cast<std::uint32_t>(ended)) +
             ", which has ended");
  }
}

// Nobody runs without all the others.
void NodesJudge::check_quiet(const std::vector<Standing>& nodes) {
  const auto counts = [this](const Standing& of) {
    return of.linked && of.node->has_ranks() && (expected_.meets || !of.fresh);
  };
  const auto runner = std::ranges::find_if(nodes, counts);
  if (runner == nodes.end()) return;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const Standing& other = nodes[i];
    // Who never was heard of is not missed where nobody waits for the others.
    if (!expected_.meets && (!other.known || !nodes[0].alive)) continue;
    const bool same =
        other.alive && other.node->has_ranks() && other.node->meeting() == runner->node->meeting();
    if (!same) {
      complain("node " + std::to_string(runner - nodes.begin()) + " is left running without " +
               named(i));
    }
  }
}

// Where all are there, and may, they run.
void NodesJudge::check_together(const std::vector<Standing>& nodes) {
  const bool all = std::ranges::all_of(
      nodes, [](const Standing& of) { return of.alive && of.node->stage() != Stage::kEnded; });
  if (!all) return;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].node->has_ranks()) complain("all are there, and " + named(i) + " does not run");
  }
}

}  // namespace sim
