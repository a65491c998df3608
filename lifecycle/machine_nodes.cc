// The parts of a Machine for a job of several nodes. The nodes wait for one another before a start,
// and a failure of one node ends the job on all nodes.

#include <algorithm>
#include <utility>

#include "base/exit_codes.h"
#include "lifecycle/machine.h"

namespace lifecycle {

// --- The rendezvous before a start ---

void Machine::on(const event::NodesReady& event, TimeMs now) {
  if (!awaits_nodes()) return;
  start_.nodes_ready = true;
  restarts_ = event.restarts;
  cancel_timer(Timer::kRendezvous);
  advance_preparing(now);
}

bool Machine::awaits_nodes() const {
  return phase_ == Phase::kPreparing && cluster_ready_ && policy_.rendezvous_ms > 0 &&
         !start_.nodes_ready && !waits_for(TaskKind::kResolve);
}

// Resolves the list of nodes again, because it changed while this node waited for the others. The
// time limit of the wait stays.
void Machine::resolve_again(TimeMs now) {
  if (!ask_resolver()) return;
  cancel_timer(Timer::kRendezvous);
  advance_preparing(now);
}

// --- A failure ---

void Machine::on(const event::Linked& event, TimeMs now) {
  linked_ = event.up;
  node0_ended_ = event.ended || (node0_ended_ && !event.up);
  const bool starts = phase_ == Phase::kPreparing || phase_ == Phase::kAutoRestart;
  if (event.ended && starts && needs_node0()) {
    const bool here = phase_ == Phase::kAutoRestart && !start_.elsewhere;
    return on(event::JobFailed{.known = true, .here = here}, now);
  }
  if (!linked_ && waits_for_verdict()) settle_verdict(now);
}

void Machine::on(const event::JobFailed& event, TimeMs now) {
  switch (phase_) {
    case Phase::kPreparing:  // before the grant, this node takes no part in the failing start
      if (start_granted()) return fail_elsewhere(event, now);
      [[fallthrough]];
    case Phase::kAutoRestart:
      if (begun_ && event.known && !event.again) fail_elsewhere(event, now);
      return;
    case Phase::kStarting:
    case Phase::kRunning:
    case Phase::kCheckpointing:
      return fail_elsewhere(event, now);
    case Phase::kStopping:
      if (doubts_save()) return fail_before_save(event, now);
      [[fallthrough]];
    case Phase::kOnFailure:
      return follow_verdict(event, now);
    case Phase::kHold:
    case Phase::kPostStop:
    case Phase::kExited:
      return;
  }
}

// Fails the job for bad input (exit code 125): nodes whose plans or options do not fit.
void Machine::on(const event::Unfit& /*event*/, TimeMs now) {
  const bool up = phase_ == Phase::kStarting || phase_ == Phase::kRunning;
  if (!begun_ || (phase_ != Phase::kPreparing && !up)) return;
  start_.verdict_known = true;
  fail({.ends = {}, .exit_code = exit_code::kOwnFailure}, now);
}

void Machine::fail_elsewhere(const event::JobFailed& event, TimeMs now) {
  // The first failure is this node's. The node knows it only if a pending restart is the answer to
  // it; then that restart is cancelled. Otherwise no task has failed here.
  if (event.known && event.here) {
    if (phase_ != Phase::kAutoRestart || start_.outcome != Outcome::kFailed || start_.elsewhere)
      return;
    take_verdict(event);
    return enter_stopping(now);
  }
  if (phase_ == Phase::kAutoRestart) leave_failed_start();
  blame_elsewhere(event, now);
  enter_stopping(now);
}

void Machine::blame_elsewhere(const event::JobFailed& event, TimeMs now) {
  start_.outcome = Outcome::kFailed;
  start_.has_cause = true;
  if (start_.began_at && !start_.well_ms) start_.well_ms = now - *start_.began_at;
  start_.cause = {.ends = {}, .exit_code = exit_code::kElsewhere, .at = now};
  start_.elsewhere = start_.began_elsewhere = true;
  start_.restartable = false;
  if (event.known) take_verdict(event);
}

// Turns the end by a checkpoint into a failure on another node. That node failed before it knew of
// the checkpoint, so it has saved nothing.
void Machine::fail_before_save(const event::JobFailed& event, TimeMs now) {
  if (event.known && event.here) return;
  blame_elsewhere(event, now);
  if (stop_.stage == Stage::kPreStop && start_.outcome == Outcome::kFailed)
    return notify_tasks(now);
  if (event.known) return follow_in_wait(now);
  if (!waits_for_verdict()) return;
  cancel_timer(Timer::kVerdict);
  set_timer(Timer::kVerdict, now + kVerdictMs);
}

void Machine::on(const event::SaveKnown& /*event*/, TimeMs now) {
  if (start_.outcome != Outcome::kRescheduled) return;
  start_.save_known = true;
  if (waits_for_verdict()) leave_verdict(now);
}

void Machine::take_verdict(const event::JobFailed& event) {
  start_.verdict_known = true;
  start_.restartable = event.again && (start_.restartable || !event.here);
  if (event.here) return;
  // A failure of another node was the first, so one on this node was a consequence of it.
  leave_diagnosis();
  if (event.again) count_anew(event.ran_ms >= 0 ? event.ran_ms : ran_ms(start_.cause.at));
  start_.elsewhere = true;
  start_.cause.ends.clear();
  start_.cause.exit_code = exit_code::kElsewhere;
  if (event.stopped) start_.outcome = Outcome::kStoppedElsewhere;
  if (event.expired) start_.outcome = Outcome::kExpired;
  actions_.emplace_back(action::Report{});
}

// Applies a verdict during the stop sequence. The first verdict counts. A later one can only forbid
// the restart (enter_next).
void Machine::follow_verdict(const event::JobFailed& event, TimeMs now) {
  if (!event.known || start_.outcome != Outcome::kFailed || asked_.signal != 0 || hold_over_)
    return;
  // Node 0 names this node, but no failure was found here.
  if (event.here && start_.elsewhere) return;
  if (start_.verdict_known) {
    start_.restartable = start_.restartable && event.again;
    return;
  }
  take_verdict(event);
  follow_in_wait(now);
}

// Ends the wait for the verdict, because the first failure is known. If another node was stopped,
// waits at most kStopOfAllMs more for this node's own stop request.
void Machine::follow_in_wait(TimeMs now) {
  if (!waits_for_verdict()) return;
  if (!awaits_stop()) return settle_verdict(now);
  cancel_timer(Timer::kVerdict);
  set_timer(Timer::kVerdict, now + kStopOfAllMs);
}

// Handles that another node starts again with a new list of nodes. A failure of this node in the
// present start is then a consequence.
void Machine::follow_others(TimeMs now) {
  if (start_.outcome == Outcome::kRescheduled)
    return on(event::SaveKnown{}, now);  // no node failed before the checkpoint
  const bool open =
      phase_ == Phase::kStopping && start_.outcome == Outcome::kFailed && !start_.verdict_known;
  if (!open || asked_.signal != 0 || hold_over_) return;
  leave_diagnosis();
  start_.outcome = Outcome::kReplanned;
  start_.has_cause = start_.elsewhere = false;
  start_.cause = {};
  start_.verdict_known = true;
  actions_.emplace_back(action::Report{});
  if (waits_for_verdict()) leave_verdict(now);
}

bool Machine::awaits_verdict() const {
  return phase_ == Phase::kStopping && stop_.stage <= Stage::kVerdict &&
         start_.outcome == Outcome::kFailed && linked_ && !start_.verdict_known &&
         asked_.signal == 0 && !hold_over_;
}

void Machine::tasks_gone(TimeMs now) {
  cancel_timer(Timer::kNotify);
  cancel_timer(Timer::kKill);
  cancel_timer(Timer::kEscalate);
  cancel_timer(Timer::kGiveUp);
  const bool others = awaits_verdict() || awaits_stop() || doubts_save();
  if (!others && !seeks_first()) return leave_without_verdict(now);
  stop_.stage = Stage::kVerdict;
  stop_.verdict_since = now;
  const TimeMs here = std::max(now, start_.cause.at + kDiagnosisMs);
  const TimeMs elsewhere = now + (awaits_stop() ? kStopOfAllMs : kVerdictMs);
  set_timer(Timer::kVerdict, others ? elsewhere : here);
}

// Ends the wait for the verdict if no reason for it is left.
void Machine::settle_verdict(TimeMs now) {
  const bool waits = awaits_verdict() || awaits_stop() || doubts_save() || seeks_first();
  if (!waits) leave_verdict(now);
}

// Ends the wait for the verdict. Its duration does not shorten the rest of the stop, because no
// stop request came during the wait.
void Machine::leave_verdict(TimeMs now) {
  cancel_timer(Timer::kVerdict);
  const TimeMs waited = now - stop_.verdict_since;
  stop_.budget.sweep_kill_at += waited;
  stop_.budget.post_term_at += waited;
  stop_.budget.post_kill_at += waited;
  leave_without_verdict(now);
}

void Machine::leave_without_verdict(TimeMs now) {
  if (!std::exchange(start_.verdict_known, true) && start_.elsewhere)
    actions_.emplace_back(action::Report{});
  enter_sweep(now);
}

}  // namespace lifecycle
