#include "init/engine/job.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "envgen/secrets.h"
#include "init/proc/signals.h"
#include "init/sys/clock.h"
#include "init/sys/log.h"

namespace engine {
namespace {

using lifecycle::Ending;
using lifecycle::Machine;
using lifecycle::TaskKind;
using lifecycle::TaskState;

constexpr std::size_t kTerminationLogBytes = 4096;
constexpr std::size_t kMostNames = 8;
constexpr int kTimedOut = 124;

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

const envgen::Process* process_of(const Job& job, std::size_t index) {
  return planned(job, job.records[index]);
}

std::string duration_text(std::int64_t ms) {
  return std::to_string(ms / 1000) + "." + std::to_string(ms % 1000 / 100) + " s";
}

std::string who(const Job& job, std::size_t index) {
  std::string text = job.records[index].name;
  const envgen::Process* process = process_of(job, index);
  if (process == nullptr || process->rank < 0) return text;
  text += " (node " + std::to_string(job.plan.self ? job.plan.self->node_rank : 0);
  if (process->device >= 0) text += ", device " + std::to_string(process->device);
  return text + ")";
}

std::string how(const TaskRecord& record, const Ending& ending) {
  std::string text = ending.how == Ending::How::kSignaled
                         ? "was killed by " + std::string(proc::signal_name(ending.value))
                         : "exited with code " + std::to_string(ending.value);
  if (record.core) text += " (core dumped)";
  if (record.ended_ms > record.started_ms && record.started_ms > 0) {
    text += " after " + duration_text(record.ended_ms - record.started_ms);
  }
  return text;
}

// "oom_kill 0 -> 2", "" where the kernel's count has not risen.
std::string oom_count_text(const Job& job, std::optional<std::uint64_t> now) {
  if (!now || !job.oom_kills_before || *now <= *job.oom_kills_before) return "";
  return "oom_kill " + std::to_string(*job.oom_kills_before) + " -> " + std::to_string(*now);
}

std::string oom_text(const Job& job, const Ending& ending,
                     std::optional<std::uint64_t> oom_kills_now) {
  const std::string count = oom_count_text(job, oom_kills_now);
  if (count.empty() || ending.how == Ending::How::kNotStarted) return "";
  const bool killed = ending.how == Ending::How::kSignaled && ending.value == SIGKILL;
  const std::string struck = killed ? ": out of memory, the kernel's OOM killer struck"
                                    : "; the kernel's OOM killer struck another process before";
  return struck + " (" + count + "); raise the memory limit or use less";
}

std::optional<envgen::HookEvent> event_of(TaskKind kind) {
  for (std::size_t i = 0; i < envgen::kHookEvents; ++i) {
    const auto event = static_cast<envgen::HookEvent>(i);
    if (kind_of(event) == kind) return event;
  }
  return std::nullopt;
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
  report.state = state_name(task.state);
  report.pid = record.pid;
  if (const envgen::Process* process = process_of(job, index)) {
    report.rank = process->rank;
    report.device = process->device;
    report.log = process->log;
  } else if (record.event) {
    report.log = kHookOutput;
  }
  if (task.state == TaskState::kEnded) {
    report.exit_code = task.ending.exit_code();
    if (task.ending.how == Ending::How::kSignaled) {
      report.signal = proc::signal_name(task.ending.value);
    }
  }
  report.started_ms = record.started_ms;
  report.ended_ms = record.ended_ms;
  return report;
}

// A rank that happens to exit with 124 failed; what expired is the wait.
bool wait_expired(const Machine& machine) {
  const lifecycle::Cause& cause = *machine.cause();
  const bool by_resolver = cause.ends.empty() || machine.tasks()[cause.ends[0].task.index].kind ==
                                                     lifecycle::TaskKind::kResolve;
  return by_resolver && cause.exit_code == kTimedOut;
}

const char* state_word(const Machine& machine) {
  if (machine.expired()) return "expired";
  if (machine.rescheduled()) {
    return machine.phase() == lifecycle::Phase::kExited ? "stopped" : "running";
  }
  if (machine.phase() == lifecycle::Phase::kAutoRestart) return "running";  // it goes on
  if (machine.cause() != nullptr) return wait_expired(machine) ? "expired" : "error";
  if (machine.stopped()) return "stopped";
  return machine.phase() == lifecycle::Phase::kExited ? "success" : "running";
}

std::string describe_end(const Job& job, const lifecycle::event::TaskEnd& end, TaskKind kind,
                         std::optional<std::uint64_t> oom_kills_now) {
  const TaskRecord& record = job.records[end.task.index];
  if (kind == TaskKind::kResolve) {
    if (!job.resolver_message.empty()) return job.resolver_message;
    const std::string oom = oom_text(job, end.ending, oom_kills_now);
    return "the resolver " + how(record, end.ending) +
           (oom.empty() ? "; this is a defect of trainit: report it with `trainit snapshot`" : oom);
  }
  std::string text = who(job, end.task.index);
  if (record.event && !record.hook_message.empty()) return record.hook_message;
  if (record.failure) return text + " could not start: " + to_line(record.failure->error);
  text += " " + how(record, end.ending) + oom_text(job, end.ending, oom_kills_now);
  const envgen::Process* process = process_of(job, end.task.index);
  if (process != nullptr && !process->log.empty()) text += "; its output: " + process->log;
  return text;
}

}  // namespace

std::string names_list(const std::vector<std::string>& names, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMostNames; ++i) {
    if (i > 0) text += separator;
    text += names[i];
  }
  if (names.size() > kMostNames) {
    text += " and " + std::to_string(names.size() - kMostNames) + " more";
  }
  return text;
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
    if (list != nullptr && task.ordinal < list->size()) {
      record.process = static_cast<int>(task.ordinal);
      record.name = (*list)[task.ordinal].name;
      record.event.reset();
    } else if (record.event) {
      // Behind the plan's own processes of that kind.
      record.process = -1;
      record.name = std::string(envgen::name_of(*record.event)) + " hooks";
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
      break;
  }
  return TaskKind::kOnFailure;
}

