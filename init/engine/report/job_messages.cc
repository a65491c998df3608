#include "init/engine/report/job_messages.h"

#include <algorithm>
#include <csignal>

#include "base/exit_codes.h"
#include "base/text.h"
#include "init/proc/signals.h"
#include "init/sys/clock.h"
#include "init/sys/log.h"
#include "lifecycle/node_names.h"

namespace engine {
namespace {

using lifecycle::ExitStatus;
using lifecycle::Machine;
using lifecycle::TaskKind;

const envgen::Process* process_of(const Job& job, std::size_t index) {
  return planned(job, job.records[index]);
}

int node_of(const Job& job) { return job.plan.local_node ? job.plan.local_node->node_rank : 0; }

// Adds this node's name in a job of several nodes, whose other nodes print the message too.
std::string with_node(const Job& job, const std::string& text) {
  if (job.plan.node_count < 2) return text;
  return lifecycle::named_node(static_cast<std::uint32_t>(node_of(job)), job.host) + ": " + text;
}

std::string who(const Job& job, std::size_t index) {
  std::string text = job.records[index].name;
  const envgen::Process* process = process_of(job, index);
  const bool rank = process != nullptr && process->rank >= 0;
  if (!rank && job.plan.node_count < 2) return text;
  text += " (node " + std::to_string(node_of(job));
  if (job.plan.node_count > 1 && !job.host.empty()) text += " " + job.host;
  if (rank && process->device >= 0) text += ", device " + std::to_string(process->device);
  return text + ")";
}

// Returns whether a failed main process was asked to stop before it had ended.
bool was_interrupted(const TaskRecord& record) {
  return is_main(record) && record.stop_sent && !record.unasked;
}

// Returns the meaning that shells give to an exit code; "": none. If a process exits with its
// shell's code 128 + n, nothing else shows the signal.
std::string shells_meaning(int code) {
  if (code == exit_code::kCannotRun) {
    return " (the code of shells for a command that they cannot execute)";
  }
  if (code == exit_code::kNotFound) {
    return " (the code of shells for a command that they do not find)";
  }
  const int signal = code - exit_code::kSignalBase;
  if (signal <= 0 || signal > SIGSYS) return "";
  return " (the code of shells for a command that " + std::string(proc::signal_name(signal)) +
         " has killed)";
}

std::string how(const TaskRecord& record, const ExitStatus& exit_status) {
  if (exit_status.how == ExitStatus::How::kStalled) return "made no progress: " + record.stall;
  std::string text = exit_status.how == ExitStatus::How::kSignaled
                         ? "was killed by " + std::string(proc::signal_name(exit_status.value))
                         : "exited with code " + std::to_string(exit_status.value) +
                               shells_meaning(exit_status.value);
  if (record.core) text += " (core dumped)";
  if (was_interrupted(record)) text += " (it was failing when it was asked to stop)";
  if (record.ran_ms >= 0) text += " after " + base::seconds(record.ran_ms / 100 * 100);
  return text;
}

// Returns the rise of the kernel's count of OOM kills, such as "oom_kill 0 -> 2"; "": it has not
// risen.
std::string oom_count_text(const Job& job, std::optional<std::uint64_t> now) {
  if (!now || !job.start.oom_kills_before || *now <= *job.start.oom_kills_before) return "";
  return "oom_kill " + std::to_string(*job.start.oom_kills_before) + " -> " + std::to_string(*now);
}

std::string oom_text(const Job& job, const ExitStatus& exit_status,
                     std::optional<std::uint64_t> oom_kills_now) {
  const std::string count = oom_count_text(job, oom_kills_now);
  if (count.empty() || exit_status.how == ExitStatus::How::kNotStarted) return "";
  const bool killed = exit_status.how == ExitStatus::How::kSignaled && exit_status.value == SIGKILL;
  const std::string struck = killed ? ": out of memory, the kernel's OOM killer struck"
                                    : "; the kernel's OOM killer struck another process before";
  return struck + " (" + count + "); raise the memory limit or use less";
}

std::string describe_end(const Job& job, const lifecycle::event::TaskEnd& end, TaskKind kind,
                         std::optional<std::uint64_t> oom_kills_now) {
  const TaskRecord& record = job.records[end.task.index];
  if (kind == TaskKind::kResolve) {
    if (!job.resolver_message.empty()) return with_node(job, job.resolver_message);
    const std::string oom = oom_text(job, end.exit_status, oom_kills_now);
    return with_node(
        job, "the resolver " + how(record, end.exit_status) +
                 (oom.empty() ? "; this is a defect of trainit: report it with `trainit snapshot`"
                              : oom));
  }
  std::string text = who(job, end.task.index);
  if (kind == TaskKind::kData) {
    const auto which = static_cast<std::size_t>(record.process);
    const DataRecord& data = job.data[which];
    text += ": " + data.how + "; the job does not start without it";
    return data.missing ? text : text + " (--data-on-failure source: it reads the source)";
  }
  if (record.event && !record.hook_message.empty()) {
    return with_node(job, record.hook_message);
  }
  if (record.failure) return text + " could not start: " + start_text(*record.failure);
  text += " " + how(record, end.exit_status);
  text += oom_text(job, end.exit_status, oom_kills_now);
  const envgen::Process* process = process_of(job, end.task.index);
  if (process != nullptr && !process->log.empty()) {
    text += "; its output" + on_node(job.plan) + ": " + process->log;
  }
  return text;
}

}  // namespace

std::string on_node(const envgen::Plan& plan) {
  if (plan.node_count < 2 || !plan.local_node) return "";
  return " on node " + std::to_string(plan.local_node->node_rank);
}

bool is_plain(const envgen::Plan& plan) {
  return plan.platform == "local" && plan.node_count == 1 && plan.services.empty() &&
         plan.processes.size() == 1 && plan.processes[0].rank < 0;
}

bool says_exit_code(const Job& job, int exit_code) {
  const bool said = job.start.failure.signal.empty() && job.start.failure.exit_code == exit_code;
  return !is_plain(job.plan) || (exit_code != 0 && !said);
}

std::string start_text(const proc::StartFailure& failure) {
  constexpr std::string_view kStarting = "starting ";
  base::Error error = failure.error;
  // Remove what the caller's sentence says already ("starting"), and the program if it is named
  // twice.
  if (error.what.starts_with(kStarting)) error.what.erase(0, kStarting.size());
  if (error.what.ends_with(error.where)) error.where.clear();
  return to_line(error);
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
                     std::to_string(plan.local_node ? plan.local_node->node_rank : 0) + " of " +
                     std::to_string(plan.node_count) + ", starting ";
  text += ranks > 0 ? std::to_string(ranks) + " of " + std::to_string(plan.world_size) + " ranks"
                    : names(plan.processes);
  if (!plan.services.empty()) text += ", services: " + names(plan.services);
  return text;
}

namespace {

std::string side_warning(const Job& job, const TaskRecord& record) {
  if (!record.exit_status) return "";
  if (record.event) {
    // The worker reports failed hooks itself. Only if the worker itself has failed, that is
    // reported here.
    const bool fatal = record.kind == TaskKind::kPreStart || record.kind == TaskKind::kPostStart;
    const bool said = !record.failure && (record.stop_sent || !record.hook_message.empty());
    if (fatal || said || record.exit_status->ok()) return "";
    if (record.failure) return record.name + " could not start: " + start_text(*record.failure);
    return record.name + " " + how(record, *record.exit_status);
  }
  const bool service = record.kind == TaskKind::kService;
  if (!service && record.kind != TaskKind::kPostStop) return "";
  const envgen::Process& process = *planned(job, record);
  // A service must run as long as the job, so each end without a stop is reported. A post-stop
  // process must end with 0.
  if (service ? record.stop_sent : record.exit_status->ok()) return "";
  std::string text = (service ? "service " : "post-stop process ") + record.name;
  if (record.failure) {
    text += " could not start: " + start_text(*record.failure);
  } else {
    text += " " + how(record, *record.exit_status);
  }
  if (!service) return text + "; the exit code stays";
  text += "; the job goes on without it";
  return process.log.empty() ? text : text + "; its output: " + process.log;
}

}  // namespace

void warn_of_end(const Job& job, const TaskRecord& record) {
  const std::string warning = side_warning(job, record);
  if (!warning.empty()) sys::log::warning(warning);
}

namespace {

std::string elsewhere_text(const Job& job) {
  if (!job.start.remote)
    return "another node of the job has failed, and which one was not said in time";
  return job.start.remote->is_failure ? job.start.remote->message
                                      : job.start.remote->message + ", and with it this node";
}

std::string missing_text(const Job& job) {
  return to_line(base::Error{
      "waiting for the other nodes before the start", job.missing_nodes,
      "that not all came within " + base::seconds(job.plan.policy.rendezvous_ms),
      "see why these have not, or whether they run at all and restart too (--max-restarts); raise "
      "--restart-window if they need longer"});
}

}  // namespace

std::string describe_failure(const Job& job, const Machine& machine,
                             std::optional<std::uint64_t> oom_kills_now) {
  const lifecycle::Cause* cause = machine.cause();
  if (cause == nullptr) return "";
  if (machine.failed_elsewhere()) return elsewhere_text(job);
  if (cause->ends.empty() && !job.unfit.empty()) return job.unfit;
  if (cause->ends.empty() && !job.missing_nodes.empty()) return missing_text(job);
  if (cause->ends.empty()) {
    return with_node(job,
                     job.resolver_message.empty()
                         ? "the resolver hangs; it may read from a mount that does not answer: " +
                               (job.waiting_for.empty() ? "see `trainit plan`" : job.waiting_for)
                         : job.resolver_message);
  }
  const std::vector<lifecycle::Task>& tasks = machine.tasks();
  std::string text =
      describe_end(job, cause->ends[0], tasks[cause->ends[0].task.index].kind, oom_kills_now);
  std::vector<std::string> same_turn;
  for (std::size_t i = 1; i < cause->ends.size(); ++i) {
    const auto& end = cause->ends[i];
    same_turn.push_back(who(job, end.task.index) + " " +
                        how(job.records[end.task.index], end.exit_status));
  }
  if (!same_turn.empty()) text += "; at the same time: " + names_list(same_turn);
  std::vector<std::string> stopped;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    // Count only tasks that are alive. A process that could not be started has no pid, although its
    // end is not known yet. A stalled process is the failure itself.
    const bool itself = std::ranges::any_of(
        cause->ends, [i](const lifecycle::event::TaskEnd& end) { return end.task.index == i; });
    const bool alive = tasks[i].live() && job.records[i].pid > 0 && !itself;
    if (tasks[i].kind == TaskKind::kMain && alive) stopped.push_back(job.records[i].name);
  }
  if (!stopped.empty()) text += "; stopped because of it: " + names_list(stopped);
  return text;
}

