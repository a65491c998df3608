#include "tests/sim/lifecycle_referee.h"

#include <algorithm>
#include <csignal>
#include <utility>

namespace sim {

using namespace lifecycle;

namespace {

bool foreground(TaskKind kind) { return kind != TaskKind::kService && kind != TaskKind::kPostStop; }

// The three waits for killed processes that policy.h allows after the grace, and late timers.
constexpr TimeMs kOverrunMs = 3 * kReapMs + 6 * Referee::kTimerLatencyMs;

// Which phase may follow which, within one step.
bool may_follow(Phase from, Phase to) {
  const auto one_of = [to](std::initializer_list<Phase> phases) {
    return std::find(phases.begin(), phases.end(), to) != phases.end();
  };
  switch (from) {
    case Phase::kPreparing:
      return one_of({Phase::kStarting, Phase::kRunning, Phase::kStopping});
    case Phase::kStarting:
      return one_of({Phase::kRunning, Phase::kStopping});
    case Phase::kRunning:
    case Phase::kHold:
      return one_of({Phase::kStopping});
    case Phase::kStopping:
      return one_of({Phase::kPostStop, Phase::kAutoRestart, Phase::kHold, Phase::kExited});
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
    runs_.push_back({.kind = kind, .ordinal = static_cast<std::uint32_t>(ordinal), .ending = {}});
    has_resolver_ |= kind == TaskKind::kResolve;
    has_post_stop_ |= kind == TaskKind::kPostStop;
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
  if (phase_ != Phase::kStopping && phase_ != Phase::kPostStop) swept_ = false;
  believe(event, now);
  settle();
  for (const Action& action : actions) {
    require(!exited_, "an action after Exit");
    std::visit([this, now](const auto& what) { check(what, now); }, action);
  }
  if (quiet_) {
    require(actions.empty(), "a late event had an effect");
    require(after.phase() == phase_, "a late event changed the phase");
  }
  check_forwarding(event, actions);
  check_table(after);
  check_phase(after, now);
  check_way_down(after, now);
  check_cause(after);
  check_hold(after, now);
}

// --- What the events mean ---

void Referee::believe(const Event& event, TimeMs now) {
  forwarding_ = false;
  nothing_left_ = false;
  quiet_ = false;
  const bool open = verdict_ == Verdict::kOpen;
  if (std::holds_alternative<event::Begin>(event)) {
    quiet_ = begun_ || !open;
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
    if (!quiet_) said_failed_ = failed->exit_code;
  } else if (const auto* stop = std::get_if<event::StopRequested>(&event)) {
    believe_stop(stop->signal, now);
  } else if (std::holds_alternative<event::SignalReceived>(event)) {
    forwarding_ = true;
  } else if (const auto* timer = std::get_if<event::TimerFired>(&event)) {
    believe_timer(*timer);
  } else if (std::holds_alternative<event::NothingLeft>(event)) {
    nothing_left_ = sweeping();
    quiet_ = !sweeping();
  } else if (std::holds_alternative<event::NothingAdopted>(event)) {
    quiet_ = !sweeping();
  } else {
    quiet_ = phase_ != Phase::kHold;  // Release, HoldFor
    const auto* hold = std::get_if<event::HoldFor>(&event);
    if (hold != nullptr && !quiet_) hold_until_ = now + std::max<TimeMs>(0, hold->duration_ms);
  }
}

void Referee::believe_ready(const event::ClusterReady& event) {
  bool answerable = !has_resolver_;
  for (const Run& run : runs_) {
    if (run.kind != TaskKind::kResolve || run.incarnation == 0) continue;
    answerable |= run.live || run.ending.ok();
  }
  quiet_ = verdict_ != Verdict::kOpen || !begun_ || ready_ || said_failed_ != 0 || !answerable;
  if (quiet_) return;
  ready_ = true;
  success_ = event.success;
  mains_ = 0;
  services_ = 0;
  for (const TaskKind kind : event.tasks) {
    const std::uint32_t ordinal = kind == TaskKind::kMain ? mains_++ : services_++;
    const bool exists = std::any_of(runs_.begin(), runs_.end(), [&](const Run& run) {
      return run.kind == kind && run.ordinal == ordinal;
    });
    if (!exists) runs_.push_back({.kind = kind, .ordinal = ordinal, .ending = {}});
  }
}

void Referee::believe_ends(const event::TasksEnded& event) {
  std::vector<event::TaskEnd> bad;
  int code = 0;
  quiet_ = true;
  for (const event::TaskEnd& end : event.ends) {
    if (!known(end.task) || !runs_[end.task.index].live) continue;
    quiet_ = false;
    Run& run = runs_[end.task.index];
    run.live = false;
    run.ending = end.ending;
    if (verdict_ != Verdict::kOpen || run.told || run.killed || !foreground(run.kind)) continue;
    const bool resolve = run.kind == TaskKind::kResolve;
    if (end.ending.ok() && !(resolve && said_failed_ != 0)) continue;
    if (run.kind == TaskKind::kMain && success_ == SuccessPolicy::kFirst && run.ordinal > 0) {
      continue;
    }
    if (bad.empty()) {
      code = !resolve ? end.ending.exit_code() : said_failed_ != 0 ? said_failed_ : 125;
    }
    bad.push_back(end);
  }
  if (!bad.empty()) fail(code, std::move(bad));
}

void Referee::believe_stop(int signal, TimeMs now) {
  if (signal == SIGINT) ++interrupts_;
  if (stop_signal_ != 0) return;
  stop_signal_ = signal;
  stopped_at_ = now;
  if (pending(Timer::kRestart).has_value()) {
    verdict_ = Verdict::kStopped;
    mains_started_ = false;
  }
  if (verdict_ == Verdict::kOpen) verdict_ = Verdict::kStopped;
}

void Referee::believe_timer(const event::TimerFired& event) {
  auto& pending = pending_[static_cast<std::size_t>(event.timer)];
  quiet_ = !pending.has_value() || pending->generation != event.generation;
  if (quiet_) return;
  pending.reset();
  if (event.timer == Timer::kResolve) {
    const bool late = live(TaskKind::kResolve) && !ready_;
    fail(said_failed_ != 0 ? said_failed_ : late ? 124 : 125, {});
  } else if (event.timer == Timer::kRestart) {
    ++restarts_;
    verdict_ = Verdict::kOpen;
    main_failed_ = false;
    mains_started_ = false;
    said_failed_ = 0;
    ready_ = !has_resolver_;
  }
}

void Referee::fail(int code, std::vector<event::TaskEnd> ends) {
  require(verdict_ == Verdict::kOpen, "a resolve timer outlived the preparation");
  verdict_ = Verdict::kFailed;
  failure_code_ = code;
  failed_ = std::move(ends);
  main_failed_ = mains_started_;
  ++failures_;
}

// Has the job come to its end by itself?
void Referee::settle() {
  if (verdict_ != Verdict::kOpen) return;
  pausing_ = mains_ == 0 && prepared(TaskKind::kMain);
  if (!mains_started_) return;
  const bool over = std::none_of(runs_.begin(), runs_.end(), [this](const Run& run) {
    const bool counts = success_ != SuccessPolicy::kFirst || run.ordinal == 0;
    return run.kind == TaskKind::kMain && in_job(run) && counts && run.live;
  });
  if (over) verdict_ = Verdict::kSucceeded;
}

int Referee::expected_code() const {
  if (verdict_ == Verdict::kFailed) return failure_code_;
  if (verdict_ != Verdict::kStopped) return 0;
  const int told = 128 + stop_signal_;
  if (pausing_) return 0;
  if (!mains_started_) return told;
  bool served = success_ == SuccessPolicy::kServe;
  const Run* single = nullptr;
  for (const Run& run : runs_) {
    if (run.kind != TaskKind::kMain || !in_job(run)) continue;
    single = &run;
    const Ending by_signal{Ending::How::kSignaled, stop_signal_};
    served = served && !run.live && (run.ending.ok() || run.ending == by_signal);
  }
  if (served) return 0;
  if (mains_ != 1) return told;
  return single->live ? 137 : single->ending.exit_code();
}

// --- What the actions may be ---

void Referee::check(const action::Start& start, TimeMs /*now*/) {
  if (start.task.index >= runs_.size()) return complain("start of an unknown task");
  Run& run = runs_[start.task.index];
  require(!run.live, "two live incarnations of a task");
  require(start.task.incarnation == run.incarnation + 1, "an incarnation was left out");
  if (run.kind == TaskKind::kPostStop) {
    require(verdict_ != Verdict::kOpen && swept_ && !sweeping(), "post-stop before the end");
    require(!foreground_live(true), "post-stop beside a task that was not killed");
    require(!live(TaskKind::kPostStop), "two post-stop tasks at a time");
    require(begun_, "post-stop without a beginning");
    require(interrupts_ < 2, "post-stop after the second interrupt");
  } else {
    require(stop_signal_ == 0, "a start after a stop request");
    require(verdict_ == Verdict::kOpen, "a start after the end was decided");
    require(prepared(run.kind, run.ordinal), "a start before its turn");
  }
  const bool again = run.kind == TaskKind::kMain || run.kind == TaskKind::kService ||
                     run.kind == TaskKind::kResolve;
  require(again || run.incarnation == 0, "a hook or the data task was started again");
  require(!(run.kind == TaskKind::kPreStart && live(TaskKind::kPreStart)),
          "two pre-start tasks at a time");
  const bool of_job = run.kind == TaskKind::kMain || run.kind == TaskKind::kService;
  require(!of_job || in_job(run), "a start of a task that is no longer of the job");
  mains_started_ |= run.kind == TaskKind::kMain;
  run = {.kind = run.kind,
         .ordinal = run.ordinal,
         .incarnation = start.task.incarnation,
         .live = true,
         .ending = {}};
}

void Referee::check(const action::Signal& signal, TimeMs now) {
  if (!known(signal.task)) return complain("a signal to an incarnation that is not");
  Run& run = runs_[signal.task.index];
  require(run.live, "a signal to a task that does not live");
  if (forwarding_)
    return require(run.kind == TaskKind::kMain, "a signal forwarded to no main task");
  require(verdict_ != Verdict::kOpen, "a stop signal while the job is well");
  if (signal.signal == SIGKILL) {
    check_kill(run, now);
    run.killed = true;
    run.stop_signal = SIGKILL;
    return;
  }
  require(!run.told, "a second stop signal");
  require(run.kind != TaskKind::kResolve, "TERM to the resolver");
  const bool pass_on = run.kind == TaskKind::kMain && verdict_ == Verdict::kStopped;
  require(signal.signal == (pass_on ? stop_signal_ : SIGTERM), "the wrong stop signal");
  require(foreground(run.kind) || !foreground_live(true),
          "a service stopped before the main tasks");
  run.told = true;
  run.stop_signal = signal.signal;
  run.told_at = now;
}

void Referee::check_kill(const Run& run, TimeMs now) {
  require(!run.killed || run.kind == TaskKind::kService, "KILL twice");
  if (run.kind == TaskKind::kResolve || interrupts_ >= 2) return;
  require(run.told, "KILL before TERM");
  if (!foreground(run.kind)) return;
  const TimeMs waited = now - run.told_at;
  constexpr TimeMs kRoundingMs = 2;
  require(waited >= term_phase_ms(), "KILL too early");
  require(waited <= term_phase_ms() + kRoundingMs + kTimerLatencyMs, "KILL too late");
}

TimeMs Referee::term_phase_ms() const {
  const TimeMs reserves = policy_.kill_reserve_ms + (has_post_stop_ ? policy_.post_stop_ms : 0);
  return std::max(policy_.grace_ms - reserves, policy_.grace_ms / 4);
}

void Referee::check(const action::SweepAdopted& sweep, TimeMs /*now*/) {
  require(verdict_ != Verdict::kOpen, "a sweep while the job is well");
  require(!foreground_live(true), "a sweep beside live tasks");
  const bool gently = sweep_ == SIGTERM || sweep_ == SIGKILL || interrupts_ >= 2;
  require(sweep.signal != SIGKILL || gently, "adopted processes killed before TERM");
  require(sweep.signal != SIGTERM || sweep_ == 0, "a second sweep inside a sweep");
  require(sweep.signal != 0 || sweeping(), "the end of no sweep");
  require(sweep.signal != SIGTERM || interrupts_ < 2, "patience after the second interrupt");
  if (sweep_ == 0) stuck_ = live(TaskKind::kMain);
  sweep_ = sweep.signal;
  swept_ |= sweeping();
}

void Referee::check(const action::SetTimer& timer, TimeMs now) {
  const auto slot = static_cast<std::size_t>(timer.timer);
  require(timer.generation > generations_[slot], "a timer generation used twice");
  require(timer.at >= now, "a timer in the past");
  generations_[slot] = timer.generation;
  pending_[slot] = Pending{timer.generation, timer.at};
  if (timer.timer != Timer::kRestart) return;
  TimeMs delay = policy_.restart_backoff_ms;
  for (std::uint32_t i = 0; i < restarts_; ++i) {
    delay = std::min(2 * delay, policy_.restart_backoff_max_ms);
  }
  require(timer.at == now + std::min(delay, policy_.restart_backoff_max_ms), "the wrong backoff");
}

void Referee::check(const action::CancelTimer& timer, TimeMs /*now*/) {
  auto& pending = pending_[static_cast<std::size_t>(timer.timer)];
  require(pending.has_value(), "a timer cancelled that is not pending");
  pending.reset();
}

void Referee::check(const action::Report& /*report*/, TimeMs /*now*/) { ++reports_; }

void Referee::check(const action::Exit& exit, TimeMs /*now*/) {
  exited_ = true;
  for (const auto& pending : pending_) require(!pending.has_value(), "a timer outlives the exit");
  for (const Run& run : runs_)
    require(!run.live || run.killed, "a task outlives the exit unkilled");
  require(swept_ && !sweeping(), "exit without a complete sweep");
  if (exit.code != expected_code()) {
    complain("exit code " + std::to_string(exit.code) + " where the history says " +
             std::to_string(expected_code()));
  }
}

void Referee::check_forwarding(const Event& event, const std::vector<Action>& actions) {
  const auto* signal = std::get_if<event::SignalReceived>(&event);
  if (signal == nullptr) return;
  std::size_t expected = 0;
  const bool up = phase_ == Phase::kStarting || phase_ == Phase::kRunning;
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
    require(task.live() || task.incarnation == 0 || task.ending == run.ending, "a task's ending");
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
  const bool up =
      phase == Phase::kPreparing || phase == Phase::kStarting || phase == Phase::kRunning;
  require(up == (verdict_ == Verdict::kOpen), "the phase does not fit what happened");
  bool unconfirmed = false;
  for (const Run& run : runs_) {
    unconfirmed |= run.kind == TaskKind::kMain && run.live && !run.confirmed;
  }
  if (phase == Phase::kRunning) require(!unconfirmed, "running before all are confirmed");
  if (phase == Phase::kStarting) require(unconfirmed, "starting with nothing to start");
  if (phase == Phase::kPreparing && begun_) {
    const bool answer = !has_resolver_ && !ready_;
    require(foreground_live(false) || pending(Timer::kResolve).has_value() || answer,
            "preparing, and nothing to wait for");
  }
  if (phase != phase_) phase_since_ = now;
}

void Referee::check_way_down(const Machine& after, TimeMs now) {
  if (stop_signal_ != 0) {
    require(now <= stopped_at_ + policy_.grace_ms + kOverrunMs, "the grace is over");
  }
  if (verdict_ == Verdict::kOpen || exited_) return;
  bool pending = false;
  for (const auto& timer : pending_) pending |= timer.has_value();
  require(pending, "on the way down without a timer");
  for (const Run& run : runs_) {
    require(!run.live || !foreground(run.kind) || run.told || run.killed, "a task was not told");
  }
  require(!nothing_left_ || after.phase() != Phase::kStopping, "waiting for nothing");
  if (after.phase() == Phase::kStopping && stop_signal_ == 0) {
    require(now - phase_since_ <= policy_.grace_ms + kOverrunMs, "stopping takes too long");
  }
  if (after.phase() == Phase::kPostStop && stop_signal_ == 0) {
    const TimeMs most = policy_.grace_ms + policy_.post_stop_ms + kOverrunMs;
    require(now - phase_since_ <= most, "post-stop takes too long");
  }
}

void Referee::check_cause(const Machine& after) {
  require(reports_ == failures_, "one report a failure");
  const Cause* cause = after.cause();
  if (verdict_ == Verdict::kFailed) {
    if (cause == nullptr) return complain("no cause");
    require(cause->exit_code == failure_code_, "the cause's code");
    const bool same = std::equal(
        cause->ends.begin(), cause->ends.end(), failed_.begin(), failed_.end(),
        [](const auto& a, const auto& b) { return a.task == b.task && a.ending == b.ending; });
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
  const bool due = main_failed_ && restarts_ < policy_.max_restarts && !stuck_;
  const bool waits = phase == Phase::kHold || phase == Phase::kAutoRestart;
  if (!waits) {
    require(after.hold_until() == 0, "a hold outside the hold");
    const bool ends = phase == Phase::kPostStop || phase == Phase::kExited;
    if (!entered || !ends || verdict_ != Verdict::kFailed || stop_signal_ != 0) return;
    require(held_ || policy_.hold_ms == 0, "no hold after a failure");
    return require(held_ || !due, "no restart after a failure");
  }
  require(verdict_ == Verdict::kFailed && stop_signal_ == 0, "hold or restart after no failure");
  for (const Run& run : runs_) {
    const bool touched = run.kind == TaskKind::kService && run.live && (run.told || run.killed);
    require(!touched, "a service was told to stop before the end");
  }
  if (phase == Phase::kAutoRestart) {
    require(due && !held_ && !live(TaskKind::kMain), "a restart that must not be");
    require(pending(Timer::kRestart).has_value(), "no restart to wait for");
    return;
  }
  if (entered) {
    require(!due && !held_ && policy_.hold_ms > 0, "a hold that must not be");
    hold_until_ = now + policy_.hold_ms;
    held_ = true;
  }
  require(after.hold_until() == hold_until_, "the end of the hold");
  const auto& timer = pending(Timer::kHold);
  require(timer.has_value() && timer->at == hold_until_, "the hold's timer");
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

bool Referee::in_job(const Run& run) const {
  return run.ordinal < (run.kind == TaskKind::kMain ? mains_ : services_);
}

// Whether all that must have ended well before a task of this kind starts, has.
bool Referee::prepared(TaskKind kind, std::uint32_t ordinal) const {
  if (!begun_) return false;
  for (const Run& run : runs_) {
    const bool ended_well = run.incarnation > 0 && !run.live && run.ending.ok();
    switch (run.kind) {
      case TaskKind::kPreStart:
        if (kind == TaskKind::kPreStart && run.ordinal >= ordinal) break;
        if (!ended_well) return false;
        break;
      case TaskKind::kData:
      case TaskKind::kResolve:
        if (kind != TaskKind::kMain && kind != TaskKind::kService) break;
        if (!ended_well || (run.kind == TaskKind::kResolve && run.incarnation != restarts_ + 1)) {
          return false;
        }
        break;
      default:
        break;
    }
  }
  return (kind != TaskKind::kMain && kind != TaskKind::kService) || ready_;
}

}  // namespace sim
