#include "init/engine/announce.h"

#include <algorithm>
#include <csignal>
#include <variant>

#include "init/engine/remains.h"
#include "init/engine/status_text.h"
#include "init/proc/signals.h"

namespace engine {
namespace {

using lifecycle::Phase;

std::string checkpoint_text(const Job& job, const lifecycle::Machine& machine,
                            std::int64_t now_ms) {
  const envgen::PlanPolicy& policy = job.plan.policy;
  std::string text = "a checkpoint is asked for";
  if (policy.checkpoint_signal != 0) {
    text += " by " + std::string(proc::signal_name(policy.checkpoint_signal));
  }
  if (!job.save_reason.empty()) text = job.save_reason + "; " + text;
  text += ", the job has " + span_text(machine.checkpoint_until() - now_ms) +
          " for it; then it ends with exit code 75, to be scheduled again";
  return text;
}

std::string restart_text(const Job& job, const lifecycle::Machine& machine, std::int64_t now_ms) {
  std::string text = "restart " + std::to_string(machine.restarts() + 1);
  if (job.plan.policy.max_restarts > 0 && machine.cause() != nullptr) {
    text += " of at most " + std::to_string(job.plan.policy.max_restarts) + " after failures";
  }
  return text + " in " + span_text(std::max<std::int64_t>(machine.restart_at() - now_ms, 0));
}

}  // namespace

std::string transition_text(Course before, const Job& job, const lifecycle::Machine& machine,
                            std::int64_t now_ms) {
  const Phase now = machine.phase();
  // It may be found out on the way down from a failure, and calls its restart off.
  if (machine.expired() && !before.expired) {
    return "the job's time is over (--max-duration), stopping";
  }
  if (now == before.phase) return "";
  switch (now) {
    case Phase::kCheckpointing:
      return checkpoint_text(job, machine, now_ms);
    case Phase::kStopping:
      if (before.phase == Phase::kCheckpointing)
        return "the time for the checkpoint ends, stopping" +
               (job.save_reason.empty() ? "" : " (" + job.save_reason + ")");
      if (!machine.rescheduled()) return "";
      return "a checkpoint is asked for, and nothing runs yet that could save: the job ends with "
             "exit "
             "code 75, to be scheduled again";
    case Phase::kAutoRestart:
      return restart_text(job, machine, now_ms);
    case Phase::kHold:
      return "kept for debugging for " + span_text(machine.hold_until() - now_ms) +
             "; `trainit release` ends it, `trainit hold --for 2h` sets what is left";
    default:
      return "";
  }
}

std::string kills_text(const Job& job, const std::vector<lifecycle::Action>& actions) {
  std::vector<std::string> names;
  for (const lifecycle::Action& one : actions) {
    const auto* signal = std::get_if<lifecycle::action::Signal>(&one);
    if (signal == nullptr || signal->signal != SIGKILL) continue;
    const TaskRecord& record = job.records[signal->task.index];
    if (is_main(record) && record.pid > 0) names.push_back(record.name);
  }
  if (names.empty()) return "";
  return "has not ended in its time, so it gets SIGKILL: " + names_list(names);
}

}  // namespace engine
