#pragma once
// Warm restarts (--warm): beside each rank that a Python program is, a process stands by that is
// the rank of the next start. When one is made, which rank it may be, and what is said of it. They
// begin one after the other, behind the start of the ranks; they are the first to go where memory
// becomes short, and go with the job.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "init/engine/tasks/worker_context.h"
#include "init/engine/warm/spare.h"
#include "init/engine/workers/worker_list.h"
#include "init/proc/spawn.h"

namespace engine {

class WarmRanks : public ChildWorker {
 public:
  WarmRanks(const WorkerContext& context, WorkerList& workers)
      : context_(context), workers_(workers) {}

  // A main process is about to be started as `spec`. The process that becomes it; nullopt: it is
  // to be started as any other.
  std::optional<envgen::Result<proc::Spawned>> hand_over(TaskRecord& record,
                                                         const proc::SpawnSpec& spec);
  // Whether the process that is to be the rank of `record` has had its time for that.
  [[nodiscard]] static bool is_late(const TaskRecord& record);
  // Of one with TaskRecord::handed_over whose start pipe has ended.
  [[nodiscard]] bool has_run(const TaskRecord& record) const;
  // What it was handed over to will not be the rank; `why` is for the log.
  void note_lost(const TaskRecord& record, const std::string& why);
  // None stands by any more.
  void end();
  // The same at the end of all, where nobody else ends them: waits until they are gone.
  void finish(std::int64_t most_ms);

  // Looked at now and then, while one stands by.
  void tend(std::int64_t now_ms) override;
  void stepped() override;

 private:
  Spare& spare_of(const TaskRecord& record);
  std::string reason_against(Spare& spare, const TaskRecord& record, const proc::SpawnSpec& spec);
  [[nodiscard]] bool may_stand_by() const;
  [[nodiscard]] const envgen::WarmProcess* planned_warm(std::size_t place) const;
  void advance();
  void start_spare(Spare& spare, const envgen::WarmProcess& process);
  void tell();
  void note_cold(TaskRecord& record, const std::string& reason);
  void say_starts();

  const WorkerContext& context_;
  WorkerList& workers_;
  std::map<int, Spare*> spares_;                          // by the place of their ranks in the plan
  std::map<std::string, std::vector<std::string>> cold_;  // of this start: ranks by the reason
  std::vector<std::string> warm_;
  std::set<std::string> said_;  // why something was given up
};

}  // namespace engine
