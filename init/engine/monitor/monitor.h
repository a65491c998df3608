#pragma once
// The monitor: a forked worker beside a running job that watches the ranks' performance, their
// progress, and the node's health (monitor_worker.h). It sends its findings to PID 1 over a pipe;
// PID 1 decides what follows. If the monitor crashes or hangs, the job is not affected.

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

// Prepares the job's records for the watches of a new plan: Job::watches and Job::lines. Call it
// before the plan's processes start.
void prepare_watches(Job& job);
// Returns the function for Tees::begin() by which the tee finds numbers in the ranks' lines; empty
// if no lines are watched.
Tees::MakeScan line_scan(const Job& job);
// Adds the numbers from the ranks' lines to the tasks in `report`.
void add_lines(const Job& job, JobReport& report);
// PID 1's side of the monitor. The worker runs while the job runs, if the plan has watches.
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
