#include "init/engine/companions.h"

#include <signal.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "init/sys/clock.h"
#include "init/sys/log.h"

namespace engine {
namespace {

// A worker keeps its hooks to their time by itself; each may take some seconds to be killed.
std::optional<std::int64_t> deadline_of(const envgen::HookGroup& group) {
  constexpr std::int64_t kSlackMs = 10'000;
  constexpr std::int64_t kLongestMs = 1'000'000'000;
  if (group.timeout_ms <= 0) return std::nullopt;
  const auto count = static_cast<std::int64_t>(group.paths.size());
  return sys::monotonic_ms() + count * (std::min(group.timeout_ms, kLongestMs) + kSlackMs);
}

}  // namespace

envgen::Result<pid_t> HookRuns::start(std::uint32_t index, const Job& job,
                                      const StartContext& context,
                                      const proc::SavedSignals& saved) {
  const TaskRecord& record = job.records[index];
  auto run = HookRun::start(*hooks_of(job, record), hook_env(job, record, context),
                            context.base.facts.run_dir, forced_names(job.plan),
                            job.plan.sandbox.identity, saved);
  if (!run) return std::unexpected(std::move(run.error()));
  const pid_t pid = run->pid();
  runs_.insert_or_assign(index, Run{std::move(*run), deadline_of(*hooks_of(job, record))});
  return pid;
}

void HookRuns::read(std::uint32_t index, Job& job) {
  const auto run = runs_.find(index);
  if (run == runs_.end()) return;
  for (HookNews& news : run->second.hooks.read_news()) {
    if (auto* failed = std::get_if<HookFailed>(&news)) {
      job.records[index].hook_message = std::move(failed->message);
      continue;
    }
    // Those of other events come too late for the job, and may come as often as those run.
    if (job.records[index].kind != lifecycle::TaskKind::kPreStart) continue;
    auto& edits = std::get<HookExports>(news).edits;
    job.exports.insert(job.exports.end(), std::make_move_iterator(edits.begin()),
                       std::make_move_iterator(edits.end()));
  }
}

void HookRuns::kill_overdue(const Job& job, std::int64_t now_ms) {
  for (auto& [index, run] : runs_) {
    if (!run.deadline_ms || now_ms < *run.deadline_ms) continue;
    run.deadline_ms.reset();
    sys::log::warning("the worker of the " + job.records[index].name +
                      " has not ended in its time, so it gets SIGKILL");
    ::kill(run.hooks.pid(), SIGKILL);
  }
}

std::optional<std::int64_t> HookRuns::next_deadline() const {
  std::optional<std::int64_t> next;
  for (const auto& [index, run] : runs_) {
    if (run.deadline_ms) next = std::min(next.value_or(*run.deadline_ms), *run.deadline_ms);
  }
  return next;
}

void HookRuns::each_pipe(const std::function<void(int fd, std::uint32_t index)>& add) const {
  for (const auto& [index, run] : runs_) {
    if (!run.hooks.at_end()) add(run.hooks.pipe().get(), index);
  }
}

void MembershipWatch::keep(bool wanted, const std::function<envgen::Result<Watcher>()>& start) {
  if (!wanted) {
    if (watcher_ && !ended_) ::kill(watcher_->pid(), SIGKILL);
    watcher_.reset();
    started_ = false;
  }
  if (!wanted || std::exchange(started_, true)) return;
  ended_ = false;
  auto watcher = start();
  if (watcher) {
    watcher_ = std::move(*watcher);
  } else {
    sys::log::warning(to_line(watcher.error()) + ", so the list of nodes is not watched");
  }
}

std::optional<std::string> MembershipWatch::read() {
  if (!watcher_) return std::nullopt;
  auto news = watcher_->read_news();
  if (!news && watcher_->at_end()) {
    sys::log::warning("the list of nodes is no longer watched: the watcher has failed");
  }
  return news;
}

}  // namespace engine
