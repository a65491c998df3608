// What the machine asks for: tasks that start, signals, reports.

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "envgen/resolve/resolve.h"
#include "init/engine/report/describe.h"
#include "init/engine/supervision.h"
#include "init/engine/tasks/save.h"
#include "init/proc/spawn.h"
#include "init/proc/tree.h"
#include "init/sys/cgroup.h"
#include "init/sys/log.h"

namespace engine {

using lifecycle::Ending;
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
    sweeper_.begin(adopted->signal);
    if (adopted->signal == 0) stopper_.forget();
    // It sweeps behind a reaping, which also tells that there is nothing to sweep.
    reap_again_ = reap_again_ || adopted->signal != 0;
  } else if (const auto* timer = std::get_if<action::SetTimer>(&next)) {
    timers_.set(*timer);
  } else if (const auto* cancelled = std::get_if<action::CancelTimer>(&next)) {
    timers_.cancel(cancelled->timer);
  } else if (std::holds_alternative<action::AskToSave>(next)) {
    ask_to_save();
  } else if (std::holds_alternative<action::Report>(next)) {
    report_failure();
  } else if (const auto* exit = std::get_if<action::Exit>(&next)) {
    exit_code_ = exit->code;
    done_ = true;
  }
}

void Supervisor::start(TaskRef task) {
  TaskRecord& record = job_.records[task.index];
  record.incarnation = task.incarnation;
  record.failure.reset();
  record.ending.reset();
  record.told_to_stop = false;
  record.started_ms = sys::wall_ms();
  if (machine_.tasks()[task.index].kind == TaskKind::kResolve) {
    start_resolver(task);
  } else if (record.kind == TaskKind::kData) {
    start_copy(task);
  } else if (record.event) {
    start_hooks(task);
  } else {
    start_process(task);
  }
}

void Supervisor::start_resolver(TaskRef task) {
  if (pass_through_) {
    envgen::Answer answer = envgen::resolve(setup_.base, setup_.request);
    adopt_plan(std::move(std::get<envgen::Planned>(answer.outcome).plan));
    post(event::TasksEnded{{{task, {Ending::How::kExited, 0}}}});
    return;
  }
  // What is confined, the scripts first, must not change or read us by ptrace or /proc/1/mem, also
  // where it has our uid. Otherwise there is no border, and /proc/1/fd/1 stays of use.
  const envgen::SandboxRequest& asked = setup_.request.sandbox;
  const bool border =
      !asked.user.empty() || !asked.caps.empty() || asked.no_new_privs || !asked.seccomp.empty();
  if (pid1_ && border) ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  if (machine_.restarts() > 0) begin_anew();
  auto resolver = Resolver::start(setup_.base, setup_.request, setup_.saved, setup_.planner,
                                  machine_.restarts());
  if (!resolver) {
    job_.resolver_message = to_line(resolver.error());
    return not_started(task, resolver.error(), kOwnFailure);
  }
  resolver_ = std::make_unique<Resolver>(std::move(*resolver));
  job_.records[task.index].pid = resolver_->pid();
  post(event::TaskStarted{task});
}