const envgen::HookGroup* hooks_of(const Job& job, const TaskRecord& record) {
  if (!record.event) return nullptr;
  const auto found = std::ranges::find(job.plan.hooks, *record.event, &envgen::HookGroup::event);
  return found == job.plan.hooks.end() ? nullptr : &*found;
}

std::string starting_text(const envgen::Plan& plan) {
  auto names = [](const std::vector<envgen::Process>& processes) {
    std::vector<std::string> all;
    all.reserve(processes.size());
    for (const envgen::Process& process : processes) all.push_back(process.name);
    return names_list(all);
  };
  const auto ranks =
      std::ranges::count_if(plan.processes, [](const auto& process) { return process.rank >= 0; });
  std::string text = plan.platform + "/" + plan.framework + ": node " +
                     std::to_string(plan.self ? plan.self->node_rank : 0) + " of " +
                     std::to_string(plan.node_count) + ", starting ";
  text += ranks > 0 ? std::to_string(ranks) + " of " + std::to_string(plan.world_size) + " ranks"
                    : names(plan.processes);
  if (!plan.services.empty()) text += ", services: " + names(plan.services);
  return text;
}

std::string side_warning(const Job& job, const TaskRecord& record) {
  if (!record.ending) return "";
  if (record.event) {
    // A worker tells by itself of hooks that fail; what is left is its own end.
    const bool fatal = record.kind == TaskKind::kPreStart || record.kind == TaskKind::kPostStart;
    const bool said = !record.failure && (record.told_to_stop || !record.hook_message.empty());
    if (fatal || said || record.ending->ok()) return "";
    if (record.failure) return record.name + " could not start: " + to_line(record.failure->error);
    return record.name + " " + how(record, *record.ending);
  }
  const bool service = record.kind == TaskKind::kService;
  if (!service && record.kind != TaskKind::kPostStop) return "";
  const envgen::Process& process = *planned(job, record);
  // A service is there for the whole job; a post-stop process is there to end.
  if (service ? record.told_to_stop : record.ending->ok()) return "";
  std::string text = (service ? "service " : "post-stop process ") + record.name;
  if (record.failure) {
    text += " could not start: " + to_line(record.failure->error);
  } else {
    text += " " + how(record, *record.ending);
  }
  if (!service) return text + "; the exit code stays";
  text += "; the job goes on without it";
  return process.log.empty() ? text : text + "; its output: " + process.log;
}

