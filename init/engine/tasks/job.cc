#include "init/engine/tasks/job.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/printed_text.h"
#include "base/secrets/secrets.h"
#include "base/shown_lines.h"
#include "base/text.h"
#include "init/proc/signals.h"
#include "init/sys/clock.h"
#include "init/sys/log.h"

namespace engine {
namespace {

using lifecycle::ExitStatus;
using lifecycle::Machine;
using lifecycle::TaskKind;
using lifecycle::TaskState;

constexpr std::size_t kMaxNames = 8;

const std::vector<envgen::Process>* planned_list(const envgen::Plan& plan, TaskKind kind) {
  switch (kind) {
    case TaskKind::kMain:
      return &plan.processes;
    case TaskKind::kService:
      return &plan.services;
    case TaskKind::kPostStop:
      return &plan.post_stop;
    default:
      return nullptr;
  }
}

std::optional<envgen::HookEvent> event_of(TaskKind kind) {
  for (std::size_t i = 0; i < envgen::kHookEvents; ++i) {
    const auto event = static_cast<envgen::HookEvent>(i);
    if (is_phase_event(event) && kind_of(event) == kind) return event;
  }
  return std::nullopt;
}

const char* state_name(TaskState state) {
  switch (state) {
    case TaskState::kIdle:
      return "idle";
    case TaskState::kStarting:
      return "starting";
    case TaskState::kRunning:
      return "running";
    case TaskState::kEnded:
      return "ended";
  }
  return "idle";
}

TaskReport task_report(const Job& job, const lifecycle::Task& task, std::size_t index) {
  const TaskRecord& record = job.records[index];
  TaskReport report;
  report.name = record.name;
  report.kind = kind_name(task.kind);
  report.state = record.paused && task.live() ? "stopped" : state_name(task.state);
  report.pid = record.pid;
  if (const envgen::Process* process = planned(job, record)) {
    report.rank = process->rank;
    report.device = process->device;
    report.log = process->log;
  } else if (record.event) {
    report.log = kHookOutput;
  }
  if (task.state == TaskState::kEnded) {
    report.exit_code = task.exit_status.exit_code();
    if (task.exit_status.how == ExitStatus::How::kSignaled) {
      report.signal = proc::signal_name(task.exit_status.value);
    }
  }
  const auto place = static_cast<std::size_t>(record.process);
  if (task.kind == TaskKind::kMain && place < job.watches.size()) {
    report.stalled_since_ms = task.live() ? job.watches[place].stalled_since_ms : 0;
  }
  if (task.kind == TaskKind::kData) report.log = kHookOutput;
  report.start = record.start;
  report.warm = record.warm;
  report.started_ms = record.started_ms;
  report.ended_ms = record.ended_ms;
  report.incarnation = static_cast<int>(record.incarnation);
  return report;
}

const char* state_word(const Machine& machine) {
  if (machine.expired()) return "expired";
  if (machine.rescheduled()) {
    return machine.phase() == lifecycle::Phase::kExited ? "stopped" : "running";
  }
  // A restart follows, so the job continues.
  if (machine.phase() == lifecycle::Phase::kAutoRestart) return "running";
  if (machine.cause() != nullptr) return "error";
  if (machine.stopped()) return "stopped";
  return machine.phase() == lifecycle::Phase::kExited ? "success" : "running";
}

}  // namespace

void begin_run(TaskRecord& record, std::uint32_t incarnation) {
  record = {.name = std::move(record.name),
            .kind = record.kind,
            .process = record.process,
            .event = record.event,
            .incarnation = incarnation,
            .warm = std::move(record.warm),
            .started_ms = sys::wall_ms(),
            .began_ms = sys::monotonic_ms()};
}

void note_end(TaskRecord& record) {
  record.ended_ms = sys::wall_ms();
  record.ran_ms = sys::monotonic_ms() - record.began_ms;
}

const char* kind_name(TaskKind kind) {
  switch (kind) {
    case TaskKind::kPreStart:
      return "pre-start";
    case TaskKind::kPostStart:
      return "post-start";
    case TaskKind::kCheckpoint:
      return "checkpoint";
    case TaskKind::kPreStop:
      return "pre-stop";
    case TaskKind::kOnFailure:
      return "on-failure";
    case TaskKind::kData:
      return "data";
    case TaskKind::kResolve:
      return "resolve";
    case TaskKind::kMain:
      return "main";
    case TaskKind::kService:
      return "service";
    case TaskKind::kPostStop:
      return "post-stop";
  }
  return "main";
}

std::string names_list(const std::vector<std::string>& names, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMaxNames; ++i) {
    if (i > 0) text += separator;
    text += names[i];
  }
  if (names.size() > kMaxNames) {
    text += " and " + std::to_string(names.size() - kMaxNames) + " more";
  }
  return text;
}