bool is_bare(const Job& job, const Machine& machine, std::optional<std::uint64_t> oom_kills_now) {
  const lifecycle::Cause* cause = machine.cause();
  if (cause == nullptr || machine.failed_elsewhere() || cause->ends.size() != 1) return false;
  const lifecycle::event::TaskEnd& end = cause->ends[0];
  const bool ended = end.exit_status.how == ExitStatus::How::kExited ||
                     end.exit_status.how == ExitStatus::How::kSignaled;
  return ended && is_main(job.records[end.task.index]) && job.plan.processes.size() == 1 &&
         job.plan.node_count < 2 && oom_text(job, end.exit_status, oom_kills_now).empty();
}

FailureDetail detail_of(const Job& job, const Machine& machine,
                        std::optional<std::uint64_t> oom_kills_now) {
  FailureDetail detail;
  const lifecycle::Cause* cause = machine.cause();
  if (cause == nullptr) return detail;
  if (machine.failed_elsewhere()) return job.start.remote ? job.start.remote->detail : detail;
  detail.node = node_of(job);
  detail.host = job.host;
  detail.exit_code = cause->exit_code;
  detail.at_ms = sys::wall_ms();
  detail.task = "resolver";
  if (cause->ends.empty()) return detail;
  const lifecycle::event::TaskEnd& end = cause->ends[0];
  const TaskRecord& record = job.records[end.task.index];
  detail.task = record.name;
  if (const envgen::Process* process = process_of(job, end.task.index)) {
    detail.rank = process->rank;
    detail.device = process->device;
    detail.log = process->log;
  }
  const bool ended = end.exit_status.how != ExitStatus::How::kStalled;
  if (ended && record.ended_ms > 0) detail.at_ms = record.ended_ms;
  if (end.exit_status.how == ExitStatus::How::kNotStarted) return detail;
  detail.after_ms = ended ? record.ran_ms : sys::monotonic_ms() - record.began_ms;
  if (end.exit_status.how != ExitStatus::How::kSignaled) return detail;
  detail.signal = proc::signal_name(end.exit_status.value);
  detail.oom = end.exit_status.value == SIGKILL && !oom_count_text(job, oom_kills_now).empty();
  return detail;
}

std::string torn_down_text(const TaskRecord& record) {
  if (!record.exit_status) return record.name + ": still there";
  if (record.exit_status->how != ExitStatus::How::kSignaled) {
    return record.name + ": exit " + std::to_string(record.exit_status->value);
  }
  return record.name + ": " + std::string(proc::signal_name(record.exit_status->value));
}

std::string oom_warning(const Job& job, std::optional<std::uint64_t> oom_kills_now) {
  const std::string count = oom_count_text(job, oom_kills_now);
  if (count.empty()) return "";
  return "the kernel's OOM killer struck a process of the job, which went on (" + count + ")";
}

}  // namespace engine
