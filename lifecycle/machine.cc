#include "lifecycle/machine.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/exit_codes.h"

namespace lifecycle {

namespace {

// 31 years. Durations are limited to it, so that now + duration does not overflow.
constexpr TimeMs kLongestMs = 1'000'000'000'000;

constexpr std::size_t slot(Timer timer) { return static_cast<std::size_t>(timer); }

TimeMs sane(TimeMs duration_ms) { return std::clamp<TimeMs>(duration_ms, 0, kLongestMs); }

bool is_signal(int number) { return number > 0 && number <= kLastSignal; }

// True for a kind of hook that runs again in each start of the job.
bool runs_anew(TaskKind kind) {
  return kind == TaskKind::kPreStart || kind == TaskKind::kPostStart ||
         kind == TaskKind::kCheckpoint || kind == TaskKind::kPreStop ||
         kind == TaskKind::kOnFailure;
}

}  // namespace

const char* phase_name(Phase phase) {
  switch (phase) {
    case Phase::kPreparing:
      return "preparing";
    case Phase::kStarting:
      return "starting";
    case Phase::kRunning:
      return "running";
    case Phase::kCheckpointing:
      return "checkpointing";
    case Phase::kStopping:
      return "stopping";
    case Phase::kOnFailure:
      return "on-failure";
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

Machine::Machine(Policy policy, const std::vector<TaskKind>& preparing)
    : policy_(std::move(policy)) {
  name_tasks(preparing);
}

std::vector<Action> Machine::step(const Event& event, TimeMs now) {
  if (phase_ != Phase::kExited) {
    std::visit([this, now](const auto& what) { on(what, now); }, event);
    settle_grace(now);
  }
  return std::exchange(actions_, {});
}

// --- Events ---

void Machine::on(const event::Begin& /*event*/, TimeMs now) {
  if (begun_ || phase_ != Phase::kPreparing) return;
  begun_ = true;
  if (policy_.max_duration_ms > 0) {
    expires_at_ = now + sane(policy_.max_duration_ms);
    set_timer(Timer::kExpire, expires_at_);
  }
  advance_preparing(now);
}

void Machine::on(const event::ClusterReady& event, TimeMs now) {
  if (phase_ != Phase::kPreparing || !begun_ || cluster_ready_ || start_.resolve_code != 0) return;
  const Task* resolve = resolver();
  if (resolve != nullptr && resolve->state == TaskState::kIdle) return;
  cluster_ready_ = true;
  part_of_job_ = event.part_of_job;
  policy_ = event.policy;
  for (std::size_t i = 0; i < kTaskKinds; ++i) {
    const auto kind = static_cast<TaskKind>(i);
    if (kind != TaskKind::kData && kind != TaskKind::kResolve) counts_.at(i) = 0;
  }
  name_tasks(event.tasks);
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
    task->exit_status = end.exit_status;
    // The machine no longer waits for an abandoned task, which may be of an earlier start.
    if (!task->abandoned) ends.push_back(end);
  }
  if (ends.empty()) return;
  switch (phase_) {
    case Phase::kPreparing:
      return preparing_ended(ends, now);
    case Phase::kStarting:
    case Phase::kRunning:
      // A rank ended by a signal that trainit had forwarded. The sender of the signal wanted the
      // job to end, so the end is no failure, and the job does not restart.
      if (event.forwarded != 0 && decides_any(ends)) {
        return on(event::StopRequested{event.forwarded, SIGTERM}, now);
      }
      return mains_ended(ends, now);
    case Phase::kCheckpointing:
      return checkpoint_ended(ends, now);
    case Phase::kStopping:
      add_ends(ends, now);
      if (stop_.stage == Stage::kPreStop) return settle_pre_stop(now);
      if (stop_.stage < Stage::kVerdict && !waits_for_tasks()) tasks_gone(now);
      return;
    case Phase::kOnFailure:
      return settle_on_failure(now);
    case Phase::kPostStop:
      if (!waits_for(TaskKind::kPostStop)) next_post_stop();
      return;
    case Phase::kAutoRestart:
    case Phase::kHold:
    case Phase::kExited:
      return;  // only a service can end now
  }
}

void Machine::on(const event::ResolveFailed& event, TimeMs now) {
  if (phase_ != Phase::kPreparing || cluster_ready_ || start_.resolve_code != 0) return;
  if (!waits_for(TaskKind::kResolve)) return;
  if (event.left) return end_as(Outcome::kSucceeded, now);
  start_.resolve_code = event.exit_code != 0 ? event.exit_code : exit_code::kOwnFailure;
  set_timer(Timer::kResolve, now + kAnswerGapMs);
}

void Machine::on(const event::StopRequested& event, TimeMs now) {
  const bool first = asked_.signal == 0;
  const bool starts_again = first && is_on_way_to_restart();
  const int asked = is_signal(event.signal) ? event.signal : SIGTERM;
  const int sent = is_signal(event.sent) ? event.sent : asked;
  if (first) {
    asked_.signal = asked;
    asked_.sent = sent;
  }
  asked_.all |= signal_bit(sent);
  if (event.signal == SIGINT) ++asked_.interrupts;
  if (event.signal == SIGTERM) ++asked_.terms;
  const bool by_others =
      start_.outcome == Outcome::kReplanned || start_.outcome == Outcome::kStoppedElsewhere;
  // A failure of another node, and node 0 has not said which kind. Most likely all nodes are being
  // stopped, and that node was stopped first.
  const bool unknown =
      start_.outcome == Outcome::kFailed && start_.began_elsewhere && !start_.verdict_known;
  if ((by_others || unknown || starts_again) && final_code_ < 0) start_.outcome = Outcome::kStopped;
  if (unknown || starts_again) start_.elsewhere = start_.has_cause = false;
  switch (phase_) {
    case Phase::kAutoRestart:
    case Phase::kPreparing:
    case Phase::kStarting:
    case Phase::kRunning:
      return end_as(Outcome::kStopped, now);
    case Phase::kCheckpointing:
    case Phase::kOnFailure:
      return enter_stopping(now);
    case Phase::kHold:
      return leave_hold(now);
    case Phase::kStopping:
    case Phase::kPostStop:
      if (first) stop_sooner(now);
      if (waits_for_verdict()) return leave_verdict(now);
      // A further TERM is a duplicate, as platforms send them. A different signal may be the one on
      // which the job saves, so the main tasks get it.
      if (asked_.interrupts >= 2 || (policy_.second_term_kills && asked_.terms >= 2))
        return expedite(now);
      if (phase_ == Phase::kStopping && stop_.stage == Stage::kTerm) {
        for (Task& task : tasks_) pass_on(task);
      }
      return;
    case Phase::kExited:
      return;
  }
}

void Machine::on(const event::SignalReceived& event, TimeMs /*now*/) {
  const bool up = phase_ == Phase::kStarting || phase_ == Phase::kRunning;
  if (!up && phase_ != Phase::kCheckpointing && phase_ != Phase::kStopping) return;
  for (const Task& task : tasks_) {
    if (task.kind != TaskKind::kMain || !task.live() || task.abandoned) continue;
    actions_.emplace_back(
        // No stop signal: if the task dies of it, it has failed.
        action::Signal{ref(task), event.signal});
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
    case Timer::kEscalate:
      return escalate(now);
    case Timer::kNotify:
      return notify_tasks(now);
    case Timer::kCheckpoint:
      return enter_stopping(now);
    case Timer::kExpire:
      return expire(now);
    case Timer::kRendezvous:
      return fail({.ends = {}, .exit_code = exit_code::kUnavailable}, now);
    case Timer::kVerdict:
      return leave_verdict(now);
    case Timer::kDiagnosis:
      start_.diagnosing = false;  // no diagnosis came: assume that a restart can help
      return settle_on_failure(now);
  }
}

void Machine::on(const event::NothingLeft& /*event*/, TimeMs now) {
  if (phase_ == Phase::kStopping && stop_.stage >= Stage::kSweep) leave_sweep(now);
}

void Machine::on(const event::NothingAdopted& /*event*/, TimeMs now) {
  // The machine also waits for services at the end of the container (Next::kEnd), until
  // NothingLeft.
  if (phase_ == Phase::kStopping && stop_.stage >= Stage::kSweep && stop_.next != Next::kEnd) {
    leave_sweep(now);
  }
}

void Machine::on(const event::Release& /*event*/, TimeMs now) {
  if (phase_ == Phase::kHold) leave_hold(now);
}

void Machine::on(const event::HoldFor& event, TimeMs now) {
  if (phase_ != Phase::kHold) return;
  hold_until_ = now + sane(event.duration_ms);
  set_timer(Timer::kHold, hold_until_);
}

void Machine::on(const event::CheckpointRequested& event, TimeMs now) {
  switch (phase_) {
    case Phase::kPreparing:
    case Phase::kAutoRestart:  // no rank runs, so there is nothing to save
      if (event.keep_running) return;
      note_save(event);
      return end_as(Outcome::kRescheduled, now);
    case Phase::kStarting:
    case Phase::kRunning:
      note_save(event);
      if (!checkpointing()) ask_to_save();
      if (event.keep_running) return;
      start_.outcome = Outcome::kRescheduled;
      start_.save_ends = true;
      start_.save_known = false;
      phase_ = Phase::kCheckpointing;
      start_.checkpoint_until = now + sane(policy_.checkpoint_ms);
      set_timer(Timer::kCheckpoint, start_.checkpoint_until);
      return settle_checkpoint(now);
    default:
      return;  // a checkpoint is under way already, or the job is ending
  }
}

void Machine::note_save(const event::CheckpointRequested& event) {
  if (event.elsewhere) return;
  ++saves_asked_;
  save_keeps_running_ = event.keep_running;
}

void Machine::on(const event::NobodySaves& /*event*/, TimeMs now) {
  start_.signal_saves = false;
  if (phase_ == Phase::kCheckpointing) settle_checkpoint(now);
}

void Machine::on(const event::ExpireIn& event, TimeMs now) {
  const bool goes_on = phase_ == Phase::kPreparing || phase_ == Phase::kAutoRestart ||
                       phase_ == Phase::kStarting || phase_ == Phase::kRunning;
  if (!begun_ || !(goes_on || expires_at_ != 0)) return;
  // Not 0, which stands for no limit.
  expires_at_ = std::max<TimeMs>(now + sane(event.duration_ms), 1);
  set_timer(Timer::kExpire, expires_at_);
}

// Restarts a job whose list of nodes changed, or resolves the list again if the node still waits
// for the others. A resolver that runs now finds the new list without this event.
void Machine::on(const event::MembershipChanged& event, TimeMs now) {
  if (phase_ == Phase::kStarting || phase_ == Phase::kRunning || start_granted()) {
    count_anew(ran_ms(now));
    end_as(Outcome::kReplanned, now);
  }
  if (event.elsewhere) return follow_others(now);
  if (awaits_nodes()) resolve_again(now);
}

void Machine::on(const event::TaskStalled& event, TimeMs now) {
  const Task* task = find(event.task);
  const bool up = phase_ == Phase::kStarting || phase_ == Phase::kRunning;
  if (!up || task == nullptr || !decides(*task) || !task->live()) return;
  fail({.ends = {{event.task, {ExitStatus::How::kStalled, exit_code::kHangs}}},
        .exit_code = exit_code::kHangs},
       now, sane(event.silent_ms));
}

// --- The start sequence ---

// Starts the tasks of Phase::kPreparing whose turn it is. Enters kStarting when none is left.
void Machine::advance_preparing(TimeMs now) {
  for (Task& task : tasks_) {
    const bool resolve = &task == resolver();
    if (task.state != TaskState::kIdle || !(resolve || task.kind == TaskKind::kData)) continue;
    start(task);
    if (resolve && policy_.resolve_timeout_ms > 0) {
      set_timer(Timer::kResolve, now + policy_.resolve_timeout_ms);
    }
  }
  if (awaits_nodes()) {
    if (start_.rendezvous_until == 0) start_.rendezvous_until = now + sane(policy_.rendezvous_ms);
    if (!timers_.at(slot(Timer::kRendezvous)).armed) {
      set_timer(Timer::kRendezvous, std::max(now, start_.rendezvous_until));
    }
    return;
  }
  if (waits_for(TaskKind::kData) || waits_for(TaskKind::kResolve) || !cluster_ready_) return;
  if (waits_for(TaskKind::kPreStart) || start_next(TaskKind::kPreStart)) return;
  enter_starting(now);
}

void Machine::enter_starting(TimeMs now) {
  cancel_timer(Timer::kResolve);
  phase_ = Phase::kStarting;
  start_.mains_started = true;
  start_.began_at = now;
  for (Task& task : tasks_) {
    if (in_job(task) && !task.live()) start(task);
  }
  settle_running(now);
}

// Enters Running when no main task is starting any more: each runs or has already ended.
void Machine::settle_running(TimeMs now) {
  if (phase_ != Phase::kStarting) return;
  const bool starting = std::any_of(tasks_.begin(), tasks_.end(), [](const Task& task) {
    return task.kind == TaskKind::kMain && task.state == TaskState::kStarting;
  });
  if (job_done()) return end_as(Outcome::kSucceeded, now);
  if (starting) return;
  phase_ = Phase::kRunning;
  start_next(TaskKind::kPostStart);
}

void Machine::restart(TimeMs now) {
  ++restarts_;
  restart_at_ = 0;
  phase_ = Phase::kPreparing;
  start_ = {};
  stop_ = {};
  for (Task& task : tasks_) {
    const bool unfinished = task.kind == TaskKind::kData && !task.exit_status.ok();
    if ((runs_anew(task.kind) || unfinished) && !task.live()) task.state = TaskState::kIdle;
  }
  ask_resolver();
  advance_preparing(now);
}

// Makes the resolve task run again; its answer replaces the last one. Returns false if there is no
// resolve task: then the last answer stays.
bool Machine::ask_resolver() {
  const Task* resolve = resolver();
  if (resolve == nullptr) return false;
  tasks_[ref(*resolve).index].state = TaskState::kIdle;
  cluster_ready_ = false;
  return true;
}

void Machine::preparing_ended(const std::vector<event::TaskEnd>& ends, TimeMs now) {
  Cause cause;
  bool progress = false;
  for (const event::TaskEnd& end : ends) {
    const Task& task = tasks_[end.task.index];
    if (task.kind == TaskKind::kMain || task.kind == TaskKind::kService) continue;
    progress = true;
    const bool resolve = task.kind == TaskKind::kResolve;
    if (end.exit_status.ok() && !(resolve && start_.resolve_code != 0)) {
      if (resolve && !cluster_ready_) set_timer(Timer::kResolve, now + kAnswerGapMs);
      continue;
    }
    // If a resolver dies without a ResolveFailed, that is a defect of trainit: exit code 125.
    const int own = start_.resolve_code != 0 ? start_.resolve_code : exit_code::kOwnFailure;
    if (cause.ends.empty()) cause.exit_code = resolve ? own : end.exit_status.exit_code();
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
    const bool counts = decides(task) || task.kind == TaskKind::kPostStart;
    if (!counts || end.exit_status.ok()) continue;
    if (cause.ends.empty()) cause.exit_code = end.exit_status.exit_code();
    cause.ends.push_back(end);
  }
  if (!cause.ends.empty()) return fail(std::move(cause), now);
  if (job_done()) return end_as(Outcome::kSucceeded, now);
  settle_running(now);
  if (among(ends, TaskKind::kPostStart)) start_next(TaskKind::kPostStart);
  if (among(ends, TaskKind::kCheckpoint)) start_next(TaskKind::kCheckpoint);
}

// --- A checkpoint ---

bool Machine::checkpointing() const {
  return phase_ == Phase::kCheckpointing || waits_for(TaskKind::kCheckpoint);
}

void Machine::ask_to_save() {
  for (Task& task : tasks_) {
    if (task.kind == TaskKind::kCheckpoint && !task.live()) task.state = TaskState::kIdle;
  }
  start_.signal_saves = policy_.checkpoint_signal != 0;
  if (start_.signal_saves) actions_.emplace_back(action::AskToSave{});
  start_next(TaskKind::kCheckpoint);
}

void Machine::checkpoint_ended(const std::vector<event::TaskEnd>& ends, TimeMs now) {
  if (!job_done() && among(ends, TaskKind::kCheckpoint)) start_next(TaskKind::kCheckpoint);
  settle_checkpoint(now);
}

// Ends the checkpoint when the job is done, or when all checkpoint hooks have ended. The checkpoint
// signal has no answer. If the main tasks got it, they have the whole time of the checkpoint,
// unless they end earlier.
void Machine::settle_checkpoint(TimeMs now) {
  const bool asked = start_.signal_saves && waits_for(TaskKind::kMain);
  if (job_done() || !(asked || waits_for(TaskKind::kCheckpoint))) enter_stopping(now);
}

// --- The time limit ---

void Machine::expire(TimeMs now) {
  expires_at_ = 0;
  switch (phase_) {
    case Phase::kPreparing:
    case Phase::kAutoRestart:
    case Phase::kStarting:
    case Phase::kRunning:
      return end_as(Outcome::kExpired, now);
    default:
      expired_ = true;
  }
}

// Ends this start for a reason other than a new failure on this node.
void Machine::end_as(Outcome outcome, TimeMs now) {
  if (phase_ == Phase::kAutoRestart) leave_failed_start();
  start_.outcome = outcome;
  enter_stopping(now);
}

// Forgets the failed start that a pending restart was the answer to. The container then ends as it
// would in the next start before its first process. The verdict on the failed start has come
// already.
void Machine::leave_failed_start() { start_ = {.verdict_known = true}; }

// --- Resolving ---

// Fails the job because the resolver exceeded its time. Or one part of its answer (the message or
// the exit) did not follow the other in time.
void Machine::resolve_overdue(TimeMs now) {
  Cause cause;
  const bool late = waits_for(TaskKind::kResolve) && !cluster_ready_;
  cause.exit_code = start_.resolve_code != 0 ? start_.resolve_code
                    : late                   ? exit_code::kUnavailable
                                             : exit_code::kOwnFailure;
  fail(std::move(cause), now);
}

bool Machine::job_done() const {
  if (count(TaskKind::kMain) == 0) return false;  // no ranks: the services run until a stop request
  if (policy_.success == SuccessPolicy::kFirst) return main_task(0)->state == TaskState::kEnded;
  return !waits_for(TaskKind::kMain);
}

// --- The table, the timers, the output ---

void Machine::name_tasks(const std::vector<TaskKind>& kinds) {
  for (const TaskKind kind : kinds) {
    if (begun_ && (kind == TaskKind::kData || kind == TaskKind::kResolve)) continue;
    const std::uint32_t ordinal = counts_.at(static_cast<std::size_t>(kind))++;
    const bool known = std::any_of(tasks_.begin(), tasks_.end(), [&](const Task& task) {
      return task.kind == kind && task.ordinal == ordinal;
    });
    if (!known) tasks_.push_back({.kind = kind, .ordinal = ordinal, .exit_status = {}});
  }
}

void Machine::start(Task& task) {
  task = {.kind = task.kind,
          .ordinal = task.ordinal,
          .state = TaskState::kStarting,
          .incarnation = task.incarnation + 1,
          .exit_status = {}};
  actions_.emplace_back(action::Start{ref(task)});
}

void Machine::signal(Task& task, int number) {
  task.stop_signal = number;
  task.sent |= signal_bit(number);
  actions_.emplace_back(action::Signal{ref(task), number, true});
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
  const auto found = std::find_if(tasks_.begin(), tasks_.end(), [&](const Task& task) {
    return task.kind == kind && task.state == TaskState::kIdle && named(task);
  });
  return found == tasks_.end() ? nullptr : &*found;
}

bool Machine::start_next(TaskKind kind) {
  Task* next = first_idle(kind);
  if (next != nullptr) start(*next);
  return next != nullptr;
}

const Task* Machine::resolver() const {
  const auto found = std::find_if(tasks_.begin(), tasks_.end(),
                                  [](const Task& task) { return task.kind == TaskKind::kResolve; });
  return found == tasks_.end() ? nullptr : &*found;
}

const Task* Machine::main_task(std::uint32_t ordinal) const {
  const auto found = std::find_if(tasks_.begin(), tasks_.end(), [ordinal](const Task& task) {
    return task.kind == TaskKind::kMain && task.ordinal == ordinal;
  });
  return found == tasks_.end() ? nullptr : &*found;
}

bool Machine::among(const std::vector<event::TaskEnd>& ends, TaskKind kind) const {
  return std::any_of(ends.begin(), ends.end(), [&](const event::TaskEnd& end) {
    return tasks_[end.task.index].kind == kind;
  });
}

bool Machine::decides_any(const std::vector<event::TaskEnd>& ends) const {
  return std::any_of(ends.begin(), ends.end(), [&](const event::TaskEnd& end) {
    return decides(tasks_[end.task.index]) && !end.exit_status.ok();
  });
}

bool Machine::in_job(const Task& task) const {
  return (task.kind == TaskKind::kMain || task.kind == TaskKind::kService) && named(task);
}

bool Machine::waits_for(TaskKind kind) const {
  return std::any_of(tasks_.begin(), tasks_.end(), [kind](const Task& task) {
    return task.kind == kind && task.live() && !task.abandoned;
  });
}

bool Machine::waits_for_tasks() const {
  return std::any_of(tasks_.begin(), tasks_.end(), [](const Task& task) {
    const bool leftover = task.kind == TaskKind::kService || task.kind == TaskKind::kPostStop;
    return !leftover && task.live() && !task.abandoned;
  });
}

TaskRef Machine::ref(const Task& task) const {
  return {static_cast<std::uint32_t>(&task - tasks_.data()), task.incarnation};
}

}  // namespace lifecycle