bool is_main(const TaskRecord& record) {
  return record.kind == TaskKind::kMain && record.process >= 0;
}

std::vector<pid_t> main_pids(const Job& job) {
  std::vector<pid_t> pids;
  for (const TaskRecord& record : job.records) {
    if (is_main(record) && record.pid > 0) pids.push_back(record.pid);
  }
  return pids;
}

std::vector<pid_t> outliving_pids(const Job& job) {
  std::vector<pid_t> pids = job.spares;
  if (job.link_pid > 0) pids.push_back(job.link_pid);
  return pids;
}

const envgen::Process* planned(const Job& job, const TaskRecord& record) {
  const auto* list = planned_list(job.plan, record.kind);
  if (list == nullptr || record.process < 0) return nullptr;
  return &(*list)[static_cast<std::size_t>(record.process)];
}

void name_records(Job& job, const lifecycle::Machine& machine) {
  job.records.resize(machine.tasks().size());
  for (std::size_t i = 0; i < job.records.size(); ++i) {
    const lifecycle::Task& task = machine.tasks()[i];
    TaskRecord& record = job.records[i];
    record.kind = task.kind;
    record.event = event_of(task.kind);
    const auto* list = planned_list(job.plan, task.kind);
    if (task.kind == TaskKind::kData) {
      record.process = static_cast<int>(task.ordinal);
      record.name = "data " + job.data[task.ordinal].dataset.name;
    } else if (list != nullptr && task.ordinal < list->size()) {
      record.process = static_cast<int>(task.ordinal);
      record.name = (*list)[task.ordinal].name;
      record.event.reset();
    } else if (record.event) {
      // Hooks are the last task of their kind, after the plan's post-stop processes.
      record.process = -1;
      record.name = std::string(envgen::name_of(*record.event)) + " hooks";
    } else if (list != nullptr) {
      record.process = -1;  // the task is left from an earlier plan with more tasks of this kind
    }
  }
}

TaskKind kind_of(envgen::HookEvent event) {
  switch (event) {
    case envgen::HookEvent::kPreStart:
      return TaskKind::kPreStart;
    case envgen::HookEvent::kPostStart:
      return TaskKind::kPostStart;
    case envgen::HookEvent::kPreStop:
      return TaskKind::kPreStop;
    case envgen::HookEvent::kPostStop:
      return TaskKind::kPostStop;
    case envgen::HookEvent::kCheckpoint:
      return TaskKind::kCheckpoint;
    case envgen::HookEvent::kOnFailure:
    case envgen::HookEvent::kStall:
    case envgen::HookEvent::kHealth:
      break;
  }
  return TaskKind::kOnFailure;
}

const envgen::HookGroup* hooks_of(const Job& job, const TaskRecord& record) {
  if (!record.event) return nullptr;
  const auto found = std::ranges::find(job.plan.hooks, *record.event, &envgen::HookGroup::event);
  return found == job.plan.hooks.end() ? nullptr : &*found;
}

