#include "tests/sim/nodes_member.h"

#include <algorithm>
#include <csignal>
#include <utility>
#include <variant>

namespace sim {
namespace {

using namespace lifecycle;

Policy policy_of(const NodePlan& plan) {
  Policy policy;
  policy.max_restarts = plan.max_restarts;
  policy.restart_reset_ms = plan.restart_reset_ms;
  policy.restart_delay_ms = 0;
  policy.rendezvous_ms = plan.meets ? plan.rendezvous_ms : 0;
  policy.checkpoint_signal = plan.saves ? SIGUSR1 : 0;
  return policy;
}

}  // namespace

Member::Member(std::uint32_t index, const NodePlan& plan, std::uint64_t list, std::uint64_t seed,
               TimeMs now)
    : index_(index),
      plan_(plan),
      list_(list),
      cluster_(list),
      random_(seed),
      policy_(policy_of(plan)),
      machine_(policy_, plan.data ? std::vector{TaskKind::kData, TaskKind::kResolve}
                                  : std::vector{TaskKind::kResolve}),
      side_(index, plan.meets) {
  step(event::Begin{}, now);
}

TimeMs Member::draw(TimeMs least, TimeMs most) {
  return std::uniform_int_distribution<TimeMs>(least, most)(random_);
}

void Member::step(const Event& event, TimeMs now) {
  // The dead are looked at before a request to save is answered.
  if (dead_ && std::holds_alternative<event::CheckpointRequested>(event)) rank_ends(*dead_, now);
  for (const Action& action : machine_.step(event, now)) carry_out(action, now);
  look(now);
}

// What others see of it. Its NodeAgent is asked after each step.
void Member::look(TimeMs now) {
  const NodeReport report = side_.report(machine_, cluster_, now);
  stage_ = exited_ ? Stage::kEnded : report.stage;
  if (meeting_ == 0 && report.meeting != 0) named_.reset();  // of an earlier start
  meeting_ = report.meeting;
  own_ = own_ || machine_.rescheduled();
  if (!sees_another_list()) {
    due_.at(static_cast<std::size_t>(Due::kSeen)).reset();
  } else if (!due_.at(static_cast<std::size_t>(Due::kSeen))) {
    due(Due::kSeen, now + draw(0, plan_.most_look_ms));
  }
  const bool runs = machine_.phase() == Phase::kStarting || machine_.phase() == Phase::kRunning;
  if (!runs && std::exchange(ran_, false)) {
    hangs_ = false;
    hang_agent_.forget();
  }
  ran_ = ran_ || runs;
  if (start_ == machine_.restarts()) return;
  start_ = machine_.restarts();
  own_ = alone_ = victim_ = false;
  complete_at_.reset();
}

bool Member::sees_another_list() const {
  const bool looks = machine_.phase() == Phase::kRunning || machine_.awaits_nodes();
  return !exited_ && looks && list_ != cluster_;
}

void Member::write_list(std::uint64_t list, TimeMs now) {
  if (exited_) return;
  list_ = list;
  look(now);
}

void Member::resolved(TimeMs now) {
  if (cluster_ != list_) side_.relink(index_, plan_.meets);
  cluster_ = list_;
  std::vector<TaskKind> tasks(static_cast<std::size_t>(plan_.hooks), TaskKind::kPreStart);
  tasks.push_back(TaskKind::kMain);
  step(event::ClusterReady{.tasks = tasks, .policy = policy_, .part_of_job = true}, now);
  step(event::TasksEnded{{{resolver_, {ExitStatus::How::kExited, 0}}}}, now);
}

void Member::carry_out(const Action& action, TimeMs now) {
  if (const auto* start = std::get_if<action::Start>(&action); start != nullptr) {
    this->start(start->task, now);
  } else if (const auto* sent = std::get_if<action::Signal>(&action); sent != nullptr) {
    if (!sent->stops) return;
    if (const auto of = preparations_.find(sent->task.index); of != preparations_.end()) {
      const TimeMs takes = sent->signal == SIGKILL ? 1 : draw(1, plan_.most_stop_ms);
      of->second.ends_at = std::min(of->second.ends_at, now + takes);
      of->second.exit_status = {ExitStatus::How::kSignaled, sent->signal};
      return;
    }
    if (dead_ && sent->task == rank_) {
      unasked_ = true;
      return;
    }
    signal_ = sent->signal;
    if (sent->task == resolver_) due_.at(static_cast<std::size_t>(Due::kResolved)).reset();
    due(Due::kDies, now + (sent->signal == SIGKILL ? 1 : draw(1, plan_.most_stop_ms)));
  } else if (std::holds_alternative<action::AskToSave>(action)) {
    due(Due::kDone, now + draw(0, plan_.most_save_ms));
  } else if (const auto* sweep = std::get_if<action::SweepAdopted>(&action); sweep != nullptr) {
    if (sweep->signal != 0) due(Due::kSwept, now + 1);
  } else if (const auto* set = std::get_if<action::SetTimer>(&action); set != nullptr) {
    alarms_.at(static_cast<std::size_t>(set->timer)) = {set->generation, set->at};
  } else if (const auto* cancel = std::get_if<action::CancelTimer>(&action); cancel != nullptr) {
    alarms_.at(static_cast<std::size_t>(cancel->timer)).at.reset();
  } else if (const auto* exit = std::get_if<action::Exit>(&action); exit != nullptr) {
    exited_ = true;
    exit_code_ = exit->code;
    has_ranks_ = false;
  }
}

TimeMs Member::preparation_ms(TaskKind kind) {
  const TimeMs most = kind == TaskKind::kData ? plan_.most_data_ms : plan_.most_hook_ms;
  return draw(1, std::max<TimeMs>(1, most)) * (std::cmp_equal(plan_.slow_node, index_) ? 10 : 1);
}

void Member::start(TaskRef task, TimeMs now) {
  const TaskKind kind = machine_.tasks()[task.index].kind;
  if (kind == TaskKind::kResolve) {
    resolver_ = task;
    due(Due::kResolved, now + draw(10, 2000));
    return;
  }
  if (kind != TaskKind::kMain) {
    preparations_[task.index] = {task, now + preparation_ms(kind)};
    return;
  }
  rank_ = task;
  has_ranks_ = true;
  named_.reset();
  due(Due::kStarted, now + 1);
  if (plan_.work_until >= 0) due(Due::kDone, std::max(now, plan_.work_until) + draw(0, 1000));
}

std::optional<TimeMs> Member::next() const {
  std::optional<TimeMs> next;
  const auto add = [&next](std::optional<TimeMs> at) {
    if (at && (!next || *at < *next)) next = at;
  };
  if (exited_) return next;
  for (const auto& at : due_) add(at);
  for (const Alarm& alarm : alarms_) add(alarm.at);
  add(complete_at_);
  for (const auto& [index, preparation] : preparations_) add(preparation.ends_at);
  add(looked_at_);
  add(hang_agent_.next_at());
  return next;
}

void Member::tick(TimeMs now) {
  if (complete_at_ && now >= *complete_at_) complete_at_.reset();
  settle_hang(now);
  for (std::size_t i = 0; i < due_.size(); ++i) {
    if (exited_ || !due_.at(i) || now < *due_.at(i)) continue;
    due_.at(i).reset();
    happen(static_cast<Due>(i), now);
  }
  for (const auto& [index, preparation] : std::map(preparations_)) {
    if (exited_ || now < preparation.ends_at) continue;
    preparation_ends(index, preparation.exit_status, now);
  }
  for (std::size_t i = 0; i < alarms_.size(); ++i) {
    Alarm& alarm = alarms_.at(i);
    if (exited_ || !alarm.at || now < *alarm.at) continue;
    alarm.at.reset();
    if (static_cast<Timer>(i) == Timer::kRendezvous) guilty_ = own_ = true;
    step(event::TimerFired{static_cast<Timer>(i), alarm.generation}, now);
  }
}

void Member::happen(Due what, TimeMs now) {
  switch (what) {
    case Due::kResolved:
      return resolved(now);
    case Due::kStarted:
      return step(event::TaskStarted{rank_}, now);
    case Due::kDone:
      own_ = true;
      return rank_ends({ExitStatus::How::kExited, 0}, now);
    case Due::kDies:
      if (has_ranks_)
        return rank_ends(dead_.value_or(ExitStatus{ExitStatus::How::kSignaled, signal_}), now);
      return step(event::TasksEnded{{{resolver_, {ExitStatus::How::kSignaled, signal_}}}}, now);
    case Due::kSeen:
      if (stage_ == Stage::kRunning) own_ = true;
      return step(event::MembershipChanged{}, now);
    case Due::kSwept:
      step(event::NothingAdopted{}, now);
      return step(event::NothingLeft{}, now);
  }
}

void Member::rank_ends(ExitStatus exit_status, TimeMs now) {
  if (!has_ranks_) return;
  has_ranks_ = false;
  for (const Due what : {Due::kStarted, Due::kDone, Due::kDies}) {
    due_.at(static_cast<std::size_t>(what)).reset();
  }
  dead_.reset();
  step(event::TasksEnded{{{rank_, exit_status, std::exchange(unasked_, false)}}}, now);
}

void Member::preparation_ends(std::uint32_t index, ExitStatus exit_status, TimeMs now) {
  const TaskRef task = preparations_.at(index).task;
  preparations_.erase(index);
  step(event::TasksEnded{{{task, exit_status}}}, now);
}

void Member::preparation_fails(TimeMs now) {
  if (preparations_.empty() || machine_.phase() != Phase::kPreparing) return;
  guilty_ = own_ = true;
  named_.reset();  // of an earlier start
  preparation_ends(preparations_.begin()->first, {ExitStatus::How::kExited, kGuiltyCode}, now);
}

bool Member::rank_fails(TimeMs now) {
  if (!has_ranks_ || dead_ || stage_ != Stage::kRunning) return false;
  guilty_ = own_ = true;
  const ExitStatus exit_status{ExitStatus::How::kExited, kGuiltyCode};
  if (plan_.most_unseen_ms > 0) {
    for (const Due what : {Due::kStarted, Due::kDone}) {
      due_.at(static_cast<std::size_t>(what)).reset();
    }
    dead_ = exit_status;
    due(Due::kDies, now + draw(1, plan_.most_unseen_ms));
    return true;
  }
  if (draw(0, 1) == 0) complete_at_ = now + draw(1, 4000);
  rank_ends(exit_status, now);
  return true;
}

void Member::victim_fails(TimeMs now) {
  if (!has_ranks_ || dead_ || stage_ != Stage::kRunning) return;
  own_ = victim_ = true;
  if (draw(0, 2) != 0) complete_at_ = now + draw(1, 1500);
  rank_ends({ExitStatus::How::kExited, kVictimCode}, now);
}

void Member::stalls(TimeMs silent_ms, TimeMs now) {
  if (!has_ranks_ || stage_ != Stage::kRunning) return;
  if (!hang_agent_.stalled(silent_ms, now)) {
    own_ = true;
    step(event::TaskStalled{rank_, silent_ms}, now);
  }
  settle_hang(now);
}

void Member::settle_hang(TimeMs now) {
  using Next = HangAgent::Next;
  if (exited_) return;
  if (looked_at_ && now >= *looked_at_) {
    looked_at_.reset();
    hang_agent_.looked(hangs_ ? kHangs : "waits");
  }
  if (hang_agent_.owes_places() && !looked_at_) looked_at_ = now + draw(300, 3000);
  const Next next = hang_agent_.next(now);
  const bool suspect =
      std::ranges::any_of(hang_agent_.verdict().suspects,
                          [this](const HangVerdict::Suspect& one) { return one.node == index_; });
  if (next == Next::kNothing || (next == Next::kLog && !suspect) || !has_ranks_) return;
  guilty_ = guilty_ || hangs_;
  own_ = true;
  step(event::TaskStalled{rank_, 0}, now);
}

void Member::told_to_stop(TimeMs now) {
  if (exited_) return;
  guilty_ = own_ = true;
  step(event::StopRequested{SIGTERM}, now);
}

void Member::told_to_save(TimeMs now) {
  if (exited_) return;
  step(event::CheckpointRequested{}, now);
}

void Member::apply_verdict(const NodeVerdict& verdict, bool by_itself, TimeMs now) {
  if (exited_) return;
  const bool goes_by_it = stage_ != Stage::kEnded && verdict.restarts >= machine_.restarts() &&
                          verdict.state == NodeVerdict::State::kFailed && verdict.failure;
  const bool stops = stage_ == Stage::kRunning || stage_ == Stage::kStopping || !verdict.again;
  if (goes_by_it && by_itself) {
    alone_ = true;
    named_.reset();
  }
  // Who ends already ends by what it was told first.
  const bool late = goes_by_it && stage_ == Stage::kStopping && named_ &&
                    verdict.failure->kind == NodeFailure::Kind::kReplanned;
  if (goes_by_it && !by_itself && !alone_ && stops && !late) named_ = verdict.failure;
  if (!by_itself) hang_agent_.apply_verdict(verdict, now);
  for (const Event& event : side_.apply_verdict(verdict, machine_, now)) step(event, now);
  settle_hang(now);
}

void Member::linked(bool up, TimeMs now) {
  if (exited_) return;
  hang_agent_.linked(up);
  step(event::Linked{up}, now);
}

NodeReport Member::report(TimeMs now) {
  NodeReport report = side_.report(machine_, cluster_, now);
  if (exited_) {
    report.stage = Stage::kEnded;
    report.exit_code = exit_code_;
  }
  if (!report.failure) hang_agent_.add_to(report);
  if (report.failure) {
    report.failure->complete = !complete_at_;
    const bool shows =
        victim_ && !complete_at_ && report.failure->kind == NodeFailure::Kind::kFailed;
    if (shows) report.failure->role = NodeFailure::Role::kVictim;
  }
  return report;
}

}  // namespace sim
