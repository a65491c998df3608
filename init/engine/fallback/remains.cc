#include "init/engine/fallback/remains.h"

#include <algorithm>
#include <variant>

namespace engine {
namespace {

constexpr int kOwnFailure = 125;

// A stop request that the machine has, or that is still to be answered.
int pending_stop(const Evidence& evidence) {
  if (evidence.machine.stop_signal() != 0) return evidence.machine.stop_signal();
  for (const lifecycle::Event& waiting : evidence.waiting) {
    if (const auto* stop = std::get_if<lifecycle::event::StopRequested>(&waiting))
      return stop->signal;
  }
  return 0;
}

}  // namespace

bool is_main(const TaskRecord& record) {
  return record.kind == lifecycle::TaskKind::kMain && record.process >= 0;
}

std::optional<int> settled_code(const Evidence& evidence) {
  if (evidence.exit_code) return evidence.exit_code;
  const Remains left = remains_of(evidence);
  if (!left.mains.empty()) return std::nullopt;
  if (left.failure_code != 0) return left.failure_code;
  const bool started = std::ranges::any_of(evidence.job.records, [](const TaskRecord& record) {
    return is_main(record) && record.ending;
  });
  if (!started) return left.stop_signal != 0 ? 128 + left.stop_signal : kOwnFailure;
  const bool told = std::ranges::any_of(evidence.job.records, [](const TaskRecord& record) {
    return is_main(record) && record.told_to_stop;
  });
  if (left.stop_signal == 0 || !told) return 0;
  if (!left.single) return 128 + left.stop_signal;
  for (const TaskRecord& record : evidence.job.records) {
    if (is_main(record) && record.process == 0) return record.ending->exit_code();
  }
  return kOwnFailure;
}

Remains remains_of(const Evidence& evidence) {
  Remains left;
  left.single = evidence.job.plan.processes.size() == 1;
  left.stop_signal = pending_stop(evidence);
  left.grace_ms = evidence.grace_ms;
  left.job_control = evidence.job_control;
  left.signals = evidence.signals;
  if (evidence.machine.cause() != nullptr) left.failure_code = evidence.machine.cause()->exit_code;
  if (left.failure_code == 0) left.failure_code = evidence.resolve_code;
  bool incomplete = false;
  for (const TaskRecord& record : evidence.job.records) {
    if (!is_main(record)) continue;
    if (record.pid > 0) left.mains.push_back({record.pid, record.told_to_stop});
    incomplete = incomplete || (record.pid == 0 && !record.ending);
    const bool failed = record.ending && !record.ending->ok() && !record.told_to_stop;
    if (failed && left.failure_code == 0) left.failure_code = record.ending->exit_code();
  }
  // Some ranks were never started: the others would wait for them for ever.
  if (incomplete && left.failure_code == 0 && left.stop_signal == 0) {
    left.failure_code = kOwnFailure;
  }
  return left;
}

}  // namespace engine
