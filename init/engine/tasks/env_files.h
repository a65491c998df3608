#pragma once
// The environments of the job's processes, saved beside their logs. A worker writes them after the
// start, because no process needs them to run and their directory may be on a mount that hangs.

#include <cstdint>
#include <optional>
#include <string>

#include "init/engine/tasks/worker_context.h"
#include "init/engine/workers/child_worker.h"

namespace engine {

class EnvFiles : public ChildWorker {
 public:
  explicit EnvFiles(const WorkerContext& context) : context_(context) {}

  // Schedules a write after the start of a process of the plan.
  void note_start(const TaskRecord& record);
  [[nodiscard]] std::optional<std::int64_t> deadline_ms() const override;
  void tend(std::int64_t now_ms) override;
  // Writes what is still to be written and waits for the write that runs and for this one, each at
  // most `most_ms`. Call it before trainit exits.
  void finish(std::int64_t most_ms);

 protected:
  void on_overdue() override;
  void on_exit(const proc::Death& death) override;

 private:
  void write();

  const WorkerContext& context_;
  std::optional<std::int64_t> begin_ms_;  // time of the next write
  bool again_ = false;                    // processes were started during the write
};

// Writes the file of each started process that has one: one line per variable, without secrets.
// Line breaks in a value are escaped.
void write_env_files(const Job& job, const StartContext& context);

}  // namespace engine
