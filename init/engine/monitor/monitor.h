#pragma once
// The monitor: a forked worker beside a running job that watches the ranks' performance, their
// progress, and the node's health (monitor_worker.h). It sends its findings to PID 1 over a pipe
// and decides nothing. Its crash or a hang costs the job nothing.

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

// Prepares the watches of a plan that has just been adopted. Call it before its processes start.
void prepare_watches(Job& job);
// Returns the tee's scan of the lines; empty if no lines are watched.
Tees::MakeScan line_scan(const Job& job);
// Adds the numbers of the watched lines to the report of the job's tasks.
void add_lines(const Job& job, JobReport& report);
// The monitor's worker. It runs while the job does, if the plan has watches.
class Monitor : public ChildWorker {
 public:
  // `tees`: the tees that the ranks' output goes through.
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