void note_waiting(Job& job, std::string what) {
  if (job.waiting_for.empty() && !what.empty()) job.waiting_since_ms = sys::wall_ms();
  job.waiting_for = std::move(what);
}

std::string command_text(const envgen::Plan& plan) {
  constexpr std::size_t kMax = 4096;
  if (plan.processes.empty()) return "";
  return std::string(base::cut_text(base::shown_command(plan.processes[0].argv), kMax));
}

JobReport report_of(const Job& job, const Machine& machine, std::int64_t now_ms) {
  JobReport report;
  report.pid = ::getpid();
  report.phase = lifecycle::phase_name(machine.phase());
  report.command = job.command;
  report.platform = job.plan.platform;
  report.framework = job.plan.framework;
  report.node_rank = job.plan.local_node ? job.plan.local_node->node_rank : 0;
  report.node_count = job.plan.node_count;
  report.world_size = job.plan.world_size;
  report.updated_ms = sys::wall_ms();
  report.waiting_for = job.waiting_for;
  if (!job.waiting_for.empty()) report.waiting_since_ms = job.waiting_since_ms;
  report.first_failure = job.start.first_failure;
  report.failure = job.start.failure;
  report.warnings = job.plan.warnings;
  report.warnings.insert(report.warnings.end(), job.data_warnings.begin(), job.data_warnings.end());
  for (const DataRecord& one : job.data) report.data.push_back(data_report(one));
  if (machine.stop_signal() != 0) report.stop_signal = proc::signal_name(machine.stop_signal());
  const auto wall = [&](lifecycle::TimeMs at) {
    return at > 0 ? report.updated_ms + at - now_ms : 0;
  };
  if (machine.phase() == lifecycle::Phase::kHold) report.hold_until_ms = wall(machine.hold_until());
  report.restarts = static_cast<int>(machine.restarts());
  report.counted_restarts = static_cast<int>(machine.failures());
  report.most_restarts = job.plan.policy.max_restarts;
  report.restart_at_ms = wall(machine.restart_at());
  report.expires_ms = wall(machine.expires_at());
  report.checkpoint_under_way = machine.checkpointing();
  report.checkpoint_until_ms = wall(machine.checkpoint_until());
  report.reschedule = machine.rescheduled();
  for (std::size_t i = 0; i < machine.tasks().size() && i < job.records.size(); ++i) {
    report.tasks.push_back(task_report(job, machine.tasks()[i], i));
    if (job.records[i].event && machine.tasks()[i].live()) report.hook = job.records[i].name;
  }
  report.state = state_word(machine);
  if (job.health.checked_ms > 0) {
    report.health = job.health.failures == 0 ? "ok" : job.health.message;
  }
  return report;
}

sys::Fd lock_termination_log(const char* path) {
  if (path == nullptr) return {};
  sys::Fd lock(::open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (lock.valid() && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    lock.reset();
  }
  return lock;
}

void write_termination_log(const char* path, std::string_view text) {
  if (path == nullptr) return;
  sys::Fd fd(::open(path, O_WRONLY | O_TRUNC | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid()) return;  // no such file: this is no pod
  const std::string masked = base::mask_secrets(text);
  const std::string_view message = base::cut_text(masked, kTerminationLogBytes);
  if (::write(fd.get(), message.data(), message.size()) < 0) {
    sys::log::warning("cannot write the termination log, ignoring");
  }
}

void add_to_termination_log(const char* path, std::string_view text) {
  if (path == nullptr) return;
  sys::Fd fd(::open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat now{};
  if (!fd.valid() || ::fstat(fd.get(), &now) != 0) return;
  const std::string masked = base::mask_secrets(text);
  const auto begun = static_cast<std::size_t>(now.st_size);
  if (begun + masked.size() > kTerminationLogBytes) return;
  if (::write(fd.get(), masked.data(), masked.size()) < 0) {
    sys::log::warning("cannot write the termination log, ignoring");
  }
}

}  // namespace engine
