// The actions of the machine: starting tasks, sending signals, reporting.

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "base/exit_codes.h"
#include "init/engine/monitor/monitor.h"
#include "init/engine/policies.h"
#include "init/engine/report/job_messages.h"
#include "init/engine/supervision.h"
#include "init/engine/tasks/save.h"
#include "init/proc/spawn.h"
#include "init/proc/tree.h"
#include "init/sys/cgroup.h"
#include "init/sys/log.h"

namespace engine {

using lifecycle::ExitStatus;
using lifecycle::TaskKind;
using lifecycle::TaskRef;
namespace action = lifecycle::action;
namespace event = lifecycle::event;

void Supervisor::perform(const lifecycle::Action& next) {
  if (const auto* start_task = std::get_if<action::Start>(&next)) {
    start(start_task->task);
  } else if (const auto* signal = std::get_if<action::Signal>(&next)) {
    signal_task(*signal);
  } else if (const auto* adopted = std::get_if<action::SweepAdopted>(&next)) {
    orphan_reaper_.begin(adopted->signal);
    if (adopted->signal == 0) stopper_.forget();
    // The sweep runs after a reaping, so reap again in this turn.
    reap_again_ = reap_again_ || adopted->signal != 0;
  } else if (const auto* timer = std::get_if<action::SetTimer>(&next)) {
    timers_.set(*timer);
    if (timer->timer == lifecycle::Timer::kKill) stacks_.expect_kill(timer->at, now_ms());
  } else if (const auto* cancelled = std::get_if<action::CancelTimer>(&next)) {
    timers_.cancel(cancelled->timer);
    if (cancelled->timer == lifecycle::Timer::kKill) stacks_.expect_kill(0, now_ms());
  } else if (std::holds_alternative<action::AskToSave>(next)) {
    save_.begin();
  } else if (std::holds_alternative<action::Report>(next)) {
    diagnosis_.begin(job_, machine_, setup_.saved, tees_.seen(), termination_log());
  } else if (const auto* exit = std::get_if<action::Exit>(&next)) {
    exit_code_ = exit->code;
    done_ = true;
  }
}

void Supervisor::start(TaskRef task) {
  TaskRecord& record = job_.records[task.index];
  begin_run(record, task.incarnation);
  const bool resolves = record.kind == TaskKind::kResolve;
  if (resolves && pass_through_) {
    adopt_plan(plan_of_pass_through(setup_));
    return post(event::TasksEnded{{{task, {ExitStatus::How::kExited, 0}}}});
  }
  if (!resolves && record.kind != TaskKind::kData && !record.event) return start_process(task);
  auto pid = start_worker(record, task.index);
  if (!pid) return not_started(task, std::move(pid.error()));
  record.pid = *pid;
  post(event::TaskStarted{task});
}

base::Result<pid_t> Supervisor::start_worker(const TaskRecord& record, std::uint32_t index) {
  if (record.event) return hooks_.start(index);
  DataTask* data = data_of(record);
  if (data == nullptr) return start_resolver();
  TRY(data->start());
  return data->pid();
}

base::Result<pid_t> Supervisor::start_resolver() {
  // A confined process (such as a script) must not read or change trainit through ptrace or
  // /proc/PID/mem, even with the same uid. Without a security boundary this is left out, so that
  // the job can use /proc/1/fd/1.
  if (setup_.request.sandbox.is_border()) ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  if (machine_.restarts() > 0) begin_start();
  auto status = resolver_.start(setup_.base, setup_.request, setup_.saved, setup_.planner,
                                machine_.restarts());
  if (status) return resolver_.pid();
  job_.resolver_message = to_line(status.error());
  return std::unexpected(std::move(status.error()));
}

void Supervisor::start_process(TaskRef task) {
  TaskRecord& record = job_.records[task.index];
  if (record.kind == TaskKind::kMain && setup_.started > 0) return adopt_started(task);
  const bool main = record.kind == TaskKind::kMain;
  StartContext context = start_context();
  if (main && !common_) common_ = common_env(job_, context, true);
  if (main) context.common = &*common_;
  proc::SpawnSpec spec = spec_of(job_, record, context);
  auto spawned = main ? start_main(record, spec) : proc::spawn(spec, setup_.saved);
  if (!spawned) return not_started(task, std::move(spawned.error()));
  if (main) job_control_.started(spawned->pending);
  record.pid = spawned->pid;
  record.start_pipe = std::move(spawned->start_pipe);
  env_files_.note_start(record);
}

base::Result<proc::Spawned> Supervisor::start_main(TaskRecord& record, proc::SpawnSpec& spec) {
  const auto place = static_cast<std::size_t>(record.process);
  if (!pass_through_) {
    tees_.begin(job_.plan, setup_.saved, line_scan(job_));
    tees_.give(place, spec);
    delay_state();
  }
  auto warm = warm_.hand_over(record, spec);
  auto spawned = warm ? std::move(*warm) : proc::spawn(spec, setup_.saved);
  // If the process is a spare, keep the write ends: if it does not become the rank, its replacement
  // needs them.
  if (!record.handed_over) let_output_go(record);
  let_go();
  return spawned;
}

void Supervisor::let_output_go(const TaskRecord& record) {
  tees_.started(static_cast<std::size_t>(record.process));
}

StartContext Supervisor::start_context() const {
  return {.base = setup_.base,
          .own_variables = setup_.own_variables,
          .pid1 = pid1_,
          .pass_through = pass_through_,
          .callers_group = job_control_.in_callers_group(),
          .exit_code = machine_.exit_code(),
          .restarts = machine_.restarts()};
}

// Prepares a restart. The tee of the previous start goes on to its own end. The diagnosis, the
// failure and the termination log of the previous start are discarded.
void Supervisor::begin_start() {
  tees_.retire();
  diagnosis_.forget(job_, machine_);
  // failure_complete: there is no failure yet whose output must be read.
  job_.start = {.failure_complete = true, .oom_kills_before = sys::oom_kills()};
  settled_ = false;
  forwarded_ = 0;
  write_termination_log(termination_log(), "");
}

// Closes the descriptors that trainit's caller passed in: the main process has them now.
void Supervisor::let_go() {
  // A reader at the other end waits until all copies are closed, and trainit may live longer than
  // the main process.
  for (const int fd : std::exchange(setup_.callers_fds, {})) ::close(fd);
  // trainit must not keep a mount of the caller busy by its working directory. Only in a
  // pass-through without hooks: otherwise the plan's relative paths and the hooks need that
  // directory.
  if (pass_through_ && !setup_.has_hooks) std::ignore = ::chdir("/");
}

// Takes over the command that init/early has started.
void Supervisor::adopt_started(TaskRef task) {
  TaskRecord& record = job_.records[task.index];
  record.pid = std::exchange(setup_.started, 0);
  let_go();
  post(event::TaskStarted{task});
  if (setup_.ended_well) {
    record.pid = 0;
    note_end(record);
    record.exit_status = ExitStatus{ExitStatus::How::kExited, 0};
    post(event::TasksEnded{{{task, *record.exit_status}}});
  }
}

void Supervisor::not_started(TaskRef task, base::Error error) {
  TaskRecord& record = job_.records[task.index];
  note_end(record);
  ExitStatus exit_status{ExitStatus::How::kNotStarted, exit_code::kOwnFailure};
  bool held = false;
  if (DataTask* data = data_of(record)) {
    held = data->settle(exit_status, to_line(error));
  } else {
    record.failure = proc::StartFailure{exit_code::kOwnFailure, std::move(error)};
  }
  record.exit_status = exit_status;
  warn_of_end(job_, record);
  if (!held) post(event::TasksEnded{{{task, exit_status}}});
}

namespace {

// Returns true if trainit may not signal `pid`. Tests this with signal 0, because the stop signal
// may have gone to a group or a tree, whose kill() says nothing about one process.
bool is_refused(pid_t pid) { return ::kill(pid, 0) != 0 && errno == EPERM; }

}  // namespace

// The longest wait for the tee, so that it has read what the ranks printed before they get a stop
// signal.
constexpr std::int64_t kCatchUpMs = 250;

// Records which main processes are exiting on their own, before the first stop signal of a step is
// sent. One signal can reach several processes, and can make others fail as victims.
void Supervisor::look_who_exits(const std::vector<lifecycle::Action>& actions) {
  const bool stops = std::ranges::any_of(actions, [this](const lifecycle::Action& one) {
    const auto* signal = std::get_if<action::Signal>(&one);
    return signal != nullptr && signal->stops && is_main(job_.records[signal->task.index]);
  });
  if (!stops) return;
  const bool keeps = torn_down_.may_keep(machine_);
  if (keeps) tees_.catch_up(kCatchUpMs);
  const bool can_tell = proc::has_own_proc();
  for (TaskRecord& record : job_.records) {
    if (!can_tell || !is_main(record) || record.pid <= 0) continue;
    if (record.stop_sent || record.handed_over) continue;
    const auto member = proc::find_member(record.pid);
    record.unasked = member && member->exits;
  }
  if (keeps) torn_down_.keep_printed(job_, machine_, tees_.seen());
}

void Supervisor::signal_task(const action::Signal& signal) {
  TaskRecord& record = job_.records[signal.task.index];
  if (record.pid <= 0 || record.incarnation != signal.task.incarnation) return;
  record.stop_sent = record.stop_sent || signal.stops;
  if (is_main(record) && signal.stops) {
    stop_main(record, signal.signal);
  } else if (forwarding_ != nullptr && forwarding_->signal == signal.signal) {
    if (is_main(record) && job_control_.has_reached(record.pid, *forwarding_)) return;
    proc::forward_signal(record.pid, *forwarding_);
  } else {
    ::kill(record.pid, signal.signal);
  }
  // No sweep follows post-stop processes. So the group of one that is killed is killed with it, and
  // other descendants when trainit exits.
  if (record.kind == TaskKind::kPostStop && signal.signal == SIGKILL) {
    ::kill(-record.pid, SIGKILL);
    post_stop_killed_ = true;
  }
  if ((said_unheard_ && !signal.stops) || !is_refused(record.pid)) return;
  if (signal.stops) {
    orphan_reaper_.note_refused(record.name, record.pid);
    return post(event::Unreachable{signal.task});
  }
  said_unheard_ = true;
  const proc::Refused refused = proc::refused_text(record.name, record.pid);
  sys::log::warning(refused.what + ", so it has no " + proc::signal_name(signal.signal) + "; " +
                    refused.fix);
}

void Supervisor::stop_main(const TaskRecord& record, int signal) {
  StopTarget order{
      .main = record.pid, .signal = signal, .scope = job_.plan.policy.stop_scope, .spared = {}};
  if (forwarding_ != nullptr && forwarding_->signal == signal) {
    order.forwarded = forwarding_;
    order.reached = job_control_.has_reached(record.pid, *forwarding_);
  }
  for (const TaskRecord& other : job_.records) {
    if (!is_main(other) && other.pid > 0) order.spared.push_back(other.pid);
  }
  for (const pid_t tee : tees_.pids()) order.spared.push_back(tee);
  for (const pid_t pid : outliving_pids(job_)) order.spared.push_back(pid);
  stopper_.send(order);
}

}  // namespace engine
