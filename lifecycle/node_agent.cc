#include "lifecycle/node_agent.h"

#include <algorithm>
#include <utility>

namespace lifecycle {
namespace {

NodeReport::Stage stage_of(const Machine& machine) {
  switch (machine.phase()) {
    case Phase::kPreparing:
      if (machine.awaits_nodes()) return NodeReport::Stage::kArrived;
      return machine.start_granted() ? NodeReport::Stage::kRunning : NodeReport::Stage::kPreparing;
    case Phase::kAutoRestart:
      return NodeReport::Stage::kPreparing;
    case Phase::kStarting:
    case Phase::kRunning:
    case Phase::kCheckpointing:
      return NodeReport::Stage::kRunning;
    default:
      return NodeReport::Stage::kStopping;
  }
}

}  // namespace

std::optional<NodeFailure> NodeAgent::failure(const Machine& machine, TimeMs now) {
  using Kind = NodeFailure::Kind;
  NodeFailure failure;
  failure.node = node_;
  if (machine.stopped() || machine.expired()) {
    if (!stopped_at_) stopped_at_ = now;
    failure.kind = machine.stopped() ? Kind::kStopped : Kind::kExpired;
    failure.age_ms = now - *stopped_at_;
    return failure;
  }
  if (!machine.replanned()) replanned_at_.reset();
  if (machine.replanned() && together_) {
    if (!replanned_at_) replanned_at_ = now;
    failure.kind = Kind::kReplanned;
    failure.age_ms = now - *replanned_at_;
    failure.restarts = true;
    return failure;
  }
  const Cause* cause = machine.cause();
  if (cause == nullptr) return std::nullopt;
  if (machine.failed_elsewhere()) {
    if (!loss_ || loss_->restarts != machine.restarts()) return std::nullopt;
    loss_->failure.age_ms = now - loss_->at;
    return loss_->failure;
  }
  // While a restart is pending, the machine has already counted it. It may be the last one, so
  // would_restart() can be false.
  failure.restarts = machine.would_restart() || machine.phase() == Phase::kAutoRestart;
  if (failure.restarts && !together_) return std::nullopt;
  failure.age_ms = now - cause->at;
  failure.ran_ms = machine.ran_ms(now);
  return failure;
}

void NodeAgent::relink(std::uint32_t node, bool together) {
  NodeAgent next(node, together);
  next.arrival_ = arrival_;
  next.own_saves_ = own_saves_;
  *this = next;
}

NodeReport NodeAgent::report(const Machine& machine, std::uint64_t cluster, TimeMs now) {
  count_own_saves(machine);
  NodeReport report{.stage = stage_of(machine),
                    .restarts = machine.restarts(),
                    .cluster = cluster,
                    .ran_ms = machine.ran_ms(now),
                    .may_restart = machine.may_restart(),
                    .meets = together_,
                    .failure = failure(machine, now),
                    .saves = saves_,
                    .keeps_running = keeps_running_,
                    .phase = phase_name(machine.phase())};
  const bool arrives = report.stage == NodeReport::Stage::kArrived;
  if (arrives && !arrived_) {
    ++arrival_;
    meeting_ = 0;
  }
  if (machine.restarts() != met_for_) meeting_ = 0;
  arrived_ = arrives;
  report.arrival = arrival_;
  report.meeting = meeting_;
  return report;
}

void NodeAgent::count_own_saves(const Machine& machine) {
  if (machine.saves_asked() == own_saves_) return;
  saves_ += machine.saves_asked() - std::exchange(own_saves_, machine.saves_asked());
  keeps_running_ = machine.save_keeps_running();
}

// Applies the checkpoint numbers of a verdict. The checkpoints before this node's first verdict are
// no requests for this node. Requests that were made on this node before that verdict get the
// numbers after them.
void NodeAgent::apply_saves(const NodeVerdict& verdict, const Machine& machine,
                            std::vector<Event>& events) {
  count_own_saves(machine);
  if (!std::exchange(heard_, true)) {
    saves_ += verdict.saves;
    return;
  }
  if (verdict.saves_known >= saves_ && saves_ > saves_known_) {
    saves_known_ = saves_;
    events.emplace_back(event::SaveKnown{});
  }
  if (verdict.saves <= saves_) return;
  saves_ = verdict.saves;
  keeps_running_ = verdict.keeps_running;
  events.emplace_back(
      event::CheckpointRequested{.keep_running = verdict.keeps_running, .elsewhere = true});
}

std::vector<Event> NodeAgent::apply_verdict(const NodeVerdict& verdict, const Machine& machine,
                                            TimeMs now) {
  std::vector<Event> events;
  apply_saves(verdict, machine, events);
  std::uint32_t start = machine.restarts();
  if (verdict.go != 0 && verdict.go == arrival_ && machine.awaits_nodes()) {
    meeting_ = verdict.meeting;
    met_for_ = verdict.restarts;
    loss_.reset();             // forget an earlier loss, whatever number its start had
    start = verdict.restarts;  // the granted start may have failed already
    events.emplace_back(event::NodesReady{verdict.restarts});
  }
  const bool failing = verdict.state == NodeVerdict::State::kFailing;
  const bool known = verdict.state == NodeVerdict::State::kFailed && verdict.failure;
  if ((!failing && !known) || verdict.restarts < start) return events;
  using Kind = NodeFailure::Kind;
  if (known && verdict.failure->kind == Kind::kReplanned) {
    if (verdict.failure->node != node_) events.emplace_back(event::MembershipChanged{true});
    return events;
  }
  const bool unfit =
      known && (verdict.failure->kind == Kind::kDiffers ||
                (verdict.failure->kind == Kind::kUnfit && verdict.failure->node == node_));
  if (unfit) {
    events.emplace_back(event::Unfit{});
    return events;
  }
  event::JobFailed failed;
  if (known) {
    failed.known = true;
    failed.stopped = verdict.failure->kind == Kind::kStopped;
    failed.expired = verdict.failure->kind == Kind::kExpired;
    failed.again = verdict.again;
    failed.ran_ms = verdict.failure->ran_ms;
    const bool lost =
        verdict.failure->kind == Kind::kClosed || verdict.failure->kind == Kind::kSilent;
    // If this node itself counts as lost, only its connection was lost. No task has failed here.
    failed.here = verdict.failure->node == node_ && !lost;
    if (lost && verdict.failure->node == 0 && node_ != 0) {
      // Is a failure of this node a consequence of node 0's loss? If the verdict is from node 0,
      // node 0 has compared both. Otherwise the failure here is no consequence if it came more than
      // kGatherMs before the loss. The margin is needed because ranks may notice a closed
      // connection before the link does.
      const Cause* own = machine.failed_elsewhere() ? nullptr : machine.cause();
      const bool before = own != nullptr && own->at < now - verdict.failure->age_ms - kGatherMs;
      failed.here = verdict.by_itself && before;
      loss_ = {*verdict.failure, now - verdict.failure->age_ms, start};
    }
  }
  events.emplace_back(failed);
  return events;
}

}  // namespace lifecycle
