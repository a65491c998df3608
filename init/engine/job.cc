#include "init/engine/job.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

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

const envgen::Process* process_of(const Job& job, std::size_t index) {
  int process = job.records[index].process;
  return process < 0 ? nullptr : &job.plan.processes[static_cast<std::size_t>(process)];
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

std::string oom_text(const Job& job, const Ending& ending,
                     std::optional<std::uint64_t> oom_kills_now) {
  bool killed = ending.how == Ending::How::kSignaled && ending.value == SIGKILL;
  if (!killed || !oom_kills_now || !job.oom_kills_before) return "";
  if (*oom_kills_now <= *job.oom_kills_before) return "";
  return ": out of memory, the kernel's OOM killer struck (oom_kill " +
         std::to_string(*job.oom_kills_before) + " -> " + std::to_string(*oom_kills_now) +
         "); raise the memory limit or use less";
}

std::string names_list(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMostNames; ++i) {
    if (i > 0) text += ", ";
    text += names[i];
  }
  if (names.size() > kMostNames)
    text += " and " + std::to_string(names.size() - kMostNames) + " more";
  return text;
}

const char* kind_name(TaskKind kind) {
  switch (kind) {
    case TaskKind::kPreStart:
      return "pre-start";
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
  if (record.failure) return text + " could not start: " + to_line(record.failure->error);
  text += " " + how(record, end.ending) + oom_text(job, end.ending, oom_kills_now);
  const envgen::Process* process = process_of(job, end.task.index);
  if (process != nullptr && !process->log.empty()) text += "; its output: " + process->log;
  return text;
}

}  // namespace

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

JobReport report_of(const Job& job, const Machine& machine) {
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
  if (machine.phase() == lifecycle::Phase::kHold && machine.hold_until() > 0) {
    report.hold_until_ms = report.updated_ms + machine.hold_until() - sys::monotonic_ms();
  }
  for (std::size_t i = 0; i < machine.tasks().size() && i < job.records.size(); ++i) {
    report.tasks.push_back(task_report(job, machine.tasks()[i], i));
  }
  report.state = state_word(machine);
  return report;
}

void write_termination_log(const char* path, std::string_view message) {
  sys::Fd fd(::open(path, O_WRONLY | O_TRUNC | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid()) return;  // no such file: not a pod
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
