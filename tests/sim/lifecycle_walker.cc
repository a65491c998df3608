#include "tests/sim/lifecycle_walker.h"

#include <algorithm>
#include <csignal>

#include "tests/lifecycle/text.h"

namespace sim {

using namespace lifecycle;

namespace {

TaskRef ref_of(const Referee& referee, std::size_t index) {
  return {static_cast<std::uint32_t>(index), referee.runs()[index].incarnation};
}

// The ways in which a task of this kind may end; few, so that trees stay small.
std::vector<ExitStatus> endings(const Run& run) {
  std::vector<ExitStatus> all = {{ExitStatus::How::kExited, 0}};
  if (run.kind == TaskKind::kService) return all;
  const bool counts = run.kind < TaskKind::kCheckpoint;
  if (!counts && !run.killed) return all;  // whatever it says is the same
  if (run.kind == TaskKind::kMain && run.notified)
    all.push_back({ExitStatus::How::kSignaled, SIGTERM});
  for (const int signal : run.notified_again) all.push_back({ExitStatus::How::kSignaled, signal});
  for (const int signal : run.passed_on) all.push_back({ExitStatus::How::kSignaled, signal});
  if (run.killed) return {{ExitStatus::How::kSignaled, SIGKILL}};
  if (run.confirmed || run.kind != TaskKind::kMain) {
    all.push_back({ExitStatus::How::kExited, 3});
  } else {
    all.push_back({ExitStatus::How::kNotStarted, 127});
  }
  return all;
}

}  // namespace

Walker::Walker(const WalkedJob& job)
    : job_(&job), machine_(job.policy, job.preparing), referee_(job.policy, job.preparing) {}

std::optional<Walker::Due> Walker::next_timer() const {
  std::optional<Due> next;
  for (std::size_t i = 0; i < kTimerCount; ++i) {
    const auto timer = static_cast<Timer>(i);
    const auto& pending = referee_.pending(timer);
    if (!pending.has_value() || (next.has_value() && next->at <= pending->at)) continue;
    next = Due{{timer, pending->generation}, pending->at};
  }
  return next;
}

TimeMs Walker::until_next_timer() const {
  const auto next = next_timer();
  return next.has_value() ? std::max<TimeMs>(0, next->at - now_) : -1;
}

// What the other nodes may say where it counts.
void Walker::add_nodes(std::vector<Event>* moves) const {
  if (machine_.awaits_nodes()) moves->emplace_back(event::NodesReady{machine_.restarts() + 1});
  const Phase phase = machine_.phase();
  const bool over = phase == Phase::kHold || phase == Phase::kPostStop || phase == Phase::kExited;
  if (!job_->linked || over) return;
  moves->emplace_back(event::Linked{true});
  moves->emplace_back(event::Linked{false});
  if (phase != Phase::kPreparing) moves->emplace_back(event::JobFailed{});
  if (phase < Phase::kCheckpointing) moves->emplace_back(event::Unfit{});
  if (machine_.rescheduled()) moves->emplace_back(event::SaveKnown{});
  moves->emplace_back(event::JobFailed{.known = true});
  moves->emplace_back(event::JobFailed{.known = true, .again = true});
  moves->emplace_back(event::JobFailed{.known = true, .stopped = true});
  moves->emplace_back(event::JobFailed{.known = true, .expired = true});
  if (phase != Phase::kStopping && phase < Phase::kOnFailure) return;
  moves->emplace_back(event::JobFailed{.known = true, .here = true});
  moves->emplace_back(event::JobFailed{.known = true, .here = true, .again = true});
}

// And where it does not.
void Walker::add_noise_of_nodes(std::vector<Event>* noise) const {
  if (!machine_.awaits_nodes()) noise->emplace_back(event::NodesReady{9});
  const Phase phase = machine_.phase();
  const bool runs =
      phase == Phase::kStarting || phase == Phase::kRunning || machine_.start_granted();
  const bool reschedules = machine_.rescheduled();  // and what comes may have come before
  if (!runs && !reschedules) noise->emplace_back(event::JobFailed{});
  if (!reschedules) noise->emplace_back(event::SaveKnown{});
  if (phase >= Phase::kCheckpointing) noise->emplace_back(event::Unfit{});
  if (runs) noise->emplace_back(event::JobFailed{.known = true, .here = true});
  if (machine_.start_granted()) return;
  if (phase != Phase::kPreparing && phase != Phase::kHold && phase != Phase::kPostStop) return;
  noise->emplace_back(event::JobFailed{.known = true, .again = true});
  noise->emplace_back(event::JobFailed{.known = true, .here = true});
  if (phase == Phase::kPreparing) return;
  noise->emplace_back(event::JobFailed{.known = true});
  noise->emplace_back(event::JobFailed{.known = true, .stopped = true});
}

std::vector<Event> Walker::moves() const {
  std::vector<Event> out;
  const Phase phase = machine_.phase();
  if (phase == Phase::kPreparing) {
    out.emplace_back(event::Begin{});
    event::ClusterReady ready{.tasks = job_->cluster, .policy = job_->policy};
    ready.policy.success = job_->success;
    if (job_->post_stop_ms != 0) ready.policy.post_stop_ms = job_->post_stop_ms;
    out.emplace_back(ready);
    out.emplace_back(event::ResolveFailed{69});
    out.emplace_back(event::ResolveFailed{.left = true});
  }
  if (phase == Phase::kHold) {
    out.emplace_back(event::Release{});
    out.emplace_back(event::HoldFor{7000});
  }
  if (referee_.sweeping()) out.emplace_back(event::NothingAdopted{});
  out.emplace_back(event::StopRequested{SIGTERM});
  out.emplace_back(event::StopRequested{SIGINT});
  const bool down = phase == Phase::kStopping || phase >= Phase::kOnFailure;
  for (const Event& ask : job_->asks) {
    if (!down || phase == Phase::kAutoRestart) out.push_back(ask);
  }
  add_nodes(&out);
  const bool fails = phase == Phase::kStopping || phase == Phase::kOnFailure;
  const bool open = job_->finds_dead && machine_.failed_elsewhere() && machine_.awaits_verdict();
  for (std::size_t i = 0; open && i < referee_.runs().size(); ++i) {
    if (referee_.runs()[i].kind != TaskKind::kMain) continue;
    out.emplace_back(
        event::Diagnosed{.restarts = machine_.restarts(), .first = ref_of(referee_, i)});
  }
  if (machine_.seeks_first()) {
    for (const event::TaskEnd& end : referee_.failed()) {
      out.emplace_back(event::Diagnosed{.restarts = machine_.restarts(), .first = end.task});
    }
  }
  if (machine_.cuts_grace()) {
    out.emplace_back(event::TaskWrites{});
    out.emplace_back(event::TaskWrites{.unknown = true});
  }
  if (fails &&
      (machine_.seeks_first() || job_->policy.restart_verdict != base::RestartVerdict::kOff)) {
    out.emplace_back(event::Diagnosed{machine_.restarts(), false});
    out.emplace_back(event::Diagnosed{machine_.restarts(), true});
  }
  bool any_live = false;
  std::vector<event::TaskEnd> together;
  for (std::size_t i = 0; i < referee_.runs().size(); ++i) {
    const Run& run = referee_.runs()[i];
    any_live |= run.live;
    if (!run.live) continue;
    const TaskRef task = ref_of(referee_, i);
    if (!run.confirmed && run.kind == TaskKind::kMain) out.emplace_back(event::TaskStarted{task});
    if (job_->stalls && run.kind == TaskKind::kMain)
      out.emplace_back(event::TaskStalled{task, job_->silent_ms});
    if (run.notified && !run.unreachable) out.emplace_back(event::Unreachable{task});
    for (const ExitStatus& exit_status : endings(run))
      out.emplace_back(event::TasksEnded{{{task, exit_status}}});
    if (job_->finds_dead && run.kind == TaskKind::kMain && run.notified) {
      out.emplace_back(event::TasksEnded{{{task, {ExitStatus::How::kSignaled, SIGSEGV}, true}}});
    }
    together.push_back({task, {ExitStatus::How::kExited, static_cast<int>(4 + i)}});
  }
  if (together.size() > 1) out.emplace_back(event::TasksEnded{together});
  if (referee_.sweeping() && !any_live) out.emplace_back(event::NothingLeft{});
  if (const auto next = next_timer(); next.has_value()) out.emplace_back(next->timer);
  return out;
}

std::vector<Event> Walker::noise() const {
  std::vector<Event> out = {event::TasksEnded{{{{99, 1}, {}}}}, event::TaskStarted{{99, 1}},
                            event::TasksEnded{}, event::Diagnosed{machine_.restarts() + 1, true}};
  for (std::size_t i = 0; i < referee_.runs().size(); ++i) {
    const Run& run = referee_.runs()[i];
    const TaskRef task = ref_of(referee_, i);
    if (run.incarnation > 1) {
      const TaskRef before = {task.index, task.incarnation - 1};
      out.emplace_back(event::TasksEnded{{{before, {ExitStatus::How::kExited, 9}}}});
      out.emplace_back(event::TaskStalled{before});
    }
    if (run.kind != TaskKind::kMain) out.emplace_back(event::TaskStalled{task});
    if (!run.notified && !run.killed) out.emplace_back(event::Unreachable{task});
    if (run.live) continue;
    out.emplace_back(event::TasksEnded{{{task, {ExitStatus::How::kExited, 9}}}});
    out.emplace_back(event::TaskStarted{task});
  }
  for (std::size_t i = 0; i < kTimerCount; ++i) {
    const auto timer = static_cast<Timer>(i);
    const auto& pending = referee_.pending(timer);
    out.emplace_back(event::TimerFired{timer, pending.has_value() ? pending->generation - 1 : 0});
  }
  const Phase phase = machine_.phase();
  const bool runs =
      phase == Phase::kStarting || phase == Phase::kRunning || machine_.start_granted();
  add_noise_of_nodes(&out);
  if (!machine_.cuts_grace()) out.emplace_back(event::TaskWrites{});
  if (!runs) out.emplace_back(event::CheckpointRequested{true});
  if (!runs && !machine_.awaits_nodes()) out.emplace_back(event::MembershipChanged{});
  if (!runs && phase != Phase::kStopping) out.emplace_back(event::MembershipChanged{true});
  if (!runs && phase != Phase::kPreparing && phase != Phase::kAutoRestart) {
    out.emplace_back(event::CheckpointRequested{});
  }
  const bool ends = phase != Phase::kPreparing && phase != Phase::kAutoRestart &&
                    phase != Phase::kStarting && phase != Phase::kRunning;
  if (ends && machine_.expires_at() == 0) out.emplace_back(event::ExpireIn{5});
  if (phase != Phase::kHold) {
    out.emplace_back(event::Release{});
    out.emplace_back(event::HoldFor{1});
  }
  if (!referee_.sweeping()) {
    out.emplace_back(event::NothingLeft{});
    out.emplace_back(event::NothingAdopted{});
  }
  if (phase != Phase::kPreparing) {
    out.emplace_back(event::Begin{});
    out.emplace_back(event::ClusterReady{{TaskKind::kMain}});
    out.emplace_back(event::ResolveFailed{125});
  }
  return out;
}

const std::string& Walker::take(const Event& event, TimeMs elapsed_ms) {
  now_ += elapsed_ms;
  if (const auto* timer = std::get_if<event::TimerFired>(&event)) {
    const auto& pending = referee_.pending(timer->timer);
    if (pending.has_value() && pending->generation == timer->generation) {
      now_ = std::max(now_, pending->at);
    }
  }
  const std::vector<Action> actions = machine_.step(event, now_);
  referee_.judge(event, actions, machine_, now_);
  complaint_ = referee_.complaint();
  return complaint_;
}

const std::string& Walker::finish_alone() {
  if (!referee_.stopped()) take(event::StopRequested{SIGTERM});
  const std::size_t timers_of_an_end = 10 + job_->policy.escalation.size();
  for (std::size_t i = 0; i < timers_of_an_end && !referee_.exited() && complaint_.empty(); ++i) {
    const auto next = next_timer();
    if (!next.has_value()) break;
    take(next->timer);
  }
  if (complaint_.empty() && !referee_.exited()) complaint_ = "timers alone do not end it";
  return complaint_;
}

}  // namespace sim
