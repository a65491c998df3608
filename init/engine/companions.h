#pragma once
// The forked workers beside a job's processes: those that run its hooks, which are tasks of the
// machine, and the watcher of an elastic job, which is none. They tell what they have to tell over
// pipes, and none of them can keep PID 1 waiting.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "init/engine/hooks/hooks.h"
#include "init/engine/monitor/watch.h"
#include "init/engine/tasks/job.h"
#include "init/engine/tasks/start.h"
#include "init/proc/signals.h"

namespace engine {

class HookRuns {
 public:
  // Starts the hooks of the record with this index; their pid.
  envgen::Result<pid_t> start(std::uint32_t index, const Job& job, const StartContext& context,
                              const proc::SavedSignals& saved);
  // Takes what they have told so far into the job: the record's hook_message, and the exports of
  // pre-start hooks.
  void read(std::uint32_t index, Job& job);
  void forget(std::uint32_t index) { runs_.erase(index); }
  // Ends each worker that has outlived all the time its hooks had, as one does that was stopped.
  void kill_overdue(const Job& job, std::int64_t now_ms);
  // When that is due next, in milliseconds of the monotonic clock.
  [[nodiscard]] std::optional<std::int64_t> next_deadline() const;
  // The pipes to wait for, by index.
  void each_pipe(const std::function<void(int fd, std::uint32_t index)>& add) const;

 private:
  struct Run {
    HookRun hooks;
    std::optional<std::int64_t> deadline_ms;
  };
  std::map<std::uint32_t, Run> runs_;
};

class MembershipWatch {
 public:
  // Starts a watcher while one is `wanted` and ends it when not; one that could not be started, or
  // has ended by itself, is not started again before that.
  void keep(bool wanted, const std::function<envgen::Result<Watcher>()>& start);
  // What has changed, once.
  std::optional<std::string> read();
  // A child of ours was reaped: if it was the watcher, its pid is nobody's any more.
  void reaped(pid_t pid) { ended_ = ended_ || (watcher_ && watcher_->pid() == pid); }
  // The pipe to wait for; -1: none.
  [[nodiscard]] int pipe() const {
    return watcher_ && !watcher_->at_end() ? watcher_->pipe().get() : -1;
  }

 private:
  std::optional<Watcher> watcher_;
  bool started_ = false;  // or tried to
  bool ended_ = false;
};

}  // namespace engine
