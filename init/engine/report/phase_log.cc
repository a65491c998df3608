#include "init/engine/report/phase_log.h"

#include <algorithm>
#include <csignal>
#include <variant>

#include "init/engine/report/job_messages.h"
#include "init/engine/state/status_text.h"
#include "init/engine/tasks/signal_rules.h"
#include "init/proc/signals.h"
#include "init/sys/log.h"

namespace engine {
namespace {

using lifecycle::Phase;

std::string checkpoint_text(const Job& job, const lifecycle::Machine& machine,
                            std::int64_t now_ms) {
  const base::Policy& policy = job.plan.policy;
  std::string text = "a checkpoint is asked for";
  if (policy.checkpoint_signal != 0) {
    text += " by " + std::string(proc::signal_name(policy.checkpoint_signal));
  }
  if (!job.start.save_reason.empty()) text = job.start.save_reason + "; " + text;
  text += ", the job has " + span_text(machine.checkpoint_until() - now_ms) +
          " for it; then it ends with exit code 75, to be scheduled again";
  return text;
}

// Returns the tasks of this kind that failed, such as "rank-1: exit 3".
std::string bad_ends(const Job& job, lifecycle::TaskKind kind) {
  std::vector<std::string> ends;
  for (const TaskRecord& record : job.records) {
    if (record.kind != kind || !record.exit_status) continue;
    const bool failed = !record.exit_status->ok() || !record.hook_message.empty();
    if (failed) {
      ends.push_back(record.hook_message.empty() ? torn_down_text(record) : record.hook_message);
    }
  }
  return names_list(ends);
}

// Returns why trainit no longer waits for the checkpoint of a job.
std::string checkpoint_end_text(const lifecycle::Event& why, const Job& job) {
  namespace event = lifecycle::event;
  if (std::holds_alternative<event::TimerFired>(why)) {
    return "the time for the checkpoint is over (--checkpoint-timeout)";
  }
  if (std::holds_alternative<event::NobodySaves>(why)) {
    return "no checkpoint: no process of the job handles its signal";
  }
  if (std::holds_alternative<event::StopRequested>(why)) {
    return "a stop request came before the end of the checkpoint";
  }
  if (std::holds_alternative<event::JobFailed>(why)) {
    return "no checkpoint of the whole job: another node has failed, or was stopped, before its "
           "end";
  }
  const bool lives = !main_pids(job).empty();
  const std::string bad =
      bad_ends(job, lives ? lifecycle::TaskKind::kCheckpoint : lifecycle::TaskKind::kMain);
  std::string who = lives ? "its hooks are done" : "the job has ended";
  // report_saved() logs the saved step instead
  if (bad.empty() && tells_saved(job.plan.observe)) return who;
  if (bad.empty()) return "the checkpoint is saved: " + who;
  return "perhaps no checkpoint: " + who + ", not well (" + bad + ")";
}

std::string restart_text(const Job& job, const lifecycle::Machine& machine, std::int64_t now_ms) {
  const bool counts = job.plan.policy.max_restarts > 0 && machine.cause() != nullptr;
  if (!counts) {
    return "restart " + std::to_string(machine.restarts() + 1) +
           until_text(machine.restart_at() - now_ms);
  }
  std::string text = "restart " + std::to_string(machine.failures()) + " of at most " +
                     std::to_string(job.plan.policy.max_restarts) + " after failures";
  if (machine.counts_anew()) {
    text += ", counted anew as the start ran for " + span_text(machine.ran_ms(now_ms));
  }
  return text + until_text(machine.restart_at() - now_ms);
}

// Returns the reason of a stop because a process ended by a signal that trainit had forwarded; ""
// for any other stop.
std::string forwarded_text(const lifecycle::Event& why, const Job& job,
                           const lifecycle::Machine& machine) {
  const auto* ended = std::get_if<lifecycle::event::TasksEnded>(&why);
  if (ended == nullptr || ended->forwarded == 0 || !machine.stopped()) return "";
  std::vector<std::string> names;
  for (const auto& end : ended->ends) {
    const TaskRecord& record = job.records[end.task.index];
    const bool by_it =
        forwarded_end(end.exit_status, lifecycle::signal_bit(ended->forwarded)) == ended->forwarded;
    if (is_main(record) && by_it) names.push_back(record.name);
  }
  return std::string(proc::signal_name(ended->forwarded)) + " came from outside and has ended " +
         names_list(names) + ": the job is stopped, which is no failure";
}

std::string transition_text(PhaseState before, const lifecycle::Event& why, const Job& job,
                            const lifecycle::Machine& machine, std::int64_t now_ms) {
  const Phase now = machine.phase();
  // If the time limit ends during the stop after a failure, the restart is cancelled.
  if (machine.expired() && !before.expired) {
    return "the job's time is over (--max-duration), stopping";
  }
  if (now == before.phase) return "";
  switch (now) {
    case Phase::kCheckpointing:
      return checkpoint_text(job, machine, now_ms);
    case Phase::kStopping:
      if (before.phase == Phase::kCheckpointing) {
        return checkpoint_end_text(why, job) + ", stopping" +
               (job.start.save_reason.empty() ? "" : " (" + job.start.save_reason + ")");
      }
      if (!machine.rescheduled()) return forwarded_text(why, job, machine);
      return std::string("a checkpoint is asked for, and nothing ") +
             (before.phase == Phase::kStarting || before.phase == Phase::kRunning
                  ? "in this job saves one"
                  : "runs yet that could save") +
             ": the job ends with exit code 75, to be scheduled again";
    case Phase::kAutoRestart:
      return restart_text(job, machine, now_ms);
    case Phase::kHold:
      return "kept for debugging for " + span_text(machine.hold_until() - now_ms) +
             "; `trainit release` ends it, `trainit hold --for 2h` sets what is left";
    default:
      return "";
  }
}

}  // namespace

std::string report_transition(PhaseState before, const lifecycle::Event& why, const Job& job,
                              const lifecycle::Machine& machine, std::int64_t now_ms,
                              const char* termination_log) {
  std::string text = transition_text(before, why, job, machine, now_ms);
  const Phase now = machine.phase();
  const bool follows = now == Phase::kAutoRestart || now == Phase::kHold;
  if (text.empty() || (follows && !machine.expired())) return text;
  sys::log::info(text);
  if (machine.expired() || machine.rescheduled()) {
    write_termination_log(termination_log, "trainit: " + text + "\n");
  }
  return "";
}

void report_kills(const Job& job, const lifecycle::Event& why, bool after_failure,
                  const std::vector<lifecycle::Action>& actions) {
  std::vector<std::string> names;
  for (const lifecycle::Action& one : actions) {
    const auto* signal = std::get_if<lifecycle::action::Signal>(&one);
    if (signal == nullptr || signal->signal != SIGKILL) continue;
    const TaskRecord& record = job.records[signal->task.index];
    if (is_main(record) && record.pid > 0) names.push_back(record.name);
  }
  if (names.empty()) return;
  const auto* stop = std::get_if<lifecycle::event::StopRequested>(&why);
  const std::string reason =
      stop != nullptr ? "a second " + std::string(proc::signal_name(stop->signal)) + " came"
                      : std::string("has not ended in its time") +
                            (after_failure ? " after the failure (--failure-grace)" : "");
  sys::log::warning(reason + ", so it gets SIGKILL: " + names_list(names));
}

}  // namespace engine
