#pragma once
// The environments of the job's processes, saved beside their logs. No process needs them to run,
// so a worker writes them behind the start; and their directory may be on a mount that hangs.

#include <cstdint>
#include <optional>
#include <string>

#include "init/engine/tasks/worker_context.h"
#include "init/engine/workers/child_worker.h"

namespace engine {

class EnvFiles : public ChildWorker {
 public:
  explicit EnvFiles(const WorkerContext& context) : context_(context) {}

  // A process of the plan was started.
  void note_start(const TaskRecord& record);
  [[nodiscard]] std::optional<std::int64_t> deadline_ms() const override;
  void tend(std::int64_t now_ms) override;
  // Before the end: writes what is still to be written, and waits for it, at most so long.
  void finish(std::int64_t most_ms);

 protected:
  void on_overdue() override;
  void on_exit(const proc::Death& death) override;

 private:
  void write();

  const WorkerContext& context_;
  std::optional<std::int64_t> begin_ms_;  // when to write
  bool again_ = false;                    // others were started while it wrote
};

// Writes the file of each process that has one and was started: a line a variable, whatever its
// value holds, without secrets.
void write_env_files(const Job& job, const StartContext& context);

}  // namespace engine
