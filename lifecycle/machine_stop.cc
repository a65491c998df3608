// The stop sequence of a Machine: TERM, KILL, leftovers, the debug window, post-stop tasks, the
// exit code.

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/exit_codes.h"
#include "lifecycle/machine.h"

namespace lifecycle {

namespace {

// True for a kind of task that has nothing to save and can be killed at any time.
bool prepares(TaskKind kind) { return kind == TaskKind::kData || kind == TaskKind::kResolve; }

bool is_leftover(TaskKind kind) {
  return kind == TaskKind::kService || kind == TaskKind::kPostStop;
}

}  // namespace

void Machine::fail(Cause cause, TimeMs now, TimeMs silent_ms) {
  if (start_.began_at) start_.well_ms = std::max<TimeMs>(0, now - *start_.began_at - silent_ms);
  count_anew(ran_ms(now));
  if (cause.exit_code == 0) cause.exit_code = exit_code::kOwnFailure;
  cause.at = now;
  blame(std::move(cause));
  enter_stopping(now);
}

void Machine::blame(Cause cause) {
  start_.cause = std::move(cause);
  start_.has_cause = true;
  start_.elsewhere = false;
  start_.outcome = Outcome::kFailed;
  start_.restartable = phase_ != Phase::kPreparing && !start_.cause.ends.empty() &&
                       is_restartable(start_.cause.ends.front());
  const bool looks = policy_.restart_verdict != base::RestartVerdict::kOff && would_restart();
  start_.diagnosing = looks || start_.cause.ends.size() > 1;
  actions_.emplace_back(action::Report{});
}

// Adds to the cause the main tasks that had failed before they got the stop signal. Their ends are
// seen only now.
void Machine::add_ends(const std::vector<event::TaskEnd>& ends, TimeMs now) {
  const bool open = start_.outcome == Outcome::kFailed && !start_.verdict_known &&
                    start_.mains_started && !start_.save_ends;
  if (!open || asked_.signal != 0 || hold_over_) return;
  Cause cause = start_.cause;
  for (const event::TaskEnd& end : ends) {
    const Task& task = tasks_[end.task.index];
    const bool known =
        std::ranges::find(cause.ends, end.task, &event::TaskEnd::task) != cause.ends.end();
    if (!decides(task) || known || !end.unasked || end.exit_status.ok()) continue;
    if (start_.elsewhere && cause.ends.empty()) {
      cause = {.ends = {}, .exit_code = end.exit_status.exit_code(), .at = now};
    }
    cause.ends.push_back(end);
  }
  if (cause.ends.size() == start_.cause.ends.size()) return;
  if (start_.elsewhere) count_anew(ran_ms(now));
  blame(std::move(cause));
}

TimeMs Machine::ran_ms(TimeMs now) const {
  return start_.well_ms.value_or(start_.began_at ? now - *start_.began_at : -1);
}

// Resets the count of failures after a start that ran well for Policy::restart_reset_ms. Earlier
// failures are then unrelated.
void Machine::count_anew(TimeMs ran_ms) {
  const TimeMs enough = policy_.restart_reset_ms;
  if (enough <= 0 || ran_ms < enough || failures_ == 0) return;
  failures_ = 0;
  start_.counts_anew = true;
}

bool Machine::uses_diagnosis() const {
  // Node 0 decides for several nodes, by the reports that it had until then.
  const bool decided = start_.elsewhere || (policy_.rendezvous_ms > 0 && start_.verdict_known);
  return start_.diagnosing && !decided && would_restart();
}

void Machine::leave_diagnosis() {
  start_.diagnosing = false;
  cancel_timer(Timer::kDiagnosis);
}

bool Machine::seeks_first() const {
  return phase_ == Phase::kStopping && stop_.stage <= Stage::kVerdict && start_.diagnosing &&
         !start_.elsewhere && start_.cause.ends.size() > 1 && asked_.signal == 0 && !hold_over_;
}

// Makes `first` the first failure, as the output shows. It is one of several failed tasks, or a
// rank that trainit's signal ended while it was failing.
void Machine::take_first(TaskRef first, TimeMs now) {
  if (start_.elsewhere && awaits_verdict()) {
    // Without a main process of this start, the rank belongs to an earlier one.
    if (start_.save_ends || !start_.mains_started) return;
    const Task* task = find(first);
    if (task == nullptr || !decides(*task) || !in_job(*task) || task->live() || task->abandoned ||
        task->exit_status.ok())
      return;
    const bool ours = task->exit_status.how == ExitStatus::How::kSignaled &&
                      (task->sent & signal_bit(task->exit_status.value)) != 0;
    count_anew(ran_ms(now));
    return blame({.ends = {{first, task->exit_status}},
                  .exit_code = ours ? exit_code::kFailure : task->exit_status.exit_code(),
                  .at = now});
  }
  const auto found = std::ranges::find(start_.cause.ends, first, &event::TaskEnd::task);
  if (!seeks_first() || found == start_.cause.ends.begin() || found == start_.cause.ends.end())
    return;
  std::rotate(start_.cause.ends.begin(), found, found + 1);
  start_.cause.exit_code = start_.cause.ends.front().exit_status.exit_code();
  start_.restartable = start_.restartable && is_restartable(start_.cause.ends.front());
  actions_.emplace_back(action::Report{});
}

void Machine::on(const event::Diagnosed& event, TimeMs now) {
  if (event.restarts != restarts_) return;
  if (event.first) return take_first(*event.first, now);
  if (!start_.diagnosing) return;
  if (event.hopeless && uses_diagnosis()) start_.restartable = false;
  leave_diagnosis();
  if (waits_for_verdict()) settle_verdict(now);
  if (phase_ == Phase::kOnFailure) settle_on_failure(now);
}

// --- Main tasks, hooks, data, resolver: TERM, KILL ---

void Machine::enter_stopping(TimeMs now) {
  const bool done = start_.outcome == Outcome::kSucceeded || start_.outcome == Outcome::kFailed;
  phase_ = Phase::kStopping;
  stop_ = {.stage = Stage::kPreStop, .budget = make_budget(policy_, hooks(), now)};
  if (lost_peers() && waits_for(TaskKind::kMain)) stop_.kill_by = now + policy_.failure_grace_ms;
  cancel_timer(Timer::kResolve);
  cancel_timer(Timer::kRendezvous);
  cancel_timer(Timer::kCheckpoint);
  cancel_timer(Timer::kDiagnosis);
  cancel_timer(Timer::kRestart);
  restart_at_ = 0;
  for (Task& task : tasks_) {
    if (is_leftover(task.kind) || task.kind == TaskKind::kMain) continue;
    if (!task.live() || task.abandoned) continue;
    signal(task, prepares(task.kind) ? SIGKILL : SIGTERM);
  }
  // A running job has time to prepare for the stop. A failed job has no use for that time.
  if (done) return notify_tasks(now);
  settle_pre_stop(now);
}

void Machine::settle_pre_stop(TimeMs now) {
  if (!waits_for(TaskKind::kMain) || now >= stop_.budget.notify_at) return notify_tasks(now);
  const bool hook = waits_for(TaskKind::kPreStop) || start_next(TaskKind::kPreStop);
  if (!hook && now >= stop_.budget.drained_at) return notify_tasks(now);
  set_timer(Timer::kNotify, hook ? stop_.budget.notify_at : stop_.budget.drained_at);
}

void Machine::notify_tasks(TimeMs now) {
  stop_.stage = Stage::kTerm;
  cancel_timer(Timer::kNotify);
  stop_.notified_at = now;
  const bool stopped = start_.outcome != Outcome::kFailed && start_.outcome != Outcome::kSucceeded;
  bool patient = false;
  for (Task& task : tasks_) {
    if (is_leftover(task.kind) || !task.live() || task.abandoned) continue;
    patient = patient || !prepares(task.kind);
    if (task.kind == TaskKind::kPreStop) signal(task, SIGTERM);
    if (task.kind != TaskKind::kMain) continue;
    signal(task, stopped && asked_.signal != 0 ? asked_.sent : SIGTERM);
    pass_on(task);
  }
  if (!waits_for_tasks()) return tasks_gone(now);
  if (!patient) return kill_tasks(now);
  await_kill(now);
}

void Machine::await_kill(TimeMs now) {
  set_timer(Timer::kKill, std::max(now, budget().kill_at));
  // A step may be in time only now.
  if (!timers_.at(static_cast<std::size_t>(Timer::kEscalate)).armed) await_escalation(now);
}

// True if a rank that failed has left its peers, most of which cannot save any more. While the
// first failure is not known, the cause may be a stop of all nodes, for which the ranks save.
bool Machine::lost_peers() const {
  const bool known = start_.verdict_known || !(start_.elsewhere || linked_);
  const std::vector<event::TaskEnd>& ends = start_.cause.ends;
  const bool rank_failed =
      start_.elsewhere ||
      (!ends.empty() && tasks_[ends.front().task.index].kind == TaskKind::kMain);
  return start_.outcome == Outcome::kFailed && known && rank_failed && asked_.signal == 0 &&
         policy_.failure_grace_ms > 0;
}

// Sets or cancels the earlier KILL when lost_peers() changes during the TERM phase.
void Machine::settle_grace(TimeMs now) {
  if (phase_ != Phase::kStopping || stop_.stage != Stage::kTerm) return;
  const bool lost = lost_peers();
  if (lost == stop_.kill_by.has_value()) return;
  if (!lost) {
    stop_.kill_by.reset();
  } else if (waits_for(TaskKind::kMain)) {
    stop_.kill_by = now + policy_.failure_grace_ms;
  } else {
    return;  // hooks keep their time
  }
  await_kill(now);
}

bool Machine::cuts_grace() const {
  return phase_ == Phase::kStopping && stop_.stage == Stage::kTerm && stop_.kill_by &&
         *stop_.kill_by < stop_.budget.kill_at && waits_for(TaskKind::kMain);
}

// Moves the KILL away from a task that writes, at most to the end of the grace.
void Machine::on(const event::TaskWrites& event, TimeMs now) {
  if (!cuts_grace()) return;
  stop_.kill_by = event.unknown ? stop_.budget.kill_at : now + policy_.failure_grace_ms;
  await_kill(now);
}

// Sends a main task each stop signal that it has not received, whatever caused the stop before.
void Machine::pass_on(Task& task) {
  if (task.kind != TaskKind::kMain || !task.live() || task.abandoned) return;
  for (int number = 1; number <= kLastSignal; ++number) {
    if ((asked_.all & ~task.sent & signal_bit(number)) != 0) signal(task, number);
  }
}

void Machine::await_escalation(TimeMs now) {
  if (stop_.escalated == policy_.escalation.size() || !waits_for(TaskKind::kMain)) return;
  const EscalationStep& next = policy_.escalation[stop_.escalated];
  // If this process was late (frozen, suspended), an overdue step runs at once, but in its order.
  if (in_time(next, budget(), stop_.notified_at)) {
    set_timer(Timer::kEscalate, std::max(now, stop_.notified_at + next.after_ms));
  }
}

// Returns false for bad input, which a restart does not change: a failed hook, or a command that is
// missing or not executable.
bool Machine::is_restartable(const event::TaskEnd& first) const {
  const bool bad = first.exit_status.how == ExitStatus::How::kNotStarted &&
                   first.exit_status.value > exit_code::kOwnFailure;
  return tasks_[first.task.index].kind == TaskKind::kMain && !bad;
}

void Machine::escalate(TimeMs now) {
  if (!waits_for(TaskKind::kMain)) return;  // hooks that still run keep their time
  const int number = policy_.escalation[stop_.escalated].signal;
  if (number == SIGKILL) return kill_tasks(now);
  ++stop_.escalated;
  for (Task& task : tasks_) {
    if (task.kind != TaskKind::kMain || !task.live() || task.abandoned) continue;
    signal(task, number);
  }
  await_escalation(now);
}

void Machine::kill_tasks(TimeMs now) {
  stop_.stage = Stage::kKill;
  cancel_timer(Timer::kNotify);
  cancel_timer(Timer::kKill);
  cancel_timer(Timer::kEscalate);
  for (Task& task : tasks_) {
    if (is_leftover(task.kind) || !task.live() || task.abandoned) continue;
    if (task.stop_signal != SIGKILL) signal(task, SIGKILL);
  }
  set_timer(Timer::kGiveUp, now + stop_.budget.reap_ms);
}

// --- Leftovers: adopted processes, and finally the services ---

Machine::Next Machine::choose_next() const {
  const bool again = start_.outcome == Outcome::kFailed || start_.outcome == Outcome::kReplanned;
  if (!again || asked_.signal != 0 || hold_over_) return Next::kEnd;
  // A main task or a copy that cannot be killed must not run in parallel with its next run.
  // A pre-start hook that cannot be killed cannot run again, and no start runs without it.
  const bool stuck = std::any_of(tasks_.begin(), tasks_.end(), [](const Task& task) {
    const bool counts = task.kind == TaskKind::kMain || task.kind == TaskKind::kData ||
                        task.kind == TaskKind::kPreStart;
    return counts && task.live();
  });
  if (start_.outcome == Outcome::kReplanned) return stuck ? Next::kEnd : Next::kRestart;
  if (would_restart() && !stuck) return Next::kRestart;
  return policy_.hold_ms > 0 ? Next::kHold : Next::kEnd;
}

// A failure before this start was granted is bad input or missing data. A later failure may be a
// consequence of another node's failure. NodeFailure::restarts says whether a restart answers the
// first one.
bool Machine::may_restart() const {
  const bool prepared =
      start_.outcome != Outcome::kFailed || start_.mains_started || start_.nodes_ready;
  const bool meets = !node0_ended_ || !needs_node0();
  return prepared && meets && std::cmp_less(failures_, policy_.max_restarts);
}

// Returns whether a restart would answer the failure. Only the node that failed applies its
// Policy::no_restart_on.
bool Machine::would_restart() const {
  return start_.outcome == Outcome::kFailed && start_.restartable && may_restart() &&
         (start_.elsewhere || restarts_on(policy_, start_.cause.exit_code));
}

// True during the stop for another node's failure if all nodes start again. A stop request then has
// the same effect as in Phase::kAutoRestart. The failed node keeps its own exit code until it is in
// that phase.
bool Machine::is_on_way_to_restart() const {
  const bool down = phase_ == Phase::kStopping || phase_ == Phase::kOnFailure;
  return down && start_.elsewhere && start_.verdict_known && !hold_over_ && would_restart();
}

void Machine::enter_sweep(TimeMs now) {
  stop_.next = choose_next();
  if (asked_.expedited) return sweep_kill(now);
  stop_.stage = Stage::kSweep;
  actions_.emplace_back(action::SweepAdopted{SIGTERM});
  if (stop_.next == Next::kEnd) stop_services();
  // Leftover processes of a killed copy were killed with it, or are blocked in the kernel.
  const bool copied = std::any_of(tasks_.begin(), tasks_.end(), [](const Task& task) {
    return task.kind == TaskKind::kData && task.stop_signal != 0;
  });
  // The restart does not wait for the whole grace. The ranks may have ended before the verdict.
  const bool restarts = stop_.next == Next::kRestart;
  if (restarts && lost_peers() && !stop_.kill_by) stop_.kill_by = now + policy_.failure_grace_ms;
  const TimeMs kill_at = budget().sweep_kill_at;
  const TimeMs until = copied ? now + kReapMs : kill_at;
  set_timer(Timer::kSweep, std::max(now, std::min(until, kill_at)));
}

void Machine::stop_services() {
  for (Task& task : tasks_) {
    if (task.kind == TaskKind::kService && task.live() && task.stop_signal == 0) {
      signal(task, SIGTERM);
    }
  }
}

void Machine::sweep_kill(TimeMs now) {
  stop_.stage = Stage::kSweepKill;
  cancel_timer(Timer::kSweep);
  actions_.emplace_back(action::SweepAdopted{SIGKILL});
  for (Task& task : tasks_) {
    if (stop_.next == Next::kEnd && task.kind == TaskKind::kService && task.live()) {
      signal(task, SIGKILL);
    }
  }
  set_timer(Timer::kGiveUp, now + stop_.budget.reap_ms);
}

void Machine::leave_sweep(TimeMs now) {
  cancel_timer(Timer::kSweep);
  cancel_timer(Timer::kGiveUp);
  // Processes adopted from now on belong to a debug session, the next start or a hook.
  actions_.emplace_back(action::SweepAdopted{0});
  // On-failure hooks run once for each failure, and not if a stop was requested.
  if (start_.outcome == Outcome::kFailed && asked_.signal == 0 && !hold_over_) {
    phase_ = Phase::kOnFailure;
    return settle_on_failure(now);
  }
  enter_next(now);
}

void Machine::settle_on_failure(TimeMs now) {
  if (waits_for(TaskKind::kOnFailure) || start_next(TaskKind::kOnFailure)) return;
  enter_next(now);
}

void Machine::enter_next(TimeMs now) {
  if (stop_.next == Next::kRestart) {
    if (start_.diagnosing) return await_diagnosis(now);
    stop_.next = choose_next();  // a verdict may have excluded the restart meanwhile
    if (stop_.next == Next::kEnd) return enter_stopping(now);
  }
  switch (stop_.next) {
    case Next::kRestart:
      return await_restart(now);
    case Next::kHold:
      return enter_hold(now);
    case Next::kEnd:
      return enter_post_stop(now);
  }
}

void Machine::await_diagnosis(TimeMs now) {
  if (timers_.at(static_cast<std::size_t>(Timer::kDiagnosis)).armed) return;
  set_timer(Timer::kDiagnosis, std::max(now, start_.cause.at + kDiagnosisMs));
}

void Machine::await_restart(TimeMs now) {
  if (expired_) return end_as(Outcome::kExpired, now);  // the services end as well
  phase_ = Phase::kAutoRestart;
  const TimeMs delay = start_.outcome == Outcome::kFailed ? restart_delay(policy_, failures_++) : 0;
  restart_at_ = now + delay;
  set_timer(Timer::kRestart, restart_at_);
}

// --- The debug window ---

void Machine::enter_hold(TimeMs now) {
  phase_ = Phase::kHold;
  cancel_timer(Timer::kExpire);  // the limit is for the job, not for its leftovers
  expires_at_ = 0;
  hold_until_ = now + policy_.hold_ms;
  set_timer(Timer::kHold, hold_until_);
}

void Machine::leave_hold(TimeMs now) {
  cancel_timer(Timer::kHold);
  hold_until_ = 0;
  hold_over_ = true;
  enter_stopping(now);
}

// --- Post-stop tasks and the exit ---

void Machine::enter_post_stop(TimeMs now) {
  final_code_ = exit_code();
  phase_ = Phase::kPostStop;
  stop_.stage = Stage::kPost;
  if (asked_.signal == 0) allow_post_stop(policy_, now, &stop_.budget);
  const bool none = count(TaskKind::kPostStop) == 0;
  if (!begun_ || asked_.expedited || none || now >= stop_.budget.post_term_at) return exit();
  set_timer(Timer::kKill, stop_.budget.post_term_at);
  next_post_stop();
}

void Machine::next_post_stop() {
  if (stop_.stage != Stage::kPost || !start_next(TaskKind::kPostStop)) exit();
}

// Ends post-stop tasks that have exceeded their time: TERM first, KILL the next time.
void Machine::end_post_stop(TimeMs now) {
  const bool kill = asked_.expedited || stop_.stage == Stage::kPostTerm;
  stop_.stage = kill ? Stage::kPostKill : Stage::kPostTerm;
  for (Task& task : tasks_) {
    if (task.kind != TaskKind::kPostStop || !task.live() || task.abandoned) continue;
    signal(task, kill ? SIGKILL : SIGTERM);
  }
  if (kill) {
    cancel_timer(Timer::kKill);
    set_timer(Timer::kGiveUp, now + stop_.budget.reap_ms);
  } else {
    set_timer(Timer::kKill, std::max(now, stop_.budget.post_kill_at));
  }
}

void Machine::exit() {
  for (std::size_t i = 0; i < kTimerCount; ++i) cancel_timer(static_cast<Timer>(i));
  phase_ = Phase::kExited;
  actions_.emplace_back(action::Exit{exit_code()});
}

// --- Changes to a stop under way ---

// Abandons the tasks that SIGKILL did not end (processes in D state), and continues without them.
void Machine::give_up(TimeMs now) {
  const bool sweeping = phase_ == Phase::kStopping && stop_.stage == Stage::kSweepKill;
  for (Task& task : tasks_) {
    const bool meant = sweeping ? task.kind == TaskKind::kService && stop_.next == Next::kEnd
                       : phase_ == Phase::kPostStop ? task.kind == TaskKind::kPostStop
                                                    : !is_leftover(task.kind);
    if (meant && task.live()) task.abandoned = true;
  }
  if (phase_ == Phase::kPostStop) return exit();
  if (sweeping) return leave_sweep(now);
  tasks_gone(now);
}

void Machine::on(const event::Unreachable& event, TimeMs now) {
  Task* task = find(event.task);
  const bool down = phase_ == Phase::kStopping || phase_ == Phase::kPostStop;
  if (!down || task == nullptr || !task->live() || task->stop_signal == 0 || task->abandoned) {
    return;
  }
  task->abandoned = true;
  if (phase_ == Phase::kPostStop) {
    if (!waits_for(TaskKind::kPostStop)) next_post_stop();
  } else if (stop_.stage == Stage::kPreStop) {
    settle_pre_stop(now);
  } else if (stop_.stage < Stage::kVerdict && !waits_for_tasks()) {
    tasks_gone(now);
  }
}

// Applies the first stop request while the job is already ending for another reason.
void Machine::stop_sooner(TimeMs now) {
  const Budget fresh = make_budget(policy_, hooks(), now);
  if (phase_ == Phase::kPostStop) {
    stop_.budget.post_term_at = std::min(stop_.budget.post_term_at, fresh.post_term_at);
    stop_.budget.post_kill_at = std::min(stop_.budget.post_kill_at, fresh.post_kill_at);
    if (stop_.stage == Stage::kPost)
      set_timer(Timer::kKill, std::max(now, stop_.budget.post_term_at));
    if (stop_.stage == Stage::kPostTerm)
      set_timer(Timer::kKill, std::max(now, stop_.budget.post_kill_at));
    return;
  }
  if (stop_.stage < Stage::kSweep || stop_.next == Next::kEnd) return;
  // A restart or hold is no longer possible. The services end as well, and have the whole grace
  // period.
  stop_.budget = fresh;
  stop_.kill_by.reset();
  stop_.next = Next::kEnd;
  stop_.stage = Stage::kSweep;
  cancel_timer(Timer::kGiveUp);
  stop_services();
  set_timer(Timer::kSweep, stop_.budget.sweep_kill_at);
}

// Finishes the stop with KILL and without further hooks, because a user asked twice.
void Machine::expedite(TimeMs now) {
  if (asked_.expedited) return;
  asked_.expedited = true;
  switch (stop_.stage) {
    case Stage::kPreStop:
    case Stage::kTerm:
      return kill_tasks(now);
    case Stage::kSweep:
      return sweep_kill(now);
    case Stage::kPost:
    case Stage::kPostTerm:
      return end_post_stop(now);
    case Stage::kKill:
    case Stage::kVerdict:  // a stop request ends this wait
    case Stage::kSweepKill:
    case Stage::kPostKill:
      return;  // KILL was sent: the stop cannot be faster
  }
}

// --- The exit code ---

int Machine::exit_code() const {
  // A main task that outlived its SIGKILL may still end, and its exit code must not change this
  // one.
  if (final_code_ >= 0) return final_code_;
  switch (start_.outcome) {
    case Outcome::kFailed:
      return start_.cause.exit_code;
    case Outcome::kStopped:
      return stopped_code();
    case Outcome::kExpired:
      return exit_code::kExpired;
    case Outcome::kRescheduled:
    // A task is blocked in the kernel, so the job cannot start again here.
    case Outcome::kReplanned:
      return exit_code::kReschedule;
    case Outcome::kStoppedElsewhere:
      return exit_code::kElsewhere;
    case Outcome::kSucceeded:
    case Outcome::kOpen:
      return 0;
  }
  return 0;
}

// True if a stop signal other than KILL ended the task. A task that needs KILL did not stop as
// asked.
bool Machine::by_our_signal(const Task& task) const {
  if (task.exit_status.how != ExitStatus::How::kSignaled) return false;
  const int number = task.exit_status.value;
  return number == asked_.sent || (task.sent & ~signal_bit(SIGKILL) & signal_bit(number)) != 0;
}

// Returns the exit code of a stopped job. A single command's own code is the job's. If the job has
// several main tasks, on one or many nodes, no task's code is the job's, and 0 would look like
// success.
int Machine::stopped_code() const {
  const int by_signal = exit_code::kSignalBase + asked_.signal;
  if (!start_.mains_started) return by_signal;
  const bool served = std::all_of(tasks_.begin(), tasks_.end(), [this](const Task& task) {
    if (task.kind != TaskKind::kMain || !in_job(task)) return true;
    return !task.live() && (task.exit_status.ok() || by_our_signal(task));
  });
  const std::uint32_t mains = count(TaskKind::kMain);
  if (served && (policy_.success == SuccessPolicy::kServe || mains == 0)) return 0;
  if (mains != 1 || part_of_job_) return by_signal;
  const Task* single = main_task(0);
  return single->live() ? exit_code::kSignalBase + SIGKILL : single->exit_status.exit_code();
}

}  // namespace lifecycle
