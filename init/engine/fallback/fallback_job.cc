#include "init/engine/fallback/fallback_job.h"

#include <algorithm>
#include <variant>

#include "base/exit_codes.h"

namespace engine {
namespace {

// Returns the signal of the stop request, which the machine may not have handled yet; 0: none.
int pending_stop(const Evidence& evidence) {
  if (evidence.machine.stop_signal() != 0) return evidence.machine.stop_signal();
  for (const lifecycle::Event& waiting : evidence.waiting) {
    if (const auto* stop = std::get_if<lifecycle::event::StopRequested>(&waiting))
      return stop->signal;
  }
  return 0;
}

}  // namespace

std::optional<int> settled_code(const Evidence& evidence) {
  if (evidence.exit_code) return evidence.exit_code;
  const FallbackJob left = fallback_job_of(evidence);
  if (!left.mains.empty()) return std::nullopt;
  if (left.failure_code != 0) return left.failure_code;
  const bool started = std::ranges::any_of(evidence.job.records, [](const TaskRecord& record) {
    return is_main(record) && record.exit_status;
  });
  if (!started)
    return left.stop_signal != 0 ? exit_code::kSignalBase + left.stop_signal
                                 : exit_code::kOwnFailure;
  const bool sent = std::ranges::any_of(evidence.job.records, [](const TaskRecord& record) {
    return is_main(record) && record.stop_sent;
  });
  if (left.stop_signal == 0 || !sent) return 0;
  if (!left.single) return exit_code::kSignalBase + left.stop_signal;
  for (const TaskRecord& record : evidence.job.records) {
    if (is_main(record) && record.process == 0) return record.exit_status->exit_code();
  }
  return exit_code::kOwnFailure;
}

FallbackJob fallback_job_of(const Evidence& evidence) {
  FallbackJob left;
  left.single = evidence.job.plan.processes.size() == 1;
  left.stop_signal = pending_stop(evidence);
  left.stop = base::make_budget(evidence.job.plan.policy, {}, 0);
  left.job_control = evidence.job_control;
  left.signals = evidence.signals;
  if (evidence.machine.cause() != nullptr) left.failure_code = evidence.machine.cause()->exit_code;
  if (left.failure_code == 0) left.failure_code = evidence.resolve_code;
  bool incomplete = false;
  for (const TaskRecord& record : evidence.job.records) {
    if (!is_main(record)) continue;
    if (record.pid > 0) left.mains.push_back({record.pid, record.stop_sent});
    incomplete = incomplete || (record.pid == 0 && !record.exit_status);
    const bool failed = record.exit_status && !record.exit_status->ok() && !record.stop_sent;
    if (failed && left.failure_code == 0) left.failure_code = record.exit_status->exit_code();
  }
  // If some ranks were never started, the others would wait for them for ever. So the job has
  // failed.
  if (incomplete && left.failure_code == 0 && left.stop_signal == 0) {
    left.failure_code = exit_code::kOwnFailure;
  }
  return left;
}

}  // namespace engine
