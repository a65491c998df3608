#pragma once
// The files with the environments of the job's processes, beside their logs. A worker writes them
// after the start: no process needs them to run, and their directory may be on a mount that hangs.

#include <cstdint>
#include <optional>
#include <string>

#include "init/engine/tasks/worker_context.h"
#include "init/engine/workers/child_worker.h"

namespace engine {

class EnvFiles : public ChildWorker {
 public:
  explicit EnvFiles(const WorkerContext& context) : context_(context) {}

  // Schedules a write of all files, because a process of the plan was started.
  void note_start(const TaskRecord& record);
  [[nodiscard]] std::optional<std::int64_t> deadline_ms() const override;
  void tend(std::int64_t now_ms) override;
  // Writes the files that are not written yet. Waits first for a write that runs, then for its own,
  // each at most `most_ms`. Call it before trainit exits.
  void finish(std::int64_t most_ms);

 protected:
  void on_overdue() override;
  void on_exit(const proc::Death& death) override;

 private:
  void write();

  const WorkerContext& context_;
  // Time of the next write, monotonic clock; nullopt: none is due.
  std::optional<std::int64_t> begin_ms_;
  bool again_ = false;  // another write is needed: a process was started during this one
};

// Writes the file of each process of the plan that was started and has one: one line per variable,
// without secrets. Line breaks in a value are escaped.
void write_env_files(const Job& job, const StartContext& context);

}  // namespace engine