void Supervisor::start_process(TaskRef task) {
  TaskRecord& record = job_.records[task.index];
  if (record.kind == TaskKind::kMain && setup_.started > 0) return adopt_started(task);
  proc::SpawnSpec spec = spec_of(job_, record, start_context());
  const bool main = record.kind == TaskKind::kMain;
  if (main) {
    tees_.begin(job_.plan, setup_.saved, perf_scan(job_));
    tees_.give(static_cast<std::size_t>(record.process), spec);
  }
  auto spawned = proc::spawn(spec, setup_.saved);
  if (main) {
    tees_.started(static_cast<std::size_t>(record.process));
    let_go();
  }
  if (!spawned) return not_started(task, spawned.error(), kOwnFailure);
  if (main) job_control_.started(spawned->pending);
  record.pid = spawned->pid;
  record.start_pipe = std::move(spawned->start_pipe);
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

void Supervisor::start_hooks(TaskRef task) {
  job_.records[task.index].hook_message.clear();
  auto pid = hook_runs_.start(task.index, job_, start_context(), setup_.saved);
  if (!pid) return not_started(task, pid.error(), kOwnFailure);
  job_.records[task.index].pid = *pid;
  post(event::TaskStarted{task});
}

// What the last incarnation left is none of the next one's.
void Supervisor::begin_anew() {
  tees_.retire();
  job_.exports.clear();
  diagnosis_.forget(job_, machine_);
  job_.first_failure.clear();
  job_.failure = {};
  settled_ = false;
  job_.oom_kills_before = sys::oom_kills();
  if (!publisher_.is_second()) write_termination_log(setup_.termination_log, "");
}

// What the caller passed in is the main process's from now on.
void Supervisor::let_go() {
  // Whoever reads the other end waits for its end, and we may live longer than the task that has
  // it.
  for (const int fd : std::exchange(setup_.callers_fds, {})) ::close(fd);
  // No mount of the caller's is held by us. A plan's relative paths count from our directory.
  if (pass_through_) std::ignore = ::chdir("/");
}

// The command that init/early started.
void Supervisor::adopt_started(TaskRef task) {
  TaskRecord& record = job_.records[task.index];
  record.pid = std::exchange(setup_.started, 0);
  let_go();
  post(event::TaskStarted{task});
  if (setup_.ended_well) {
    record.pid = 0;
    record.ended_ms = sys::wall_ms();
    record.ending = Ending{Ending::How::kExited, 0};
    post(event::TasksEnded{{{task, *record.ending}}});
  }
}

void Supervisor::not_started(TaskRef task, envgen::Error error, int exit_code) {
  TaskRecord& record = job_.records[task.index];
  record.ended_ms = sys::wall_ms();
  record.failure = proc::StartFailure{exit_code, std::move(error)};
  record.ending = Ending{Ending::How::kNotStarted, exit_code};
  warn_of_end(record);
  post(event::TasksEnded{{{task, {Ending::How::kNotStarted, exit_code}}}});
}

// The failures that are none of the job's.
void Supervisor::warn_of_end(const TaskRecord& record) {
  const std::string warning = side_warning(job_, record);
  if (!warning.empty()) sys::log::warning(warning);
}

namespace {

// Asked with signal 0: a stop may have reached a group or a tree.
bool is_refused(pid_t pid) { return ::kill(pid, 0) != 0 && errno == EPERM; }

}  // namespace

void Supervisor::signal_task(const action::Signal& signal) {
  TaskRecord& record = job_.records[signal.task.index];
  if (record.pid <= 0 || record.incarnation != signal.task.incarnation) return;
  record.told_to_stop = record.told_to_stop || signal.stops;
  if (is_main(record) && signal.stops) {
    stop_main(record, signal.signal);
    return look_if_refused(signal.task);
  }
  if (forwarding_ != nullptr && forwarding_->signal == signal.signal) {
    if (is_main(record) && job_control_.has_reached(record.pid, *forwarding_)) return;
    proc::forward_signal(record.pid, *forwarding_);
  } else {
    ::kill(record.pid, signal.signal);
  }
  // Nothing is swept behind a post-stop process: what it started goes with it, or at the exit.
  if (record.kind == TaskKind::kPostStop && signal.signal == SIGKILL) {
    ::kill(-record.pid, SIGKILL);
    post_stop_killed_ = true;
  }
  if (signal.stops) return look_if_refused(signal.task);
  if (said_unheard_ || !is_refused(record.pid)) return;
  said_unheard_ = true;
  const proc::Refused refused = proc::refused_text(record.name, record.pid);
  sys::log::warning(refused.what + ", so it has no " + proc::signal_name(signal.signal) + "; " +
                    refused.fix);
}

void Supervisor::look_if_refused(TaskRef task) {
  const TaskRecord& record = job_.records[task.index];
  if (!is_refused(record.pid)) return;
  sweeper_.note_refused(record.name, record.pid);
  post(event::Unreachable{task});
}

void Supervisor::stop_main(const TaskRecord& record, int signal) {
  Stopper::Order order{.main = record.pid, .signal = signal, .spared = {}};
  if (forwarding_ != nullptr && forwarding_->signal == signal) {
    order.forwarded = forwarding_;
    order.reached = job_control_.has_reached(record.pid, *forwarding_);
  }
  for (const TaskRecord& other : job_.records) {
    if (!is_main(other) && other.pid > 0) order.spared.push_back(other.pid);
  }
  for (const pid_t tee : tees_.pids()) order.spared.push_back(tee);
  stopper_.send(order);
}

void Supervisor::report_failure() {
  // A second instance in the container must not overwrite what the pod's own one says.
  const char* log = publisher_.is_second() ? nullptr : setup_.termination_log;
  diagnosis_.begin(job_, machine_, setup_.saved, tees_.seen(), log);
}

void Supervisor::report_transition(Course before, const lifecycle::Event& why) {
  const std::string text = transition_text(before, why, job_, machine_, now_ms());
  if (text.empty()) return;
  sys::log::info(text);
  const bool ends = machine_.expired() || machine_.rescheduled();
  if (ends && !publisher_.is_second()) {
    write_termination_log(setup_.termination_log, "trainit: " + text + "\n");
  }
}

void Supervisor::ask_to_save() {
  const int signal = job_.plan.policy.checkpoint_signal;
  std::vector<pid_t> mains;
  for (const TaskRecord& record : job_.records) {
    if (is_main(record) && record.pid > 0) mains.push_back(record.pid);
  }
  const Asked asked = engine::ask_to_save(mains, signal);
  if (asked.refused) {
    const proc::Refused refused = proc::refused_text("a process of the job", *asked.refused);
    sys::log::warning(refused.what + ", so it is not asked for a checkpoint; " + refused.fix);
  }
  if (asked.count > 0) {
    return sys::log::info("asked for a checkpoint by " + proc::signal_name(signal) + ": " +
                          std::to_string(asked.count) +
                          (asked.count == 1 ? " process" : " processes"));
  }
  if (asked.refused) return post(event::NobodySaves{});
  sys::log::warning("no process of the job catches " + proc::signal_name(signal) +
                    ", which asks for a checkpoint (--checkpoint-signal): none is saved for it");
  post(event::NobodySaves{});
}

}  // namespace engine