std::string describe_failure(const Job& job, const Machine& machine,
                             std::optional<std::uint64_t> oom_kills_now) {
  const lifecycle::Cause* cause = machine.cause();
  if (cause == nullptr) return "";
  if (cause->ends.empty()) {
    return job.resolver_message.empty()
               ? "the resolver hangs; it may read from a mount that does not answer: " +
                     (job.waiting_for.empty() ? "see `trainit plan`" : job.waiting_for)
               : job.resolver_message;
  }
  const std::vector<lifecycle::Task>& tasks = machine.tasks();
  std::string text =
      describe_end(job, cause->ends[0], tasks[cause->ends[0].task.index].kind, oom_kills_now);
  std::vector<std::string> same_turn;
  for (std::size_t i = 1; i < cause->ends.size(); ++i) {
    const auto& end = cause->ends[i];
    same_turn.push_back(who(job, end.task.index) + " " +
                        how(job.records[end.task.index], end.ending));
  }
  if (!same_turn.empty()) text += "; at the same time: " + names_list(same_turn);
  std::vector<std::string> stopped;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    // Those that could not be started either are not known as ended yet.
    const bool alive = tasks[i].live() && job.records[i].pid > 0;
    if (tasks[i].kind == TaskKind::kMain && alive) stopped.push_back(job.records[i].name);
  }
  if (!stopped.empty()) text += "; stopped because of it: " + names_list(stopped);
  return text;
}

std::string oom_warning(const Job& job, std::optional<std::uint64_t> oom_kills_now) {
  const std::string count = oom_count_text(job, oom_kills_now);
  if (count.empty()) return "";
  return "the kernel's OOM killer struck a process of the job, which went on (" + count + ")";
}

JobReport report_of(const Job& job, const Machine& machine, std::int64_t now_ms) {
  JobReport report;
  report.pid = ::getpid();
  report.phase = lifecycle::phase_name(machine.phase());
  report.platform = job.plan.platform;
  report.framework = job.plan.framework;
  report.node_rank = job.plan.self ? job.plan.self->node_rank : 0;
  report.node_count = job.plan.node_count;
  report.world_size = job.plan.world_size;
  report.updated_ms = sys::wall_ms();
  report.waiting_for = job.waiting_for;
  report.first_failure = job.first_failure;
  report.warnings = job.plan.warnings;
  if (machine.stop_signal() != 0) report.stop_signal = proc::signal_name(machine.stop_signal());
  const auto wall = [&](lifecycle::TimeMs at) {
    return at > 0 ? report.updated_ms + at - now_ms : 0;
  };
  if (machine.phase() == lifecycle::Phase::kHold) report.hold_until_ms = wall(machine.hold_until());
  report.restarts = static_cast<int>(machine.restarts());
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
  return report;
}

void write_termination_log(const char* path, std::string_view text) {
  sys::Fd fd(::open(path, O_WRONLY | O_TRUNC | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid()) return;  // no such file: not a pod
  const std::string masked = envgen::mask_secrets(text);
  std::string_view message = masked;
  if (message.size() > kTerminationLogBytes) {
    constexpr std::size_t kMostContinuationBytes = 3;
    std::size_t size = kTerminationLogBytes;
    const std::size_t least = size - kMostContinuationBytes;
    while (size > least && (static_cast<unsigned char>(message[size]) & 0xc0) == 0x80) --size;
    message = message.substr(0, size);
  }
  if (::write(fd.get(), message.data(), message.size()) < 0) {
    sys::log::warning("cannot write the termination log, ignoring");
  }
}

}  // namespace engine
