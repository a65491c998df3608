#include "init/engine/monitor/stack_dump.h"

#include <unistd.h>

#include <algorithm>

#include "init/sys/clock.h"
#include "init/sys/log.h"

namespace engine {
namespace {

constexpr std::int64_t kMaxMs = 8000;
// The stacks are begun this time before a KILL; a short grace gives less. Taking them needs about a
// second.
constexpr std::int64_t kBeforeKillMs = 3000;
constexpr std::int64_t kKeptFiles = 8;

}  // namespace

std::string asked_stacks(const std::string& run_dir, std::int64_t number) {
  return stacks_directory(run_dir) + "/asked-" + std::to_string(number);
}

bool StackDump::begin(Occasion occasion, const std::string& name, std::int64_t most_ms) {
  const std::string& run_dir = context_.start_context().base.facts.run_dir;
  StackOrder order = stack_order(context_.job, run_dir);
  order.most_ms = most_ms;
  occasion_ = occasion;
  auto status = start(order, run_dir.empty() ? "" : name, context_.saved);
  if (!status) sys::log::warning(to_line(status.error()) + ", ignoring");
  // A helper is not signalled by the sweep after the main tasks.
  if (status) context_.job.helpers.push_back(pid());
  return status.has_value();
}

// Kills the worker when the last main task has ended, because the job's end must not wait for it.
void StackDump::stepped() {
  if (pid() != 0 && main_pids(context_.job).empty()) kill();
}

std::optional<std::int64_t> StackDump::ask() {
  if (pid() != 0 && occasion_ == Occasion::kAsked) return asked_;
  if (pid() != 0 || main_pids(context_.job).empty()) return std::nullopt;
  const std::string& run_dir = context_.start_context().base.facts.run_dir;
  const std::string name = asked_stacks(run_dir, asked_ + 1);
  for (const char* ending : {".json", ".txt"}) {
    ::unlink((asked_stacks(run_dir, asked_ + 1 - kKeptFiles) + ending).c_str());
    ::unlink((name + ending).c_str());  // removes files of an earlier instance
  }
  if (!begin(Occasion::kAsked, name, kMaxMs)) return std::nullopt;
  return ++asked_;
}

void StackDump::expect_kill(std::int64_t at_ms, std::int64_t now_ms) {
  before_kill_ms_.reset();
  if (at_ms == 0 || !context_.job.plan.observe.stacks) return;
  const std::int64_t left_ms = std::max<std::int64_t>(at_ms - now_ms, 0);
  before_kill_ms_ = sys::monotonic_ms() + left_ms - std::min(kBeforeKillMs, left_ms / 2);
}

std::optional<std::int64_t> StackDump::deadline_ms() const {
  const auto own = StackJob::deadline_ms();
  if (!own || !before_kill_ms_) return own ? own : before_kill_ms_;
  return std::min(*own, *before_kill_ms_);
}

void StackDump::tend(std::int64_t now_ms) {
  StackJob::tend(now_ms);
  if (!before_kill_ms_ || now_ms < *before_kill_ms_) return;
  before_kill_ms_.reset();
  if (pid() != 0 || main_pids(context_.job).empty()) return;
  const std::string& run_dir = context_.start_context().base.facts.run_dir;
  begin(Occasion::kKill, stacks_directory(run_dir) + "/kill", kBeforeKillMs / 2);
}

ChildWorker::Heard StackDump::on_message(std::uint32_t kind, std::string_view bytes) {
  const Heard heard = StackJob::on_message(kind, bytes);
  const auto message = take();
  if (!message || occasion_ != Occasion::kKill) return heard;
  std::string names;
  for (const TaskRecord& record : context_.job.records) {
    if (is_main(record) && record.pid > 0) names += (names.empty() ? "" : ", ") + record.name;
  }
  if (!names.empty()) {
    sys::log::warning("stopping: " + names + " did not end, and will be killed: " + message->text);
  }
  return heard;
}

}  // namespace engine
