#include "lifecycle/machine.h"

#include <algorithm>
#include <csignal>
#include <utility>

namespace lifecycle {

namespace {

constexpr int kTimedOut = 124;
constexpr int kOwnFailure = 125;
constexpr TimeMs kLongestHoldMs = 1'000'000'000'000;  // 31 years; keeps now + duration in range

constexpr std::size_t slot(Timer timer) { return static_cast<std::size_t>(timer); }

}  // namespace

const char* phase_name(Phase phase) {
  switch (phase) {
    case Phase::kPreparing:
      return "preparing";
    case Phase::kStarting:
      return "starting";
    case Phase::kRunning:
      return "running";
    case Phase::kStopping:
      return "stopping";
    case Phase::kPostStop:
      return "post-stop";
    case Phase::kAutoRestart:
      return "auto-restart";
    case Phase::kHold:
      return "hold";
    case Phase::kExited:
      return "exited";
  }
  return "unknown";
}

Machine::Machine(Policy policy, const std::vector<TaskKind>& preparing) : policy_(policy) {
  for (const TaskKind kind : preparing) {
    const auto ordinal = std::count_if(tasks_.begin(), tasks_.end(),
                                       [kind](const Task& task) { return task.kind == kind; });
    tasks_.push_back({.kind = kind, .ordinal = static_cast<std::uint32_t>(ordinal), .ending = {}});
  }
}

std::vector<Action> Machine::step(const Event& event, TimeMs now) {
  if (phase_ != Phase::kExited) {
    std::visit([this, now](const auto& what) { on(what, now); }, event);
  }
  return std::exchange(actions_, {});
}

// --- One answer to each event ---

void Machine::on(const event::Begin& /*event*/, TimeMs now) {
  if (begun_ || phase_ != Phase::kPreparing) return;
  begun_ = true;
  advance_preparing(now);
}

void Machine::on(const event::ClusterReady& event, TimeMs now) {
  if (phase_ != Phase::kPreparing || !begun_ || cluster_ready_ || resolve_code_ != 0) return;
  const Task* resolve = resolver();
  if (resolve != nullptr && resolve->state == TaskState::kIdle) return;
  cluster_ready_ = true;
  success_ = event.success;
  main_count_ = 0;
  service_count_ = 0;
  for (const TaskKind kind : event.tasks) {
    if (kind != TaskKind::kMain && kind != TaskKind::kService) continue;
    const std::uint32_t ordinal = kind == TaskKind::kMain ? main_count_++ : service_count_++;
    const bool known = std::any_of(tasks_.begin(), tasks_.end(), [&](const Task& task) {
      return task.kind == kind && task.ordinal == ordinal;
    });
    if (!known) tasks_.push_back({.kind = kind, .ordinal = ordinal, .ending = {}});
  }
  if (waits_for(TaskKind::kResolve)) {
    set_timer(Timer::kResolve, now + kAnswerGapMs);
  } else {
    cancel_timer(Timer::kResolve);
  }
  advance_preparing(now);
}

void Machine::on(const event::TaskStarted& event, TimeMs now) {
  Task* task = find(event.task);
  if (task == nullptr || task->state != TaskState::kStarting) return;
  task->state = TaskState::kRunning;
  settle_running(now);
}

void Machine::on(const event::TasksEnded& event, TimeMs now) {
  std::vector<event::TaskEnd> ends;
  for (const event::TaskEnd& end : event.ends) {
    Task* task = find(end.task);
    if (task == nullptr || !task->live()) continue;
    task->state = TaskState::kEnded;
    task->ending = end.ending;
    ends.push_back(end);
  }
  switch (phase_) {
    case Phase::kPreparing:
      return preparing_ended(ends, now);
    case Phase::kStarting:
    case Phase::kRunning:
      return mains_ended(ends, now);
    case Phase::kStopping:
      if (stage_ < Stage::kSweep && !waits_for_tasks()) enter_sweep(now);
      return;
    case Phase::kPostStop:
      if (!waits_for(TaskKind::kPostStop)) next_post_stop();
      return;
    case Phase::kAutoRestart:
    case Phase::kHold:
    case Phase::kExited:
      return;  // a service, or a task given up long ago
  }
}

void Machine::on(const event::ResolveFailed& event, TimeMs now) {
  if (phase_ != Phase::kPreparing || cluster_ready_ || resolve_code_ != 0) return;
  if (!waits_for(TaskKind::kResolve)) return;
  resolve_code_ = event.exit_code != 0 ? event.exit_code : kOwnFailure;
  set_timer(Timer::kResolve, now + kAnswerGapMs);
}

void Machine::on(const event::StopRequested& event, TimeMs now) {
  const bool first = stop_signal_ == 0;
  if (first) stop_signal_ = event.signal > 0 && event.signal < 128 ? event.signal : SIGTERM;
  if (event.signal == SIGINT) ++interrupts_;
  switch (phase_) {
    case Phase::kAutoRestart:
      cancel_timer(Timer::kRestart);
      mains_started_ = false;  // the failure was answered by the restart that is now called off
      [[fallthrough]];
    case Phase::kPreparing:
    case Phase::kStarting:
    case Phase::kRunning:
      outcome_ = Outcome::kStopped;
      return enter_stopping(now);
    case Phase::kHold:
      return leave_hold(now);
    case Phase::kStopping:
    case Phase::kPostStop:
      if (first) stop_sooner(now);
      if (interrupts_ >= 2) hurry(now);  // further TERMs are duplicates, as platforms send them
      return;
    case Phase::kExited:
      return;
  }
}

void Machine::on(const event::SignalReceived& event, TimeMs /*now*/) {
  const bool up = phase_ == Phase::kStarting || phase_ == Phase::kRunning;
  if (!up && phase_ != Phase::kStopping) return;
  for (const Task& task : tasks_) {
    if (task.kind != TaskKind::kMain || !task.live() || task.abandoned) continue;
    actions_.emplace_back(
        action::Signal{ref(task), event.signal});  // if it dies, that is a failure
  }
}

void Machine::on(const event::TimerFired& event, TimeMs now) {
  TimerSlot& timer = timers_.at(slot(event.timer));
  if (!timer.armed || timer.generation != event.generation) return;
  timer.armed = false;
  switch (event.timer) {
    case Timer::kKill:
      return phase_ == Phase::kPostStop ? end_post_stop(now) : kill_tasks(now);
    case Timer::kSweep:
      return sweep_kill(now);
    case Timer::kGiveUp:
      return give_up(now);
    case Timer::kResolve:
      return resolve_overdue(now);
    case Timer::kHold:
      return leave_hold(now);
    case Timer::kRestart:
      return restart(now);
  }
}

void Machine::on(const event::NothingLeft& /*event*/, TimeMs now) {
  if (phase_ == Phase::kStopping && stage_ >= Stage::kSweep) leave_sweep(now);
}

void Machine::on(const event::NothingAdopted& /*event*/, TimeMs now) {
  // At the end of all, services are waited for too, and what they leave behind.
  if (phase_ == Phase::kStopping && stage_ >= Stage::kSweep && next_ != Next::kEnd) {
    leave_sweep(now);
  }
}

void Machine::on(const event::Release& /*event*/, TimeMs now) {
  if (phase_ == Phase::kHold) leave_hold(now);
}

void Machine::on(const event::HoldFor& event, TimeMs now) {
  if (phase_ != Phase::kHold) return;
  hold_until_ = now + std::clamp<TimeMs>(event.duration_ms, 0, kLongestHoldMs);
  set_timer(Timer::kHold, hold_until_);
}

// --- The way up ---

// Starts what may start next; the table says how far we are.
void Machine::advance_preparing(TimeMs now) {
  if (waits_for(TaskKind::kPreStart)) return;
  if (Task* hook = first_idle(TaskKind::kPreStart); hook != nullptr) return start(*hook);
  for (Task& task : tasks_) {
    const bool resolve = &task == resolver();
    if (task.state != TaskState::kIdle || !(resolve || task.kind == TaskKind::kData)) continue;
    start(task);
    if (resolve && policy_.resolve_timeout_ms > 0) {
      set_timer(Timer::kResolve, now + policy_.resolve_timeout_ms);
    }
  }
  if (waits_for(TaskKind::kData) || waits_for(TaskKind::kResolve) || !cluster_ready_) return;
  enter_starting(now);
}

void Machine::enter_starting(TimeMs now) {
  cancel_timer(Timer::kResolve);
  phase_ = Phase::kStarting;
  mains_started_ = true;
  for (Task& task : tasks_) {
    if (in_job(task) && !task.live()) start(task);
  }
  settle_running(now);
}

// Running once every main task is confirmed, or has already ended.
void Machine::settle_running(TimeMs now) {
  if (phase_ != Phase::kStarting) return;
  const bool starting = std::any_of(tasks_.begin(), tasks_.end(), [](const Task& task) {
    return task.kind == TaskKind::kMain && task.state == TaskState::kStarting;
  });
  if (!starting) phase_ = Phase::kRunning;
  if (job_done()) {
    outcome_ = Outcome::kSucceeded;
    enter_stopping(now);
  }
}

void Machine::restart(TimeMs now) {
  ++restarts_;
  phase_ = Phase::kPreparing;
  outcome_ = Outcome::kOpen;
  has_cause_ = false;
  cause_ = {};
  mains_started_ = false;
  resolve_code_ = 0;
  if (const Task* resolve = resolver(); resolve != nullptr) {
    tasks_[ref(*resolve).index].state = TaskState::kIdle;
    cluster_ready_ = false;
  }
  advance_preparing(now);
}

void Machine::preparing_ended(const std::vector<event::TaskEnd>& ends, TimeMs now) {
  Cause cause;
  bool progress = false;
  for (const event::TaskEnd& end : ends) {
    const Task& task = tasks_[end.task.index];
    if (task.kind == TaskKind::kMain || task.kind == TaskKind::kService) continue;
    progress = true;
    const bool resolve = task.kind == TaskKind::kResolve;
    if (end.ending.ok() && !(resolve && resolve_code_ != 0)) {
      if (resolve && !cluster_ready_) set_timer(Timer::kResolve, now + kAnswerGapMs);
      continue;
    }
    // A resolver that says nothing and dies, by whatever, is a defect of ours: 125.
    const int own = resolve_code_ != 0 ? resolve_code_ : kOwnFailure;
    if (cause.ends.empty()) cause.exit_code = resolve ? own : end.ending.exit_code();
    cause.ends.push_back(end);
  }
  if (!cause.ends.empty()) return fail(std::move(cause), now);
  if (cluster_ready_ && !waits_for(TaskKind::kResolve)) cancel_timer(Timer::kResolve);
  if (progress) advance_preparing(now);
}

void Machine::mains_ended(const std::vector<event::TaskEnd>& ends, TimeMs now) {
  Cause cause;
  for (const event::TaskEnd& end : ends) {
    const Task& task = tasks_[end.task.index];
    if (task.kind != TaskKind::kMain || end.ending.ok()) continue;
    if (success_ == SuccessPolicy::kFirst && task.ordinal != 0) continue;
    if (cause.ends.empty()) cause.exit_code = end.ending.exit_code();
    cause.ends.push_back(end);
  }
  if (!cause.ends.empty()) return fail(std::move(cause), now);
  if (phase_ == Phase::kStarting) return settle_running(now);
  if (job_done()) {
    outcome_ = Outcome::kSucceeded;
    enter_stopping(now);
  }
}

// The resolver ran out of time, or one half of its answer did not follow the other.
void Machine::resolve_overdue(TimeMs now) {
  Cause cause;
  const bool late = waits_for(TaskKind::kResolve) && !cluster_ready_;
  cause.exit_code = resolve_code_ != 0 ? resolve_code_ : late ? kTimedOut : kOwnFailure;
  fail(std::move(cause), now);
}

bool Machine::job_done() const {
  if (main_count_ == 0) return false;  // a pause: services until the stop
  if (success_ == SuccessPolicy::kFirst) return main_task(0)->state == TaskState::kEnded;
  return !waits_for(TaskKind::kMain);
}

// --- The table, the timers, the output ---

void Machine::start(Task& task) {
  task = {.kind = task.kind,
          .ordinal = task.ordinal,
          .state = TaskState::kStarting,
          .incarnation = task.incarnation + 1,
          .ending = {}};
  actions_.emplace_back(action::Start{ref(task)});
}

void Machine::signal(Task& task, int number) {
  task.stop_signal = number;
  actions_.emplace_back(action::Signal{ref(task), number});
}

void Machine::set_timer(Timer timer, TimeMs at) {
  TimerSlot& state = timers_.at(slot(timer));
  state.armed = true;
  ++state.generation;
  actions_.emplace_back(action::SetTimer{timer, state.generation, at});
}

void Machine::cancel_timer(Timer timer) {
  TimerSlot& state = timers_.at(slot(timer));
  if (!state.armed) return;
  state.armed = false;
  actions_.emplace_back(action::CancelTimer{timer});
}

Task* Machine::find(TaskRef ref) {
  if (ref.index >= tasks_.size() || tasks_[ref.index].incarnation != ref.incarnation) {
    return nullptr;
  }
  return &tasks_[ref.index];
}

Task* Machine::first_idle(TaskKind kind) {
  const auto found = std::find_if(tasks_.begin(), tasks_.end(), [kind](const Task& task) {
    return task.kind == kind && task.state == TaskState::kIdle;
  });
  return found == tasks_.end() ? nullptr : &*found;
}

const Task* Machine::resolver() const {
  const auto found = std::find_if(tasks_.begin(), tasks_.end(),
                                  [](const Task& task) { return task.kind == TaskKind::kResolve; });
  return found == tasks_.end() ? nullptr : &*found;
}

bool Machine::has_post_stop() const {
  return std::any_of(tasks_.begin(), tasks_.end(),
                     [](const Task& task) { return task.kind == TaskKind::kPostStop; });
}

const Task* Machine::main_task(std::uint32_t ordinal) const {
  const auto found = std::find_if(tasks_.begin(), tasks_.end(), [ordinal](const Task& task) {
    return task.kind == TaskKind::kMain && task.ordinal == ordinal;
  });
  return found == tasks_.end() ? nullptr : &*found;
}

bool Machine::in_job(const Task& task) const {
  return (task.kind == TaskKind::kMain && task.ordinal < main_count_) ||
         (task.kind == TaskKind::kService && task.ordinal < service_count_);
}

bool Machine::waits_for(TaskKind kind) const {
  return std::any_of(tasks_.begin(), tasks_.end(), [kind](const Task& task) {
    return task.kind == kind && task.live() && !task.abandoned;
  });
}

bool Machine::waits_for_tasks() const {
  return waits_for(TaskKind::kMain) || waits_for(TaskKind::kPreStart) ||
         waits_for(TaskKind::kData) || waits_for(TaskKind::kResolve);
}

TaskRef Machine::ref(const Task& task) const {
  return {static_cast<std::uint32_t>(&task - tasks_.data()), task.incarnation};
}

}  // namespace lifecycle
