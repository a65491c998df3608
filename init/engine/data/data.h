#pragma once
// PID 1's side of the worker that prepares a dataset of the job (--data). PID 1 touches neither the
// source nor the copy, because a mount may hang. The child (data_worker.h) does, and reports its
// progress and where the data is.

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "init/engine/data/data_messages.h"
#include "init/engine/tasks/worker_context.h"
#include "init/engine/workers/child_worker.h"
#include "lifecycle/task.h"

namespace engine {

class DataTask : public ChildWorker {
 public:
  // `index`: index of the task in Job::records. A failure of the copy runs the plan's hooks, so it
  // is held back while `resolver` makes the plan. That is at most 5 s, because a cluster can take
  // longer.
  DataTask(const WorkerContext& context, std::uint32_t index, const ChildWorker& resolver)
      : context_(context), index_(index), resolver_(resolver) {}

  base::Status start();
  // Decides the result of the task. It has ended with `exit_status`, or was never started
  // (`failure` is the reason, otherwise ""). Sets `exit_status` to the status that the job uses: if
  // the job can use the source instead, that is success. Returns true if a failure is held back;
  // post_delayed() posts it later.
  bool settle(lifecycle::ExitStatus& exit_status, const std::string& failure = {});
  // Posts the failure that was held back, if its time has come.
  void post_delayed();

  [[nodiscard]] int channel() const override { return socket_.valid() ? socket_.get() : -1; }
  [[nodiscard]] std::optional<std::int64_t> deadline_ms() const override;
  void read() override;
  // Kills a child that misses its deadline. If it does not die, because it hangs in the kernel, the
  // task ends without it.
  void tend(std::int64_t now_ms) override;

 private:
  [[nodiscard]] bool may_delay() const;
  [[nodiscard]] TaskRecord& task() const { return context_.job.records[index_]; }
  [[nodiscard]] DataRecord& data() const;
  void take(DataMessage message, sys::Fd lease);
  void take_progress(const DataProgress& progress);
  void end_stage();
  void warn(const std::string& text);
  [[nodiscard]] std::string how_ended(const lifecycle::ExitStatus& exit_status) const;
  lifecycle::ExitStatus outcome(const lifecycle::ExitStatus& exit_status,
                                const std::string& failure);

  const WorkerContext& context_;
  std::uint32_t index_;
  const ChildWorker& resolver_;
  sys::Fd socket_;
  bool killed_ = false;
  int exit_code_ = 0;                       // exit code that the job gets for this task's failure
  std::int64_t stage_since_ms_ = 0;         // start of the present phase, wall clock
  std::optional<std::int64_t> delayed_ms_;  // when to post the held-back failure, monotonic
};

}  // namespace engine
