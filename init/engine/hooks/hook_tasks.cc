#include "init/engine/hooks/hook_tasks.h"

#include <iterator>
#include <utility>

namespace engine {
namespace {

void take(Job& job, std::uint32_t index, HookMessage message) {
  TaskRecord& record = job.records[index];
  if (auto* failed = std::get_if<HookFailed>(&message)) {
    record.hook_message = std::move(failed->message);
    return;
  }
  // Only pre-start hooks can export. Exports of other events would come too late, and could grow
  // without limit.
  if (record.kind != lifecycle::TaskKind::kPreStart) return;
  auto& edits = std::get<HookExports>(message).edits;
  job.start.exports.insert(job.start.exports.end(), std::make_move_iterator(edits.begin()),
                           std::make_move_iterator(edits.end()));
}

}  // namespace

base::Result<pid_t> HookTasks::start(std::uint32_t index) {
  Job& job = context_.job;
  HookRun*& run = runs_[index];
  if (run == nullptr) {
    run = &workers_.add<HookRun>(
        [&job, index](HookMessage message) { take(job, index, std::move(message)); });
  }
  TaskRecord& record = job.records[index];
  record.hook_message.clear();
  const StartContext context = context_.start_context();
  TRY(run->start(*hooks_of(job, record), hook_env(job, record, context), context.base.facts.run_dir,
                 forced_names(job.plan), job.plan.sandbox.identity, context_.saved));
  return run->pid();
}

}  // namespace engine
