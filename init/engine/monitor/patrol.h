#pragma once
// The patrol: a forked worker beside a running job that looks at the ranks' performance, at whether
// they make progress, and at the node's health (patrol_worker.h). It tells PID 1 what it has
// found over a pipe and decides nothing; its crash or a hang costs the job nothing.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/environ.h"
#include "base/result.h"
#include "envgen/plan/plan.h"
#include "init/engine/monitor/patrol_news.h"
#include "init/engine/monitor/patrol_worker.h"
#include "init/engine/monitor/perf_watch.h"
#include "init/engine/report/timeline.h"
#include "init/engine/tasks/job.h"
#include "init/engine/tasks/start.h"
#include "init/engine/workers/messages.h"
#include "init/engine/workers/tees.h"
#include "init/proc/signals.h"
#include "init/sys/fd.h"
#include "lifecycle/events.h"

namespace engine {

// For the watches of a plan that has just been adopted, before its processes start.
void prepare_watches(Job& job);
// What the tee does for the performance watch; empty without one.
Tees::MakeScan perf_scan(const Job& job);
// What is to be watched of this job as it runs now. `seen`: what its tee has, nullptr without one;
// `context` as for its hooks.
PatrolOrder patrol_order(const Job& job, const logtee::Shared* seen, const StartContext& context,
                         const proc::SavedSignals& saved);

class Patrol {
 public:
  // Starts one while it is `wanted` and ends it when not. One that could not be started, or has
  // ended by itself, is not started again before that.
  void keep(bool wanted, const std::function<PatrolOrder()>& order);
  // Takes what it has told into the job and the timeline, says it, and returns what the machine has
  // to know.
  std::vector<lifecycle::Event> read(Job& job, Timeline& timeline);
  // A child of ours was reaped: if it was the patrol, its pid is nobody's any more.
  void reaped(pid_t pid) { ended_ = ended_ || pid == pid_; }
  // The pipe to wait for; -1: none.
  [[nodiscard]] int pipe() const {
    return messages_ && !messages_->at_end() ? messages_->pipe().get() : -1;
  }

 private:
  pid_t pid_ = 0;
  std::optional<MessagePipe> messages_;
  bool started_ = false;  // or tried to
  bool ended_ = false;
};

}  // namespace engine
