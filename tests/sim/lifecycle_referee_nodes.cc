// The Referee of a job of several nodes: what the others say, what it changes here, and how long it
// is waited for.

#include <algorithm>

#include "tests/sim/lifecycle_referee.h"

namespace sim {

using namespace lifecycle;

namespace {

constexpr int kCodeElsewhere = 76;
constexpr TimeMs kLongestWaitMs = 6000;  // for which failure was the first
constexpr TimeMs kStopOfAllMs = 1000;    // for a stop here, after one elsewhere

}  // namespace

// --- What the events mean ---

void Referee::believe_nodes(const Event& event, TimeMs now) {
  if (const auto* linked = std::get_if<event::Linked>(&event)) {
    quiet_ = linked->up || !pending(Timer::kVerdict).has_value() || stop_due() || seeks_first();
    linked_ = linked->up;
  } else if (const auto* ready = std::get_if<event::NodesReady>(&event)) {
    quiet_ = !nodes_due();
    if (quiet_) return;
    nodes_ready_ = true;
    restarts_ = ready->restarts;
  } else if (const auto* failed = std::get_if<event::JobFailed>(&event)) {
    believe_job_failed(*failed, now);
  } else if (std::holds_alternative<event::SaveKnown>(event)) {
    believe_save_known();
  } else if (std::holds_alternative<event::Unfit>(event)) {
    const bool runs = phase_ == Phase::kStarting || phase_ == Phase::kRunning;
    quiet_ = !begun_ || (phase_ != Phase::kPreparing && !runs);
    if (quiet_) return;
    fail(125, {});
    told_ = true;
  }
}

void Referee::believe_job_failed(const event::JobFailed& event, TimeMs now) {
  const bool runs = phase_ == Phase::kStarting || phase_ == Phase::kRunning ||
                    phase_ == Phase::kCheckpointing || start_granted();
  const bool to_be_run = !runs && (phase_ == Phase::kPreparing || phase_ == Phase::kAutoRestart);
  const bool down = phase_ == Phase::kStopping || phase_ == Phase::kOnFailure;
  const bool here = event.known && event.here;
  const bool own = verdict_ == Verdict::kFailed && !elsewhere_;
  quiet_ = true;
  if (runs || to_be_run) {
    if (here && !(own && awaits_restart())) return;
    if (to_be_run && (!begun_ || !event.known || event.again)) return;
    quiet_ = false;
    if (awaits_restart()) begin_down(now);
    if (!here) return fail_elsewhere(event);
    call_off_restart();
    return hear_first(event);
  }
  if (phase_ == Phase::kStopping && save_in_doubt() && !here) {
    quiet_ = false;
    return fail_elsewhere(event);
  }
  const bool heard = down && event.known && verdict_ == Verdict::kFailed && stop_signal_ == 0;
  if (!heard || held_ || (here && !own)) return;
  if (told_) {
    restartable_ = restartable_ && event.again;
    return;
  }
  quiet_ = false;
  hear_first(event);
}

// Nobody had failed before the checkpoint, so that it counts.
void Referee::believe_save_known() {
  quiet_ = !pending(Timer::kVerdict).has_value() || verdict_ != Verdict::kRescheduled;
  save_known_ = save_known_ || verdict_ == Verdict::kRescheduled;
}

void Referee::call_off_restart() {
  mains_started_ = false;
  pausing_ = false;
}

void Referee::fail_elsewhere(const event::JobFailed& event) {
  saving_ = false;
  end_as(Verdict::kFailed);
  failure_code_ = kCodeElsewhere;
  failed_ = {};
  restartable_ = false;
  elsewhere_ = began_elsewhere_ = true;
  if (began_at_ && well_ms_ < 0) well_ms_ = ran_ms();
  told_ = stop_waited_out_ = false;
  if (event.known) hear_first(event);
}

void Referee::hear_first(const event::JobFailed& event) {
  told_ = true;
  if (event.here) {
    restartable_ = restartable_ && event.again;
    return;
  }
  elsewhere_ = true;
  diagnosing_ = false;  // node 0 has decided
  if (event.again) count_anew(event.ran_ms >= 0 ? event.ran_ms : well_ms_);
  failure_code_ = kCodeElsewhere;
  failed_ = {};
  restartable_ = event.again;
  if (event.stopped) verdict_ = Verdict::kStoppedElsewhere;
  if (event.expired) verdict_ = Verdict::kExpired;
  ++reports_due_;
}

// What has failed here, and was not told to be the first, was a consequence.
void Referee::believe_changed_elsewhere() {
  const bool runs = phase_ == Phase::kStarting || phase_ == Phase::kRunning || start_granted();
  const bool open = phase_ == Phase::kStopping && verdict_ == Verdict::kFailed && !told_;
  const bool changes = open && stop_signal_ == 0 && !held_;
  quiet_ = !runs && !changes;
  if (verdict_ == Verdict::kRescheduled) return believe_save_known();
  if (runs) count_anew(ran_ms());
  if (runs) end_as(Verdict::kReplanned);
  if (!changes) return;
  verdict_ = Verdict::kReplanned;
  told_ = true;
  elsewhere_ = false;
  diagnosing_ = false;
  failed_ = {};
  ++reports_due_;
}

void Referee::end_wait_for_verdict(TimeMs now) { waited_ += now - waits_since_; }

// With the tasks gone, a stop of this node is waited for, once.
bool Referee::stop_due() const {
  return verdict_ == Verdict::kStoppedElsewhere && stop_signal_ == 0 && !stop_waited_out_;
}

// What is known by now is what is reported.
void Referee::forgo_verdict() {
  if (verdict_ == Verdict::kFailed && elsewhere_ && !told_) ++reports_due_;
  told_ = true;
}

TimeMs Referee::waited_ms(TimeMs now) const {
  return waited_ + (pending(Timer::kVerdict).has_value() ? now - waits_since_ : 0);
}

// All but the other nodes is there, and they are to be.
bool Referee::nodes_due() const {
  return begun_ && verdict_ == Verdict::kOpen && ready_ && !live(TaskKind::kResolve) &&
         policy_.rendezvous_ms > 0 && !nodes_ready_;
}

// With the tasks gone, which failure was the first is waited for.
bool Referee::verdict_due() const {
  return verdict_ == Verdict::kFailed && linked_ && !told_ && stop_signal_ == 0 && !held_;
}

// With the tasks gone, whether a node had failed before the checkpoint is waited for.
bool Referee::save_in_doubt() const {
  return verdict_ == Verdict::kRescheduled && linked_ && !save_known_ && !told_ &&
         stop_signal_ == 0;
}

bool Referee::ends_here() const {
  const bool holds = verdict_ == Verdict::kFailed && policy_.hold_ms > 0 && !held_;
  return stop_signal_ != 0 || !(restart_due() || holds);
}

// --- What the actions may be ---

void Referee::check_rendezvous(TimeMs until, TimeMs now) {
  require(nodes_due(), "nodes are awaited that need not come");
  if (nodes_until_ == 0) nodes_until_ = now + policy_.rendezvous_ms;
  require(until == std::max(now, nodes_until_), "how long the nodes are awaited");
}

void Referee::check_wait_for_verdict(TimeMs until, TimeMs now) {
  const bool others = verdict_due() || stop_due() || save_in_doubt();
  require(others || seeks_first(), "a verdict is awaited that need not come");
  require(!foreground_live(true), "a verdict is awaited beside the job");
  require(!swept_, "a verdict is awaited after a sweep");
  const TimeMs here = std::max(now, failed_at_ + kLongestLookMs);
  const TimeMs elsewhere = now + (stop_due() ? kStopOfAllMs : kLongestWaitMs);
  require(until == (others ? elsewhere : here), "how long a verdict is awaited");
  waits_since_ = now;
}

void Referee::begin_sweep(TimeMs now) {
  require(!verdict_due() && !stop_due() && !save_in_doubt(), "a sweep before the verdict");
  require(!seeks_first() || sought_out_, "a sweep before the first of several is known");
  forgo_verdict();
  const bool second = swept_ && stop_signal_ == 0;
  if (second) {
    require(!closed_, "a second sweep for nothing");
    begin_down(now);
  }
  // The job's time was over on the way down: it ends instead of beginning anew.
  if (second && expired_ && restart_due()) {
    verdict_ = Verdict::kExpired;
    call_off_restart();
  }
  stuck_ = live(TaskKind::kMain) || live(TaskKind::kData) || live(TaskKind::kPreStart);
  nothing_left_ = false;  // to be said again
  closed_ = closed_ || ends_here();
  require(!second || closed_, "a second sweep for nothing");
}

// --- What the state must be ---

void Referee::check_nodes(const Machine& after) {
  if (exited_) return;
  require(after.failed_elsewhere() == elsewhere_, "whether the failure is another node's");
  require(after.awaits_nodes() == nodes_due(), "whether the nodes are awaited");
  require(pending(Timer::kRendezvous).has_value() == nodes_due(), "the timer of the nodes");
  require(!resolves_again_ || live(TaskKind::kResolve), "other nodes, and nobody looks");
  const bool waits = pending(Timer::kVerdict).has_value();
  require(after.awaits_verdict() == verdict_due(), "whether the verdict is awaited");
  const bool due = verdict_due() || stop_due() || save_in_doubt() || seeks_first();
  require(!waits || due, "a wait for nothing");
  require(!waits || after.phase() == Phase::kStopping, "a wait for the verdict elsewhere");
}

}  // namespace sim
