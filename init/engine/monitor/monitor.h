#pragma once
// The monitor: a forked worker beside a running job that looks at the ranks' performance, at
// whether they make progress, and at the node's health (monitor_worker.h). It tells PID 1 what it
// has found over a pipe and decides nothing; its crash or a hang costs the job nothing.

#include <cstdint>
#include <string_view>

#include "init/engine/monitor/hang_task.h"
#include "init/engine/monitor/line_watch.h"
#include "init/engine/monitor/monitor_messages.h"
#include "init/engine/monitor/monitor_worker.h"
#include "init/engine/tasks/job.h"
#include "init/engine/tasks/start.h"
#include "init/engine/tasks/worker_context.h"
#include "init/engine/workers/child_worker.h"
#include "init/engine/workers/tees.h"
#include "init/proc/signals.h"

namespace engine {

// For the watches of a plan that has just been adopted, before its processes start.
void prepare_watches(Job& job);
// What the tee does where lines are watched; else empty.
Tees::MakeScan line_scan(const Job& job);
// What they tell, in the report of the job's tasks.
void add_lines(const Job& job, JobReport& report);
// One runs while the job does, where there is something to watch.
class Monitor : public ChildWorker {
 public:
  // `tees`: what the ranks print goes through them.
  Monitor(const WorkerContext& context, const Tees& tees, HangTask& hang);
  void stepped() override;

 private:
  Heard on_message(std::uint32_t kind, std::string_view bytes) override;
  void on_silence(bool damaged) override;
  void start();

  const WorkerContext& context_;
  const Tees& tees_;
  HangTask& hang_;
};

}  // namespace engine
