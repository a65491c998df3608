#pragma once
// The worker that prepares a dataset of the job (--data), as PID 1 knows it: it touches neither
// source nor copy, but hears of the child (data_worker.h) how far that is and where the data is.

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
  // Of the task with this index. The hooks that run on a failure are the plan's: while `resolver`
  // makes it, a failure is held back, but not for as long as a cluster may take.
  DataTask(const WorkerContext& context, std::uint32_t index, const ChildWorker& resolver)
      : context_(context), index_(index), resolver_(resolver) {}

  envgen::Status start();
  // Its task has ended so, or was never started (`failure` says why then): `ending` becomes what
  // the job takes it for. True: it is held back, to be posted later.
  bool settle(lifecycle::ExitStatus& exit_status, const std::string& failure = {});
  // Posts what was held back, once that is due.
  void post_held();

  [[nodiscard]] int channel() const override { return socket_.valid() ? socket_.get() : -1; }
  [[nodiscard]] std::optional<std::int64_t> deadline_ms() const override;
  void read() override;
  // One that does not end in time is killed; one that hangs in the kernel is left behind.
  void tend(std::int64_t now_ms) override;

 private:
  [[nodiscard]] bool may_hold() const;
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
  int exit_code_ = 0;                    // that its failure stands for
  std::int64_t stage_since_ms_ = 0;      // the progress has said the same phase for so long
  std::optional<std::int64_t> held_ms_;  // its failure is held back until then
};

}  // namespace engine
