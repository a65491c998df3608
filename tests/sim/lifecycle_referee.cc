#include "tests/sim/lifecycle_referee.h"

#include <algorithm>
#include <csignal>
#include <utility>

namespace sim {

using namespace lifecycle;

namespace {

bool foreground(TaskKind kind) { return kind != TaskKind::kService && kind != TaskKind::kPostStop; }

// They have nothing to save, and are killed at once.
bool prepares(TaskKind kind) { return kind == TaskKind::kData || kind == TaskKind::kResolve; }

// Each share of a grace that is too small for all of them is rounded down.
constexpr TimeMs kRoundingMs = 3;
constexpr TimeMs kMaxMs = 1'000'000'000'000;

TimeMs not_less_than_0(TimeMs duration) { return std::clamp<TimeMs>(duration, 0, kMaxMs); }

// Which phase may follow which, within one step.
bool may_follow(Phase from, Phase to) {
  const auto one_of = [to](std::initializer_list<Phase> phases) {
    return std::find(phases.begin(), phases.end(), to) != phases.end();
  };
  switch (from) {
    case Phase::kPreparing:
      return one_of({Phase::kStarting, Phase::kRunning, Phase::kStopping});
    case Phase::kStarting:
      return one_of({Phase::kRunning, Phase::kCheckpointing, Phase::kStopping});
    case Phase::kRunning:
      return one_of({Phase::kCheckpointing, Phase::kStopping});
    case Phase::kCheckpointing:
    case Phase::kHold:
      return one_of({Phase::kStopping});
    case Phase::kStopping:
      return one_of(
          {Phase::kOnFailure, Phase::kPostStop, Phase::kAutoRestart, Phase::kHold, Phase::kExited});
    case Phase::kOnFailure:
      return one_of(
          {Phase::kStopping, Phase::kPostStop, Phase::kAutoRestart, Phase::kHold, Phase::kExited});
    case Phase::kAutoRestart:
      return one_of({Phase::kPreparing, Phase::kStarting, Phase::kRunning, Phase::kStopping});
    case Phase::kPostStop:
      return one_of({Phase::kExited});
    case Phase::kExited:
      return false;
  }
  return false;
}

}  // namespace

Referee::Referee(const Policy& policy, const std::vector<TaskKind>& preparing) : policy_(policy) {
  for (const TaskKind kind : preparing) {
    const auto ordinal = std::count_if(runs_.begin(), runs_.end(),
                                       [kind](const Run& run) { return run.kind == kind; });
    runs_.push_back(
        {.kind = kind, .ordinal = static_cast<std::uint32_t>(ordinal), .exit_status = {}});
    has_resolver_ |= kind == TaskKind::kResolve;
  }
}

void Referee::complain(const std::string& text) {
  if (complaint_.empty()) complaint_ = text;
}

void Referee::judge(const Event& event, const std::vector<Action>& actions, const Machine& after,
                    TimeMs now) {
  if (exited_) {
    require(actions.empty() && after.phase() == Phase::kExited, "the end state was left");
    return check_table(after);  // as it was at the exit
  }
  const bool down = phase_ == Phase::kStopping || phase_ == Phase::kOnFailure;
  if (!down && phase_ != Phase::kPostStop) swept_ = false;
  const bool was_up = up();
  now_ = now;
  believe(event, now);
  settle();
  if (was_up && !up()) begin_down(now);
  settle_grace(now);
  for (const Action& action : actions) {
    require(!exited_, "an action after Exit");
    std::visit([this, now](const auto& what) { check(what, now); }, action);
  }
  if (quiet_) {
    require(actions.empty(), "a late event had an effect");
    require(after.phase() == phase_, "a late event changed the phase");
  }
  check_forwarding(event, actions);
  check_limit(event, actions, after);
  check_table(after);
  check_phase(after, now);
  check_checkpoint(after, now);
  check_nodes(after);
  check_way_down(after, now);
  check_cause(after);
  check_hold(after, now);
  check_restarts(after);
}

// --- What the events mean ---

void Referee::begin_down(TimeMs now) {
  down_at_ = now;
  kill_by_.reset();
  reaps_ = 0;
  waited_ = 0;
}

// Late timers, and the waits for killed processes that policy.h allows after the grace: as many as
// there were.
TimeMs Referee::overrun_ms() const { return reaps_ * kReapMs + 6 * kTimerLatencyMs; }

void Referee::believe(const Event& event, TimeMs now) {
  forwarding_ = false;
  nothing_left_ = false;
  quiet_ = false;
  asked_ = false;
  asked_to_save_ = false;
  resolves_again_ = false;
  const bool open = verdict_ == Verdict::kOpen;
  if (std::holds_alternative<event::Begin>(event)) {
    quiet_ = begun_ || !open;
    if (!quiet_ && policy_.max_duration_ms > 0) expires_at_ = now + policy_.max_duration_ms;
    begun_ = begun_ || open;
  } else if (const auto* ready = std::get_if<event::ClusterReady>(&event)) {
    believe_ready(*ready);
  } else if (const auto* started = std::get_if<event::TaskStarted>(&event)) {
    quiet_ = !known(started->task) || runs_[started->task.index].confirmed ||
             !runs_[started->task.index].live;
    if (!quiet_) runs_[started->task.index].confirmed = true;
  } else if (const auto* ends = std::get_if<event::TasksEnded>(&event)) {
    believe_ends(*ends);
  } else if (const auto* failed = std::get_if<event::ResolveFailed>(&event)) {
    quiet_ = !open || ready_ || said_failed_ != 0 || !live(TaskKind::kResolve);
    if (!quiet_ && failed->left) return end_as(Verdict::kSucceeded);
    if (!quiet_) said_failed_ = failed->exit_code;
  } else if (const auto* stop = std::get_if<event::StopRequested>(&event)) {
    believe_stop(*stop, now);
  } else if (std::holds_alternative<event::SignalReceived>(event)) {
    forwarding_ = true;
  } else if (const auto* timer = std::get_if<event::TimerFired>(&event)) {
    believe_timer(*timer, now);
  } else if (std::holds_alternative<event::NothingLeft>(event)) {
    nothing_left_ = sweeping();
    quiet_ = !sweeping();
  } else if (std::holds_alternative<event::NothingAdopted>(event)) {
    quiet_ = !sweeping();
  } else {
    believe_request(event, now);
  }
}

// What somebody asks for, and no platform.
void Referee::believe_request(const Event& event, TimeMs now) {
  const bool runs = phase_ == Phase::kStarting || phase_ == Phase::kRunning;
  if (const auto* ask = std::get_if<event::CheckpointRequested>(&event)) {
    believe_checkpoint(*ask, now);
  } else if (std::holds_alternative<event::NobodySaves>(event)) {
    quiet_ = !saving_;
    signal_saves_ = false;
  } else if (const auto* limit = std::get_if<event::ExpireIn>(&event)) {
    const bool awaits = phase_ == Phase::kPreparing || phase_ == Phase::kAutoRestart;
    quiet_ = !begun_ || (!runs && !awaits && expires_at_ == 0);
    if (!quiet_) expires_at_ = std::max<TimeMs>(now + not_less_than_0(limit->duration_ms), 1);
  } else if (const auto* changed = std::get_if<event::MembershipChanged>(&event)) {
    if (changed->elsewhere) return believe_changed_elsewhere();
    const bool ends = runs || start_granted();
    resolves_again_ = nodes_due() && has_resolver_;
    quiet_ = !ends && !resolves_again_;
    if (ends) count_anew(ran_ms());
    if (ends) end_as(Verdict::kReplanned);
    if (resolves_again_) ready_ = false;
  } else if (const auto* writes = std::get_if<event::TaskWrites>(&event)) {
    quiet_ = !kill_by_ || !mains_end() || *kill_by_ > down_at_ + shares(false).kill + kRoundingMs;
    if (!quiet_) kill_by_ = writes->unknown ? kNever : now + policy_.failure_grace_ms;
  } else if (const auto* stalled = std::get_if<event::TaskStalled>(&event)) {
    believe_stall(*stalled);
  } else if (const auto* diagnosed = std::get_if<event::Diagnosed>(&event)) {
    believe_diagnosed(*diagnosed);
  } else if (const auto* unreachable = std::get_if<event::Unreachable>(&event)) {
    believe_unreachable(unreachable->task, now);
  } else if (std::holds_alternative<event::Linked>(event) ||
             std::holds_alternative<event::JobFailed>(event) ||
             std::holds_alternative<event::Unfit>(event) ||
             std::holds_alternative<event::SaveKnown>(event) ||
             std::holds_alternative<event::NodesReady>(event)) {
    believe_nodes(event, now);
  } else {
    quiet_ = phase_ != Phase::kHold;  // Release, HoldFor
    const auto* hold = std::get_if<event::HoldFor>(&event);
    if (hold != nullptr && !quiet_) hold_until_ = now + not_less_than_0(hold->duration_ms);
    if (hold == nullptr && !quiet_) begin_down(now);
  }
}

void Referee::believe_stall(const event::TaskStalled& stall) {
  const TaskRef task = stall.task;
  constexpr int kHangs = 70;
  const bool runs = phase_ == Phase::kStarting || phase_ == Phase::kRunning;
  quiet_ = true;
  if (!runs || !known(task)) return;
  const Run& run = runs_[task.index];
  const bool counts = policy_.success != SuccessPolicy::kFirst || run.ordinal == 0;
  if (!run.live || run.kind != TaskKind::kMain || !counts) return;
  quiet_ = false;
  fail(kHangs, {{task, {ExitStatus::How::kStalled, kHangs}}}, stall.silent_ms);
}

void Referee::believe_first(TaskRef first) {
  if (elsewhere_ && verdict_due() && phase_ == Phase::kStopping) {
    if (!known(first) || save_ends_) return;
    const Run& run = runs_[first.index];
    const bool counts = run.kind == TaskKind::kMain && in_job(run) &&
                        (policy_.success != SuccessPolicy::kFirst || run.ordinal == 0);
    if (!counts || run.live || run.unreachable || run.given_up || run.exit_status.ok()) return;
    quiet_ = false;
    const int signal = run.exit_status.value;
    const bool ours = run.exit_status.how == ExitStatus::How::kSignaled &&
                      (has_had(run, signal) || (signal == SIGKILL && run.killed));
    add_failures({{first, run.exit_status}});
    if (ours) failure_code_ = 1;
    return;
  }
  const auto found = std::ranges::find(failed_, first, &event::TaskEnd::task);
  quiet_ = !seeks_first() || found == failed_.begin() || found == failed_.end();
  if (quiet_) return;
  const event::TaskEnd chosen = *found;
  failed_.erase(found);
  failed_.insert(failed_.begin(), chosen);
  failure_code_ = chosen.exit_status.exit_code();
  const bool could = restartable_;
  judge_first();
  restartable_ = restartable_ && could;
}

// Of another start, or where nobody asked for it, it is nothing. Of several nodes, what all do is
// decided once it is known which failure was the first.
void Referee::believe_diagnosed(const event::Diagnosed& diagnosed) {
  quiet_ = true;
  if (diagnosed.restarts != restarts_) return;
  if (diagnosed.first) return believe_first(*diagnosed.first);
  if (!diagnosing_) return;
  quiet_ = phase_ != Phase::kOnFailure && !pending(Timer::kVerdict).has_value();
  const bool decided = elsewhere_ || (policy_.rendezvous_ms > 0 && told_);
  if (diagnosed.hopeless && !decided) restartable_ = false;
  diagnosing_ = false;
}

// It counts as one that outlives its KILL.
void Referee::believe_unreachable(TaskRef task, TimeMs now) {
  const bool down = phase_ == Phase::kStopping || phase_ == Phase::kPostStop;
  quiet_ = true;
  if (!down || !known(task)) return;
  Run& run = runs_[task.index];
  if (!run.live || run.unreachable || !(run.notified || run.killed)) return;
  quiet_ = false;
  run.unreachable = true;
  if (!run.killed) run.killed_at = now;
  run.killed = true;
}

void Referee::note_save(const event::CheckpointRequested& ask) {
  if (ask.elsewhere) return;
  ++saves_asked_;
  save_keeps_running_ = ask.keep_running;
}

void Referee::believe_checkpoint(const event::CheckpointRequested& ask, TimeMs now) {
  const bool keep_running = ask.keep_running;
  const bool runs = phase_ == Phase::kStarting || phase_ == Phase::kRunning;
  if (!runs) {
    const bool to_be_run = phase_ == Phase::kPreparing || phase_ == Phase::kAutoRestart;
    quiet_ = !to_be_run || keep_running;
    if (quiet_) return;
    note_save(ask);
    save_known_ = false;
    if (!awaits_restart()) told_ = false;
    if (awaits_restart()) begin_down(now);
    return end_as(Verdict::kRescheduled);
  }
  note_save(ask);
  if (!live(TaskKind::kCheckpoint, true)) {
    ++round_;
    for (Run& run : runs_) {
      if (run.live) run.round = round_;
    }
    round_open_ = true;
    signal_saves_ = policy_.checkpoint_signal != 0;
    asked_ = true;
  }
  quiet_ = keep_running && !asked_;
  if (keep_running) return;
  verdict_ = Verdict::kRescheduled;
  save_known_ = told_ = false;
  saving_ = save_ends_ = true;
  saving_until_ = now + not_less_than_0(policy_.checkpoint_ms);
}

// For another reason than a failure.
void Referee::end_as(Verdict verdict) {
  if (awaits_restart()) {
    call_off_restart();
    elsewhere_ = began_elsewhere_ = false;  // the failed start is forgotten
  }
  verdict_ = verdict;
}

void Referee::believe_ready(const event::ClusterReady& event) {
  bool answerable = !has_resolver_;
  for (const Run& run : runs_) {
    if (run.kind != TaskKind::kResolve || run.incarnation == 0) continue;
    answerable |= run.live || run.exit_status.ok();
  }
  quiet_ = verdict_ != Verdict::kOpen || !begun_ || ready_ || said_failed_ != 0 || !answerable;
  if (quiet_) return;
  ready_ = true;
  part_of_job_ = event.part_of_job;
  policy_ = event.policy;
  counts_ = {};
  for (const TaskKind kind : event.tasks) {
    if (prepares(kind)) continue;
    const std::uint32_t ordinal = counts_[static_cast<std::size_t>(kind)]++;
    const bool exists = std::any_of(runs_.begin(), runs_.end(), [&](const Run& run) {
      return run.kind == kind && run.ordinal == ordinal;
    });
    if (!exists) runs_.push_back({.kind = kind, .ordinal = ordinal, .exit_status = {}});
  }
}

void Referee::believe_ends(const event::TasksEnded& event) {
  std::vector<event::TaskEnd> bad;
  std::vector<event::TaskEnd> late;
  int code = 0;
  quiet_ = true;
  for (const event::TaskEnd& end : event.ends) {
    if (!known(end.task) || !runs_[end.task.index].live) continue;
    quiet_ = false;
    Run& run = runs_[end.task.index];
    run.live = false;
    run.exit_status = end.exit_status;
    const bool counts = foreground(run.kind) && run.kind != TaskKind::kCheckpoint;
    if (is_late_failure(end)) {
      late.push_back(end);
      continue;
    }
    if (verdict_ != Verdict::kOpen || run.notified || run.killed || !counts) continue;
    const bool resolve = run.kind == TaskKind::kResolve;
    if (end.exit_status.ok() && !(resolve && said_failed_ != 0)) continue;
    if (run.kind == TaskKind::kMain && policy_.success == SuccessPolicy::kFirst &&
        run.ordinal > 0) {
      continue;
    }
    if (bad.empty()) {
      code = !resolve ? end.exit_status.exit_code() : said_failed_ != 0 ? said_failed_ : 125;
    }
    bad.push_back(end);
  }
  if (!bad.empty()) fail(code, std::move(bad));
  if (!late.empty()) add_failures(late);
}

// A rank that was dead when it was told to stop, because of a failure whose place is not known yet.
bool Referee::is_late_failure(const event::TaskEnd& end) const {
  const Run& run = runs_[end.task.index];
  const bool open = verdict_ == Verdict::kFailed && phase_ == Phase::kStopping && !told_ &&
                    stop_signal_ == 0 && !held_ && mains_started_ && !save_ends_;
  const bool known = std::ranges::find(failed_, end.task, &event::TaskEnd::task) != failed_.end();
  return open && end.unasked && !end.exit_status.ok() && !known && !run.unreachable &&
         !run.given_up && in_job(run) && run.kind == TaskKind::kMain &&
         (policy_.success != SuccessPolicy::kFirst || run.ordinal == 0);
}

// Failures of the same breath: the first one seen leads until somebody has looked.
void Referee::add_failures(const std::vector<event::TaskEnd>& late) {
  if (elsewhere_) {
    failed_.clear();
    failure_code_ = late.front().exit_status.exit_code();
    elsewhere_ = false;
    count_anew(well_ms_);
    failed_at_ = now_;
  }
  failed_.insert(failed_.end(), late.begin(), late.end());
  judge_first();
}

void Referee::judge_first() {
  restartable_ = !failed_.empty() && runs_[failed_.front().task.index].kind == TaskKind::kMain;
  // A command that is not there will not be there the next time.
  if (!failed_.empty() &&
      failed_.front().exit_status.how == lifecycle::ExitStatus::How::kNotStarted) {
    const int code = failed_.front().exit_status.value;
    restartable_ = restartable_ && code != 126 && code != 127;
  }
  const bool looks = policy_.restart_verdict != base::RestartVerdict::kOff && restart_due();
  diagnosing_ = looks || failed_.size() > 1;
  sought_out_ = false;
  ++reports_due_;
}

void Referee::believe_stop(const event::StopRequested& event, TimeMs now) {
  if (event.signal == SIGINT) ++interrupts_;
  if (event.signal == SIGTERM) ++terms_;
  const int notified = event.sent != 0 ? event.sent : event.signal;
  if (std::find(stops_.begin(), stops_.end(), notified) == stops_.end()) stops_.push_back(notified);
  if (stop_signal_ != 0) return;
  // All nodes were to start again for a failure elsewhere: the stop comes before that.
  const bool goes_down = phase_ == Phase::kStopping || phase_ == Phase::kOnFailure;
  const bool was_stuck = std::exchange(stuck_, false);
  const bool again =
      goes_down && verdict_ == Verdict::kFailed && elsewhere_ && told_ && restart_due();
  stuck_ = was_stuck;
  stop_signal_ = event.signal;
  sent_signal_ = notified;
  stopped_at_ = now;
  saving_ = false;
  const bool waits = awaits_restart() || phase_ == Phase::kHold || phase_ == Phase::kOnFailure;
  if (waits) begin_down(now);
  const bool by_others =
      (verdict_ == Verdict::kReplanned || verdict_ == Verdict::kStoppedElsewhere) && !code_;
  // What failed elsewhere may be no more than that another node was stopped before this one.
  const bool unknown = verdict_ == Verdict::kFailed && began_elsewhere_ && !told_;
  if (unknown || again) elsewhere_ = false;
  if (verdict_ == Verdict::kOpen || awaits_restart() || by_others || unknown || again) {
    end_as(Verdict::kStopped);
  }
}

void Referee::believe_timer(const event::TimerFired& event, TimeMs now) {
  auto& pending = pending_[static_cast<std::size_t>(event.timer)];
  quiet_ = !pending.has_value() || pending->generation != event.generation;
  if (quiet_) return;
  pending.reset();
  switch (event.timer) {
    case Timer::kResolve: {
      const bool late = live(TaskKind::kResolve) && !ready_;
      return fail(said_failed_ != 0 ? said_failed_ : late ? 69 : 125, {});
    }
    case Timer::kRestart:
      return believe_restart();
    case Timer::kDiagnosis:
      diagnosing_ = false;
      return;
    case Timer::kGiveUp:
      for (Run& run : runs_) run.given_up = run.given_up || (run.live && run.killed);
      return;
    case Timer::kHold:
      begin_down(now);
      return;
    case Timer::kCheckpoint:
      require(saving_, "the time of no checkpoint is over");
      saving_ = false;
      return;
    case Timer::kRendezvous:
      return fail(69, {});
    case Timer::kVerdict:
      if (stop_due()) stop_waited_out_ = true;
      sought_out_ = true;
      end_wait_for_verdict(now);
      return forgo_verdict();
    case Timer::kExpire:
      expires_at_ = 0;
      if (awaits_restart()) begin_down(now);
      if (verdict_ == Verdict::kOpen || awaits_restart()) return end_as(Verdict::kExpired);
      expired_ = true;
      return;
    default:
      return;
  }
}

void Referee::believe_restart() {
  ++restarts_;
  ++job_;
  nodes_ready_ = false;
  nodes_until_ = 0;
  elsewhere_ = began_elsewhere_ = false;
  save_ends_ = save_known_ = false;
  began_at_.reset();
  well_ms_ = -1;
  diagnosing_ = false;
  for (Run& run : runs_) {
    if (run.live) run.job = job_;  // a hook that hangs in the kernel is left out
  }
  round_open_ = false;
  verdict_ = Verdict::kOpen;
  closed_ = false;
  restartable_ = false;
  mains_started_ = false;
  pausing_ = false;
  said_failed_ = 0;
  ready_ = !has_resolver_;
}

// A start that ran well for so long: what failed before it does not count any more.
void Referee::count_anew(TimeMs ran_ms) {
  if (policy_.restart_reset_ms > 0 && ran_ms >= policy_.restart_reset_ms) answered_ = 0;
}

void Referee::fail(int code, std::vector<event::TaskEnd> ends, TimeMs silent_ms) {
  require(verdict_ == Verdict::kOpen, "a resolve timer outlived the preparation");
  verdict_ = Verdict::kFailed;
  failure_code_ = code;
  failed_ = std::move(ends);
  elsewhere_ = false;
  told_ = false;
  if (began_at_) well_ms_ = std::max<TimeMs>(0, ran_ms() - silent_ms);
  count_anew(well_ms_);
  failed_at_ = now_;
  judge_first();
}

// Have all main tasks ended, or the one that counts?
bool Referee::job_over() const {
  return mains_started_ && std::none_of(runs_.begin(), runs_.end(), [this](const Run& run) {
           const bool counts = policy_.success != SuccessPolicy::kFirst || run.ordinal == 0;
           return run.kind == TaskKind::kMain && in_job(run) && counts && run.live;
         });
}

// Has the job come to its end by itself, or its checkpoint?
void Referee::settle() {
  if (saving_) {
    const bool asked = signal_saves_ && live(TaskKind::kMain);
    const bool hooks = live(TaskKind::kCheckpoint, true) || left(TaskKind::kCheckpoint);
    saving_ = !job_over() && (asked || hooks);
    return;
  }
  if (verdict_ != Verdict::kOpen) return;
  pausing_ = count(TaskKind::kMain) == 0 && prepared(TaskKind::kMain);
  if (job_over()) verdict_ = Verdict::kSucceeded;
}

int Referee::expected_code() const {
  switch (verdict_) {
    case Verdict::kFailed:
      return failure_code_;
    case Verdict::kExpired:
      return 124;
    case Verdict::kRescheduled:
    case Verdict::kReplanned:
      return 75;
    case Verdict::kStoppedElsewhere:
      return 76;
    case Verdict::kOpen:
    case Verdict::kSucceeded:
      return 0;
    case Verdict::kStopped:
      break;
  }
  const int stopped = 128 + stop_signal_;
  if (pausing_) return 0;
  if (!mains_started_) return stopped;
  bool served = policy_.success == SuccessPolicy::kServe;
  const Run* single = nullptr;
  for (const Run& run : runs_) {
    if (run.kind != TaskKind::kMain || !in_job(run)) continue;
    single = &run;
    const int by = run.exit_status.value;
    const bool by_ours = run.exit_status.how == ExitStatus::How::kSignaled &&
                         (by == sent_signal_ || has_had(run, by));
    served = served && !run.live && (run.exit_status.ok() || by_ours);
  }
  if (served) return 0;
  if (count(TaskKind::kMain) != 1 || part_of_job_) return stopped;
  return single->live ? 137 : single->exit_status.exit_code();
}

// --- What the actions may be ---

void Referee::check(const action::Start& start, TimeMs now) {
  if (start.task.index >= runs_.size()) return complain("start of an unknown task");
  Run& run = runs_[start.task.index];
  require(!run.live, "two live runs of a task");
  require(start.task.incarnation == run.incarnation + 1, "an incarnation was left out");
  switch (run.kind) {
    case TaskKind::kData:
    case TaskKind::kResolve:
    case TaskKind::kMain:
    case TaskKind::kService:
      check_start_up(run);
      break;
    case TaskKind::kPostStop:
      check_start_of_post_stop(run);
      settle_code();
      break;
    default:
      check_start_of_hook(run, now);
  }
  mains_started_ |= run.kind == TaskKind::kMain;
  run = {.kind = run.kind,
         .ordinal = run.ordinal,
         .incarnation = start.task.incarnation,
         .job = job_,
         .round = round_,
         .live = true,
         .notified_again = {},
         .passed_on = {},
         .exit_status = {}};
}

void Referee::check_start_up(const Run& run) {
  require(stop_signal_ == 0, "a start after a stop request");
  require(verdict_ == Verdict::kOpen, "a start after the end was decided");
  require(prepared(run.kind, run.ordinal), "a start before its turn");
  const bool incomplete = run.incarnation == 0 || (run.job < job_ && !run.exit_status.ok());
  require(run.kind != TaskKind::kData || incomplete, "data were copied again for nothing");
  const bool of_job = run.kind == TaskKind::kMain || run.kind == TaskKind::kService;
  require(!of_job || in_job(run), "a start of a task that is no longer of the job");
}

void Referee::check_start_of_hook(const Run& run, TimeMs now) {
  require(in_job(run), "a start of a hook that is not named");
  require(!live(run.kind, true), "two hooks of a kind at a time");
  require(!ran(run), "a hook was started again");
  for (const Run& other : runs_) {
    const bool earlier = other.kind == run.kind && other.ordinal < run.ordinal;
    require(!earlier || ran(other) || other.live, "a hook out of turn");
  }
  switch (run.kind) {
    case TaskKind::kPreStart:
      require(stop_signal_ == 0 && verdict_ == Verdict::kOpen, "a pre-start hook after the end");
      return require(prepared(run.kind, run.ordinal), "a pre-start hook before its turn");
    case TaskKind::kPostStart:
      require(stop_signal_ == 0 && verdict_ == Verdict::kOpen, "a post-start hook after the end");
      require(prepared(TaskKind::kMain), "a post-start hook without a job");
      for (const Run& other : runs_) {
        const bool starting = other.kind == TaskKind::kMain && other.live && !other.confirmed;
        require(!starting, "a post-start hook before all main tasks run");
      }
      return;
    case TaskKind::kCheckpoint:
      require(stop_signal_ == 0 && up(), "a checkpoint hook after the end");
      return require(round_open_, "a checkpoint that nobody asked for");
    case TaskKind::kPreStop:
      return check_start_of_pre_stop(now);
    default:
      require(verdict_ == Verdict::kFailed, "an on-failure hook without a failure");
      require(stop_signal_ == 0, "an on-failure hook although somebody waits");
      require(!held_, "an on-failure hook after the hold");
      require(swept_ && !sweeping(), "an on-failure hook before all is swept");
      require(!foreground_live(true), "an on-failure hook beside the job");
  }
}

void Referee::check_start_of_pre_stop(TimeMs now) {
  require(gets_ready(), "a pre-stop hook before an end that is none of a running job");
  require(live(TaskKind::kMain), "a pre-stop hook without a main task");
  require(now < down_at_ + shares().notify + kRoundingMs, "a pre-stop hook after its time");
  for (const Run& run : runs_) {
    const bool notified = run.kind == TaskKind::kMain && run.live && (run.notified || run.killed);
    require(!notified, "a pre-stop hook after the main tasks' signal");
  }
}

void Referee::check_start_of_post_stop(const Run& run) {
  require(run.incarnation == 0, "a post-stop hook was started again");
  require(!up() && swept_ && !sweeping(), "post-stop before the end");
  require(!foreground_live(true), "post-stop beside a task that was not killed");
  require(!live(TaskKind::kPostStop), "two post-stop tasks at a time");
  require(begun_, "post-stop without a beginning");
  require(!expedited(), "post-stop after somebody hurried");
  require(in_job(run), "a post-stop task that is no longer named");
  for (const Run& other : runs_) {
    const bool earlier = other.kind == TaskKind::kPostStop && other.ordinal < run.ordinal;
    require(!earlier || other.incarnation > 0, "post-stop out of turn");
  }
}

void Referee::check(const action::AskToSave& /*ask*/, TimeMs /*now*/) {
  require(asked_ && !asked_to_save_, "asked to save without a request");
  require(policy_.checkpoint_signal != 0, "asked to save by no signal");
  asked_to_save_ = true;
}

void Referee::check(const action::Signal& signal, TimeMs now) {
  if (!known(signal.task)) return complain("a signal to a run that is not");
  Run& run = runs_[signal.task.index];
  require(run.live, "a signal to a task that does not live");
  if (forwarding_)
    return require(run.kind == TaskKind::kMain && !signal.stops,
                   "a signal forwarded to no main task, or as a stop");
  require(!up(), "a stop signal while the job is well");
  require(signal.stops, "a stop signal that does not say so");
  if (signal.signal == SIGKILL) {
    check_kill(run, now);
    run.killed = true;
    run.killed_at = now;
    run.stop_signal = SIGKILL;
    return;
  }
  if (run.notified) {
    const bool asked = std::find(stops_.begin(), stops_.end(), signal.signal) != stops_.end();
    if (run.kind != TaskKind::kMain || !asked || has_had(run, signal.signal)) {
      return check_escalation(run, signal.signal, now);
    }
    require(!run.killed, "a stop signal after the KILL");
    run.passed_on.push_back(signal.signal);
    run.stop_signal = signal.signal;
    return;
  }
  check_notify(run, signal.signal, now);
  run.notified = true;
  run.notified_with = signal.signal;
  run.stop_signal = signal.signal;
  run.notified_at = now;
}

void Referee::check_notify(const Run& run, int signal, TimeMs now) {
  require(!prepares(run.kind), "TERM to what has nothing to save");
  const bool by_itself = verdict_ == Verdict::kFailed || verdict_ == Verdict::kSucceeded;
  const bool pass_on = run.kind == TaskKind::kMain && !by_itself && stop_signal_ != 0;
  require(signal == (pass_on ? sent_signal_ : SIGTERM), "the wrong stop signal");
  require(foreground(run.kind) || !foreground_live(true),
          "a service stopped before the main tasks");
  const bool in_its_time = now < down_at_ + shares().notify - kRoundingMs;
  if (run.kind == TaskKind::kPreStop) {
    const bool has_time = in_its_time && gets_ready();
    require(!has_time || !live(TaskKind::kMain), "a pre-stop hook was not given its time");
  }
  if (run.kind != TaskKind::kMain || !gets_ready()) return;
  require(now >= down_at_ + shares().drain - kRoundingMs, "a main task was told before the drain");
  const bool hooks = live(TaskKind::kPreStop, true) || left(TaskKind::kPreStop);
  require(!in_its_time || !hooks, "a main task was told before the pre-stop hooks were done");
}

// Whether the way down is one whose main tasks are told only after pre-stop hooks and the drain.
bool Referee::gets_ready() const {
  const bool by_itself = verdict_ == Verdict::kFailed || verdict_ == Verdict::kSucceeded;
  return !up() && !by_itself && !expedited();
}

// Main tasks at the end of the drain and of the pre-stop hooks; all others at once.
void Referee::check_notified_in_time(TimeMs now) {
  const bool hooks = live(TaskKind::kPreStop, true) || left(TaskKind::kPreStop);
  const TimeMs waits = hooks ? shares().notify : shares().drain;
  const TimeMs until = down_at_ + waits + kRoundingMs + 2 * kTimerLatencyMs;
  const bool may_wait = gets_ready() && live(TaskKind::kMain) && now <= until;
  for (const Run& run : runs_) {
    const bool of_job = run.kind == TaskKind::kMain || run.kind == TaskKind::kPreStop;
    if (of_job && may_wait) continue;
    if (run.kind == TaskKind::kOnFailure && stop_signal_ == 0) continue;  // its turn is now
    require(!run.live || !foreground(run.kind) || run.notified || run.killed,
            "a task was not told");
  }
}

void Referee::check_kill(const Run& run, TimeMs now) {
  require(!run.killed || run.kind == TaskKind::kService, "KILL twice");
  if (prepares(run.kind) || expedited()) return;
  require(run.notified, "KILL before TERM");
  if (!foreground(run.kind)) return;
  TimeMs earliest = down_at_ + shares().kill;
  std::size_t steps = 0;
  for (const Run& other : runs_) {  // a step that is the KILL reaches all that live
    const bool long_ago = other.killed && other.killed_at != now;
    if (other.kind != TaskKind::kMain || !other.live || !other.notified || long_ago) continue;
    steps = std::max(steps, other.notified_again.size());
    for (const EscalationStep& step : policy_.escalation) {
      if (step.signal == SIGKILL) earliest = std::min(earliest, other.notified_at + step.after_ms);
    }
  }
  const auto timers = static_cast<TimeMs>(2 + steps);
  require(now >= earliest - kRoundingMs, "KILL too early");
  const TimeMs latest = std::max(earliest, run.notified_at);
  require(now <= latest + kRoundingMs + timers * kTimerLatencyMs, "KILL too late");
}

// What follows the first stop signal is the escalation, step by step, each at its time.
void Referee::check_escalation(Run& run, int signal, TimeMs now) {
  require(run.kind == TaskKind::kMain && !run.killed, "a second stop signal");
  const std::size_t step = run.notified_again.size();
  if (step >= policy_.escalation.size()) return complain("a signal beyond the escalation");
  const EscalationStep& due = policy_.escalation[step];
  require(signal == due.signal, "another signal than the step's");
  require(now >= run.notified_at + due.after_ms, "a step before its time");
  require(run.notified_at + due.after_ms < down_at_ + shares().kill + kRoundingMs,
          "a step that comes after the KILL");
  run.notified_again.push_back(signal);
  run.stop_signal = signal;
}

void Referee::check_no_step_left_out(TimeMs now) {
  for (const Run& run : runs_) {
    const std::size_t next = run.notified_again.size();
    const bool waits = run.kind == TaskKind::kMain && run.live && run.notified && !run.killed;
    if (!waits || next >= policy_.escalation.size()) continue;
    const TimeMs due = run.notified_at + policy_.escalation[next].after_ms;
    if (due >= down_at_ + shares().kill - kRoundingMs) continue;  // the KILL may come first
    const auto timers = static_cast<TimeMs>(1 + next);
    require(now <= due + timers * kTimerLatencyMs, "a step was left out");
  }
}

// Each stop signal that somebody sends reaches the main tasks, whatever came before.
void Referee::check_no_stop_left_out() {
  for (const Run& run : runs_) {
    if (run.kind != TaskKind::kMain || !run.live || !run.notified || run.killed) continue;
    for (const int stop : stops_) require(has_had(run, stop), "a stop signal was not passed on");
  }
}

bool Referee::has_had(const Run& run, int signal) {
  const auto among = [signal](const std::vector<int>& signals) {
    return std::find(signals.begin(), signals.end(), signal) != signals.end();
  };
  return (run.notified && run.notified_with == signal) || among(run.passed_on) ||
         among(run.notified_again);
}

// Main tasks that may still save, before their KILL.
bool Referee::mains_end() const {
  return !up() && std::ranges::any_of(runs_, [](const Run& run) {
    return run.kind == TaskKind::kMain && run.live && !run.killed;
  });
}

// Ranks whose peers a failure has ended have less time to save than ranks that are stopped.
void Referee::settle_grace(TimeMs now) {
  const bool known = told_ || !(elsewhere_ || linked_);
  const bool rank_failed =
      elsewhere_ || (!failed_.empty() && runs_[failed_.front().task.index].kind == TaskKind::kMain);
  const bool lost = verdict_ == Verdict::kFailed && known && rank_failed && stop_signal_ == 0 &&
                    policy_.failure_grace_ms > 0;
  const bool killed = std::ranges::any_of(runs_, [](const Run& run) {
    return run.live && run.killed && !run.unreachable && foreground(run.kind) &&
           !prepares(run.kind);
  });
  const bool in_term_phase = !up() && foreground_live(true) && !killed;
  if (!in_term_phase || lost == kill_by_.has_value() || (lost && !mains_end())) return;
  quiet_ = false;  // the KILL moves
  if (lost) {
    kill_by_ = now + policy_.failure_grace_ms;
  } else {
    kill_by_.reset();
  }
}

Referee::Shares Referee::shares(bool after_failure) const {
  const TimeMs grace = policy_.grace_ms;
  const TimeMs pre_stop = count(TaskKind::kPreStop) > 0 ? policy_.pre_stop_ms : 0;
  const TimeMs post_stop = count(TaskKind::kPostStop) > 0 ? policy_.post_stop_ms : 0;
  const TimeMs before = std::max(policy_.drain_ms, pre_stop);
  const TimeMs after = policy_.kill_reserve_ms + post_stop;
  const TimeMs most = grace - grace / 4;
  TimeMs reserve = policy_.kill_reserve_ms;
  TimeMs notify = before;
  TimeMs kill = grace - after;
  if (before + after > most) {
    notify = before * most / (before + after);
    reserve = reserve * most / (before + after);
    kill = notify + grace / 4;
  }
  if (kill_by_ && after_failure) kill = std::min(kill, *kill_by_ - down_at_);
  return {std::min(policy_.drain_ms, notify), notify, kill, kill + reserve / 2};
}

// What comes later, the end of a task that outlived its KILL, no longer counts.
void Referee::settle_code() {
  if (!code_) code_ = expected_code();
}

// None of them has run, though there was time for one. Where what was stopped took long, or was
// stopped twice, only the machine knows whether there was.
bool Referee::post_stop_due(TimeMs now) const {
  constexpr TimeMs kClearlyEnoughMs = 500;
  if (count(TaskKind::kPostStop) == 0 || !begun_ || expedited()) return false;
  if (policy_.post_stop_ms < kClearlyEnoughMs) return false;
  const bool none = std::none_of(runs_.begin(), runs_.end(), [](const Run& run) {
    return run.kind == TaskKind::kPostStop && run.incarnation > 0;
  });
  if (stop_signal_ == 0) return none;
  const bool in_time =
      policy_.grace_ms >= 2 * kClearlyEnoughMs && now <= down_at_ + shares().kill - kRoundingMs;
  return none && verdict_ == Verdict::kStopped && in_time;
}

void Referee::check(const action::SweepAdopted& sweep, TimeMs now) {
  require(!up(), "a sweep while the job is well");
  require(!foreground_live(true), "a sweep beside live tasks");
  const bool gently = sweep_ == SIGTERM || sweep_ == SIGKILL || expedited();
  require(sweep.signal != SIGKILL || gently, "adopted processes killed before TERM");
  require(sweep.signal != SIGTERM || sweep_ == 0, "a second sweep inside a sweep");
  require(sweep.signal != 0 || sweeping(), "the end of no sweep");
  require(sweep.signal != SIGTERM || !expedited(), "patience with somebody who hurries");
  if (sweep_ == 0) begin_sweep(now);
  sweep_ = sweep.signal;
  swept_ |= sweeping();
}

void Referee::check(const action::SetTimer& timer, TimeMs now) {
  const auto slot = static_cast<std::size_t>(timer.timer);
  require(timer.generation > generations_[slot], "a timer generation used twice");
  require(timer.at >= now, "a timer in the past");
  generations_[slot] = timer.generation;
  pending_[slot] = Pending{timer.generation, timer.at};
  if (timer.timer == Timer::kExpire) {
    require(timer.at == std::max(now, expires_at_), "the end of the job's time");
  }
  if (timer.timer == Timer::kGiveUp) ++reaps_;
  if (timer.timer == Timer::kSweep) check_patience(timer.at, now);
  if (timer.timer == Timer::kRendezvous) check_rendezvous(timer.at, now);
  if (timer.timer == Timer::kVerdict) check_wait_for_verdict(timer.at, now);
  if (timer.timer == Timer::kCheckpoint) require(timer.at == saving_until_, "what was granted");
  if (timer.timer == Timer::kDiagnosis) {
    require(diagnosing_, "what nobody looks for is awaited");
    require(timer.at == std::max(now, failed_at_ + kLongestLookMs), "how long a look may take");
  }
  if (timer.timer != Timer::kRestart) return;
  TimeMs delay = policy_.restart_delay_ms;
  const TimeMs most = std::max(delay, policy_.restart_delay_max_ms);
  for (std::uint32_t i = 1; i < answered_; ++i) {
    delay = std::min(2 * delay, most);
  }
  // Other nodes, or the first failure: there is nothing to wait for.
  if (verdict_ == Verdict::kReplanned || answered_ == 0) delay = 0;
  require(!diagnosing_, "a restart before it is known whether it can help");
  restart_was_due_ = restart_due();
  if (verdict_ == Verdict::kFailed) ++answered_;
  require(timer.at == now + delay, "the wrong backoff");
}

// How long what is left behind may take for its TERM.
void Referee::check_patience(TimeMs until, TimeMs now) {
  const bool stops_now = stop_signal_ != 0 && stopped_at_ == now;  // with the whole grace before it
  if (stops_now) kill_by_.reset();
  const TimeMs from = stops_now ? now : down_at_ + waited_;
  require(until <= std::max(now, from + shares().sweep_kill + kRoundingMs),
          "leftovers are given more than the grace");
  const bool copied = std::any_of(runs_.begin(), runs_.end(), [](const Run& run) {
    return run.kind == TaskKind::kData && run.killed;
  });
  require(!copied || stops_now || until <= now + kReapMs,
          "patience with what a copy leaves behind");
}

void Referee::check(const action::CancelTimer& timer, TimeMs now) {
  auto& pending = pending_[static_cast<std::size_t>(timer.timer)];
  require(pending.has_value(), "a timer cancelled that is not pending");
  if (timer.timer == Timer::kVerdict) end_wait_for_verdict(now);
  pending.reset();
}

void Referee::check(const action::Report& /*report*/, TimeMs /*now*/) { ++reports_; }

void Referee::check(const action::Exit& exit, TimeMs now) {
  exited_ = true;
  require(!post_stop_due(now), "exit without the post-stop tasks");
  settle_code();
  for (const auto& pending : pending_) require(!pending.has_value(), "a timer outlives the exit");
  for (const Run& run : runs_)
    require(!run.live || run.killed, "a task outlives the exit unkilled");
  require(swept_ && !sweeping(), "exit without a complete sweep");
  if (exit.code != *code_) {
    complain("exit code " + std::to_string(exit.code) + " where the history says " +
             std::to_string(*code_));
  }
}

void Referee::check_forwarding(const Event& event, const std::vector<Action>& actions) {
  const auto* signal = std::get_if<event::SignalReceived>(&event);
  if (signal == nullptr) return;
  std::size_t expected = 0;
  const bool up =
      phase_ == Phase::kStarting || phase_ == Phase::kRunning || phase_ == Phase::kCheckpointing;
  for (const Run& run : runs_) {
    expected += static_cast<std::size_t>(up && run.kind == TaskKind::kMain && run.live);
  }
  if (phase_ == Phase::kStopping) return;  // those that were given up are not counted here
  require(actions.size() == expected, "a signal did not reach each main task once");
  for (const Action& action : actions) {
    const auto* sent = std::get_if<action::Signal>(&action);
    require(sent != nullptr && sent->signal == signal->signal, "another signal was forwarded");
  }
}

// --- What the state must be ---

void Referee::check_table(const Machine& after) {
  require(after.tasks().size() == runs_.size(), "the table's size");
  for (std::size_t i = 0; i < runs_.size() && i < after.tasks().size(); ++i) {
    const Task& task = after.tasks()[i];
    const Run& run = runs_[i];
    require(task.kind == run.kind && task.ordinal == run.ordinal, "the table's order");
    require(task.incarnation == run.incarnation, "a task's incarnation");
    require(task.stop_signal == run.stop_signal, "a task's last stop signal");
    require(task.live() == run.live, "the table says otherwise about a task's life");
    require(task.live() || task.incarnation == 0 || task.exit_status == run.exit_status,
            "a task's ending");
  }
}

void Referee::check_phase(const Machine& after, TimeMs now) {
  const Phase phase = after.phase();
  if (phase != phase_ && !may_follow(phase_, phase)) {
    complain(std::string("from ") + phase_name(phase_) + " to " + phase_name(phase));
  }
  require((phase == Phase::kExited) == exited_, "Exit and the phase differ");
  require(after.restarts() == restarts_, "the number of restarts");
  require(after.stop_signal() == stop_signal_, "the stop signal");
  const bool well =
      phase == Phase::kPreparing || phase == Phase::kStarting || phase == Phase::kRunning;
  require(well == (verdict_ == Verdict::kOpen), "the phase does not fit what happened");
  require((phase == Phase::kCheckpointing) == saving_, "the phase does not fit the checkpoint");
  require(after.stopped() == (verdict_ == Verdict::kStopped), "whether it was stopped");
  require(after.expired() == (verdict_ == Verdict::kExpired), "whether its time was over");
  require(after.rescheduled() == (verdict_ == Verdict::kRescheduled),
          "whether it starts elsewhere");
  bool unconfirmed = false;
  for (const Run& run : runs_) {
    unconfirmed |= run.kind == TaskKind::kMain && run.live && !run.confirmed;
  }
  if (phase == Phase::kPostStop) {
    require(code_.has_value() && after.exit_code() == *code_, "what post-stop tasks are told");
  }
  if (phase == Phase::kRunning) {
    require(!unconfirmed, "running before all are confirmed");
    require(live(TaskKind::kPostStart, true) || !left(TaskKind::kPostStart),
            "a post-start hook was left out");
  }
  if (phase == Phase::kStarting) require(unconfirmed, "starting with nothing to start");
  if (phase == Phase::kPreparing && begun_) {
    const bool answer = !has_resolver_ && !ready_;
    require(foreground_live(true) || pending(Timer::kResolve).has_value() ||
                pending(Timer::kRendezvous).has_value() || answer,
            "preparing, and nothing to wait for");
  }
  if (phase != phase_) phase_since_ = now;
}

void Referee::check_checkpoint(const Machine& after, TimeMs now) {
  require(!saving_ || now <= saving_until_ + kTimerLatencyMs, "a checkpoint longer than granted");
  require(asked_to_save_ == (asked_ && policy_.checkpoint_signal != 0), "nobody was asked to save");
  require(after.saves_asked() == saves_asked_, "how many checkpoints were asked for here");
  require(after.save_keeps_running() == save_keeps_running_, "whether it goes on after the last");
  require(after.checkpoint_until() == (saving_ ? saving_until_ : 0), "the end of the checkpoint");
  require(pending(Timer::kCheckpoint).has_value() == saving_, "the checkpoint's timer");
  if (!up()) return;
  const bool hook = live(TaskKind::kCheckpoint, true);
  require(after.checkpointing() == (saving_ || hook), "whether a checkpoint is under way");
  require(hook || !round_open_ || !left(TaskKind::kCheckpoint), "a checkpoint hook was left out");
}

void Referee::check_limit(const Event& event, const std::vector<Action>& actions,
                          const Machine& after) {
  if (std::holds_alternative<event::ExpireIn>(event) && !quiet_) {
    const auto* timer = actions.size() == 1 ? std::get_if<action::SetTimer>(&actions[0]) : nullptr;
    require(timer != nullptr && timer->timer == Timer::kExpire,
            "another limit does something else");
    require(after.phase() == phase_, "another limit changes the phase");
  }
  if (after.phase() == Phase::kHold) expires_at_ = 0;
  require(after.expires_at() == expires_at_, "when the job's time is over");
  if (exited_) return;
  require(pending(Timer::kExpire).has_value() == (expires_at_ != 0), "the time limit's timer");
}

void Referee::check_way_down(const Machine& after, TimeMs now) {
  if (stop_signal_ != 0) {
    require(now <= stopped_at_ + policy_.grace_ms + overrun_ms(), "the grace is over");
  }
  if (up() || exited_) return;
  bool pending = after.phase() == Phase::kOnFailure && live(TaskKind::kOnFailure, true);
  for (const auto& timer : pending_) pending |= timer.has_value();
  require(pending, "on the way down without a timer");
  check_notified_in_time(now);
  check_no_step_left_out(now);
  check_no_stop_left_out();
  require(!nothing_left_ || after.phase() != Phase::kStopping, "waiting for nothing");
  if (after.phase() == Phase::kStopping && stop_signal_ == 0) {
    require(now - down_at_ <= policy_.grace_ms + waited_ms(now) + overrun_ms(),
            "stopping takes too long");
  }
  if (after.phase() == Phase::kPostStop && stop_signal_ == 0) {
    const TimeMs most = policy_.grace_ms + policy_.post_stop_ms + overrun_ms();
    require(now - phase_since_ <= most, "post-stop takes too long");
  }
}

void Referee::check_cause(const Machine& after) {
  require(reports_ == reports_due_, "one report a failure");
  const Cause* cause = after.cause();
  if (verdict_ == Verdict::kFailed || verdict_ == Verdict::kStoppedElsewhere) {
    if (cause == nullptr) return complain("no cause");
    require(cause->exit_code == failure_code_, "the cause's code");
    const bool same = std::equal(cause->ends.begin(), cause->ends.end(), failed_.begin(),
                                 failed_.end(), [](const auto& a, const auto& b) {
                                   return a.task == b.task && a.exit_status == b.exit_status;
                                 });
    require(same, "the cause names others");
  }
  if (verdict_ == Verdict::kOpen || verdict_ == Verdict::kSucceeded) {
    require(cause == nullptr, "a cause without a failure");
  }
}

void Referee::check_hold(const Machine& after, TimeMs now) {
  const Phase phase = after.phase();
  const bool entered = phase != phase_;
  phase_ = phase;
  const bool waits = phase == Phase::kHold || phase == Phase::kAutoRestart;
  const bool ends = phase == Phase::kPostStop || phase == Phase::kExited;
  require(after.restart_at() == (awaits_restart() ? pending(Timer::kRestart)->at : 0),
          "when the next start begins");
  if (entered && (waits || ends) && verdict_ == Verdict::kFailed && stop_signal_ == 0 && !held_) {
    require(!left(TaskKind::kOnFailure), "an on-failure hook was left out");
  }
  if (!waits) {
    require(after.hold_until() == 0, "a hold outside the hold");
    if (!entered || !ends || stop_signal_ != 0) return;
    require(verdict_ != Verdict::kFailed || held_ || policy_.hold_ms == 0,
            "no hold after a failure");
    return require(held_ || !restart_due(), "no restart after a failure or for other nodes");
  }
  const bool again = verdict_ == Verdict::kReplanned && phase == Phase::kAutoRestart;
  require((verdict_ == Verdict::kFailed || again) && stop_signal_ == 0,
          "hold or restart after no failure");
  for (const Run& run : runs_) {
    const bool touched = run.kind == TaskKind::kService && run.live && (run.notified || run.killed);
    require(!touched, "a service was told to stop before the end");
  }
  if (phase == Phase::kAutoRestart) {
    require(!entered || restart_was_due_, "a restart that must not be");
    require(!held_ && !live(TaskKind::kMain) && !expired_, "a restart beside or after its end");
    require(awaits_restart(), "no restart to wait for");
    return;
  }
  if (entered) {
    require(!restart_due() && !held_ && policy_.hold_ms > 0, "a hold that must not be");
    hold_until_ = now + policy_.hold_ms;
    held_ = true;
  }
  require(after.hold_until() == hold_until_, "the end of the hold");
  const auto& timer = pending(Timer::kHold);
  require(timer.has_value() && timer->at == hold_until_, "the hold's timer");
}

// What counts against the restarts, and the wait for whether one can help: no longer than it is
// looked for, and only before one that would follow.
void Referee::check_restarts(const Machine& after) {
  const bool begins = mains_started_ || pausing_;
  if (!began_at_ && begins && verdict_ == Verdict::kOpen) began_at_ = now_;
  require(after.failures() == answered_, "how many failures count against the restarts");
  if (exited_) return;
  const Phase phase = after.phase();
  const bool looks = pending(Timer::kDiagnosis).has_value();
  require(!looks || (diagnosing_ && stop_signal_ == 0), "a wait for what is known");
  require(!looks || phase == Phase::kOnFailure, "a wait for the cause beside the job");
  const bool hook = live(TaskKind::kOnFailure, true);
  require(phase != Phase::kOnFailure || hook || looks, "a failure that is left lying");
}

// Whether the job begins anew after what has happened, if nobody stops it.
bool Referee::restart_due() const {
  if (stuck_) return false;
  if (verdict_ == Verdict::kReplanned) return true;
  if (verdict_ != Verdict::kFailed || !restartable_ || held_) return false;
  const bool left = std::cmp_less(answered_, policy_.max_restarts);
  if (elsewhere_) return left && (mains_started_ || pausing_ || nodes_ready_);
  for (const CodeRange& range : policy_.no_restart_on) {
    if (failure_code_ >= range.first && failure_code_ <= range.last) return false;
  }
  return left;
}

// --- Helpers ---

bool Referee::known(TaskRef task) const {
  return task.index < runs_.size() && task.incarnation != 0 &&
         runs_[task.index].incarnation == task.incarnation;
}

bool Referee::live(TaskKind kind, bool unless_killed) const {
  return std::any_of(runs_.begin(), runs_.end(), [&](const Run& run) {
    return run.kind == kind && run.live && !(unless_killed && run.killed);
  });
}

bool Referee::foreground_live(bool unless_killed) const {
  return std::any_of(runs_.begin(), runs_.end(), [&](const Run& run) {
    return foreground(run.kind) && run.live && !(unless_killed && run.killed);
  });
}

// Whether the last answer named it.
bool Referee::in_job(const Run& run) const { return run.ordinal < count(run.kind); }

// A hook's run in this start of the job, or for this checkpoint.
bool Referee::ran(const Run& run) const {
  const bool this_job = run.incarnation > 0 && run.job == job_;
  return this_job && (run.kind != TaskKind::kCheckpoint || run.round == round_);
}

// Whether a hook of this kind still has to run. One that hangs in the kernel since it was killed
// never can again.
bool Referee::left(TaskKind kind) const {
  return std::any_of(runs_.begin(), runs_.end(), [&](const Run& run) {
    return run.kind == kind && in_job(run) && !ran(run) && !run.live;
  });
}

// Whether all that must have ended well before a task of this kind starts, has.
bool Referee::prepared(TaskKind kind, std::uint32_t ordinal) const {
  if (!begun_) return false;
  if (prepares(kind)) return true;
  if (policy_.rendezvous_ms > 0 && !nodes_ready_) return false;
  for (const Run& run : runs_) {
    const bool ended_well = run.incarnation > 0 && !run.live && run.exit_status.ok();
    const bool this_job = run.job == job_;
    const bool earlier = kind != TaskKind::kPreStart || run.ordinal < ordinal;
    if (run.kind == TaskKind::kData && !ended_well) return false;
    if (run.kind == TaskKind::kResolve && !(ended_well && this_job)) return false;
    const bool hook = run.kind == TaskKind::kPreStart && in_job(run) && earlier;
    if (hook && !(ended_well && this_job)) return false;
  }
  return ready_;
}

}  // namespace sim
