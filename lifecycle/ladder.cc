// The way down of a Machine: TERM, KILL, leftovers, the debug window, post-stop tasks, the code.

#include <algorithm>
#include <csignal>
#include <utility>

#include "lifecycle/machine.h"

namespace lifecycle {

namespace {

constexpr int kOwnFailure = 125;

bool is_leftover(TaskKind kind) {
  return kind == TaskKind::kService || kind == TaskKind::kPostStop;
}

}  // namespace

void Machine::fail(Cause cause, TimeMs now) {
  if (cause.exit_code == 0) cause.exit_code = kOwnFailure;
  cause.at = now;
  cause_ = std::move(cause);
  has_cause_ = true;
  outcome_ = Outcome::kFailed;
  restartable_ = phase_ != Phase::kPreparing;  // bad input stays bad
  actions_.emplace_back(action::Report{});
  enter_stopping(now);
}

// --- Main tasks, hooks, data, resolver: TERM, KILL, given up ---

void Machine::enter_stopping(TimeMs now) {
  phase_ = Phase::kStopping;
  budget_ = make_budget(policy_, has_post_stop(), now);
  cancel_timer(Timer::kResolve);
  bool patient = false;
  for (Task& task : tasks_) {
    if (is_leftover(task.kind) || !task.live() || task.abandoned) continue;
    if (task.kind == TaskKind::kResolve) {
      signal(task, SIGKILL);  // it has nothing to save
      continue;
    }
    const bool forward = task.kind == TaskKind::kMain && outcome_ == Outcome::kStopped;
    signal(task, forward ? stop_signal_ : SIGTERM);
    patient = true;
  }
  if (!waits_for_tasks()) return enter_sweep(now);
  if (!patient) return kill_tasks(now);
  stage_ = Stage::kTerm;
  set_timer(Timer::kKill, budget_.kill_at);
}

void Machine::kill_tasks(TimeMs now) {
  stage_ = Stage::kKill;
  cancel_timer(Timer::kKill);
  for (Task& task : tasks_) {
    if (is_leftover(task.kind) || !task.live() || task.abandoned) continue;
    if (task.stop_signal != SIGKILL) signal(task, SIGKILL);
  }
  set_timer(Timer::kGiveUp, now + budget_.reap_ms);
}

// --- Leftovers: adopted processes, and at the end of all the services ---

Machine::Next Machine::choose_next() const {
  if (outcome_ != Outcome::kFailed || stop_signal_ != 0 || hold_over_) return Next::kEnd;
  // Beside a main task that cannot be killed no second incarnation of it may run.
  const bool stuck = std::any_of(tasks_.begin(), tasks_.end(), [](const Task& task) {
    return task.kind == TaskKind::kMain && task.live();
  });
  if (restartable_ && restarts_ < policy_.max_restarts && !stuck) return Next::kRestart;
  return policy_.hold_ms > 0 ? Next::kHold : Next::kEnd;
}

void Machine::enter_sweep(TimeMs now) {
  cancel_timer(Timer::kKill);
  cancel_timer(Timer::kGiveUp);
  next_ = choose_next();
  if (hurried_) return sweep_kill(now);
  stage_ = Stage::kSweep;
  actions_.emplace_back(action::SweepAdopted{SIGTERM});
  if (next_ == Next::kEnd) stop_services();
  set_timer(Timer::kSweep, std::max(now, budget_.sweep_kill_at));
}

void Machine::stop_services() {
  for (Task& task : tasks_) {
    if (task.kind == TaskKind::kService && task.live() && task.stop_signal == 0) {
      signal(task, SIGTERM);
    }
  }
}

void Machine::sweep_kill(TimeMs now) {
  stage_ = Stage::kSweepKill;
  cancel_timer(Timer::kSweep);
  actions_.emplace_back(action::SweepAdopted{SIGKILL});
  for (Task& task : tasks_) {
    if (next_ == Next::kEnd && task.kind == TaskKind::kService && task.live()) {
      signal(task, SIGKILL);
    }
  }
  set_timer(Timer::kGiveUp, now + budget_.reap_ms);
}

void Machine::leave_sweep(TimeMs now) {
  cancel_timer(Timer::kSweep);
  cancel_timer(Timer::kGiveUp);
  // What is adopted from now on is a debug session's, the next incarnation's or a hook's.
  actions_.emplace_back(action::SweepAdopted{0});
  switch (next_) {
    case Next::kRestart:
      phase_ = Phase::kAutoRestart;
      return set_timer(Timer::kRestart, now + restart_delay(policy_, restarts_));
    case Next::kHold:
      return enter_hold(now);
    case Next::kEnd:
      return enter_post_stop(now);
  }
}

// --- The debug window ---

void Machine::enter_hold(TimeMs now) {
  phase_ = Phase::kHold;
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
  phase_ = Phase::kPostStop;
  stage_ = Stage::kPost;
  if (stop_signal_ == 0) allow_post_stop(policy_, now, &budget_);
  if (!begun_ || hurried_ || !has_post_stop() || now >= budget_.post_term_at) return exit();
  set_timer(Timer::kKill, budget_.post_term_at);
  next_post_stop();
}

void Machine::next_post_stop() {
  Task* task = first_idle(TaskKind::kPostStop);
  if (stage_ != Stage::kPost || task == nullptr) return exit();
  start(*task);
}

// Its time is up: TERM first, KILL the next time.
void Machine::end_post_stop(TimeMs now) {
  const bool kill = hurried_ || stage_ == Stage::kPostTerm;
  stage_ = kill ? Stage::kPostKill : Stage::kPostTerm;
  for (Task& task : tasks_) {
    if (task.kind == TaskKind::kPostStop && task.live()) signal(task, kill ? SIGKILL : SIGTERM);
  }
  if (kill) {
    cancel_timer(Timer::kKill);
    set_timer(Timer::kGiveUp, now + budget_.reap_ms);
  } else {
    set_timer(Timer::kKill, std::max(now, budget_.post_kill_at));
  }
}

void Machine::exit() {
  for (std::size_t i = 0; i < kTimerCount; ++i) cancel_timer(static_cast<Timer>(i));
  phase_ = Phase::kExited;
  actions_.emplace_back(action::Exit{exit_code()});
}

// --- What changes the course on the way ---

// SIGKILL did not end it: a process in D state. Go on without.
void Machine::give_up(TimeMs now) {
  const bool sweeping = phase_ == Phase::kStopping && stage_ == Stage::kSweepKill;
  for (Task& task : tasks_) {
    const bool meant = sweeping ? task.kind == TaskKind::kService && next_ == Next::kEnd
                       : phase_ == Phase::kPostStop ? task.kind == TaskKind::kPostStop
                                                    : !is_leftover(task.kind);
    if (meant && task.live()) task.abandoned = true;
  }
  if (phase_ == Phase::kPostStop) return exit();
  if (sweeping) return leave_sweep(now);
  enter_sweep(now);
}

// The first stop request, while we are on the way down for another reason.
void Machine::stop_sooner(TimeMs now) {
  const Budget fresh = make_budget(policy_, has_post_stop(), now);
  if (phase_ == Phase::kPostStop) {
    budget_.post_term_at = std::min(budget_.post_term_at, fresh.post_term_at);
    budget_.post_kill_at = std::min(budget_.post_kill_at, fresh.post_kill_at);
    if (stage_ == Stage::kPost) set_timer(Timer::kKill, std::max(now, budget_.post_term_at));
    if (stage_ == Stage::kPostTerm) set_timer(Timer::kKill, std::max(now, budget_.post_kill_at));
    return;
  }
  if (stage_ < Stage::kSweep || next_ == Next::kEnd) return;
  // No restart and no hold any more: the services end as well, and have the whole grace for it.
  budget_ = fresh;
  next_ = Next::kEnd;
  stage_ = Stage::kSweep;
  cancel_timer(Timer::kGiveUp);
  stop_services();
  set_timer(Timer::kSweep, budget_.sweep_kill_at);
}

// Someone at the keyboard asked twice: the rest of the way with KILL, and no more hooks.
void Machine::hurry(TimeMs now) {
  if (hurried_) return;
  hurried_ = true;
  switch (stage_) {
    case Stage::kTerm:
      return kill_tasks(now);
    case Stage::kSweep:
      return sweep_kill(now);
    case Stage::kPost:
    case Stage::kPostTerm:
      return end_post_stop(now);
    case Stage::kKill:
    case Stage::kSweepKill:
    case Stage::kPostKill:
      return;  // as soon as it can be
  }
}

// --- The exit code ---

int Machine::exit_code() const {
  switch (outcome_) {
    case Outcome::kFailed:
      return cause_.exit_code;
    case Outcome::kStopped:
      return stopped_code();
    case Outcome::kSucceeded:
    case Outcome::kOpen:
      return 0;
  }
  return 0;
}

// A single command's own code; of several nobody's code is the job's, and 0 would read as success.
int Machine::stopped_code() const {
  const int told = 128 + stop_signal_;
  if (!mains_started_) return told;
  const bool served = std::all_of(tasks_.begin(), tasks_.end(), [this](const Task& task) {
    if (task.kind != TaskKind::kMain || !in_job(task)) return true;
    const bool by_our_signal =
        task.ending.how == Ending::How::kSignaled && task.ending.value == stop_signal_;
    return !task.live() && (task.ending.ok() || by_our_signal);
  });
  if (served && (success_ == SuccessPolicy::kServe || main_count_ == 0)) return 0;
  if (main_count_ != 1) return told;
  const Task* single = main_task(0);
  return single->live() ? 128 + SIGKILL : single->ending.exit_code();
}

}  // namespace lifecycle
