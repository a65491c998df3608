#pragma once
// Warm restarts (--warm): each rank that is a Python program has a spare process, which becomes the
// rank of the next start. This class decides when a spare is made and whether it can become the
// rank, and reports both. Spares start one after the other, when all ranks run. They are killed if
// memory becomes short, and at the end of the job.

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

  // Makes the spare of `record` the main process that `spec` describes, and returns its process.
  // Returns nullopt if there is no such spare: the caller must start `spec` as usual. Call it
  // before each start of a main process.
  std::optional<base::Result<proc::Spawned>> hand_over(TaskRecord& record,
                                                       const proc::SpawnSpec& spec);
  // Returns true if the spare did not become the rank of `record` within its time (10 s).
  [[nodiscard]] static bool is_late(const TaskRecord& record);
  // Returns true if the process of `record` runs as the rank (Spare::has_run). Call it while
  // TaskRecord::handed_over is true.
  [[nodiscard]] bool has_run(const TaskRecord& record) const;
  // Records and logs that the process of the last hand_over() will not become the rank, because of
  // `why`.
  void note_lost(const TaskRecord& record, const std::string& why);
  // Kills all spares.
  void end();
  // Kills all spares and waits at most `most_ms` until they have exited. Call it before trainit
  // exits.
  void finish(std::int64_t most_ms);

  // Checks the memory periodically while there are spares.
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
  std::map<int, Spare*> spares_;  // spare processes, by the rank's index in the plan
  // Names of ranks that start cold, by reason, until they are logged.
  std::map<std::string, std::vector<std::string>> cold_;
  std::vector<std::string> warm_;
  std::set<std::string> said_;  // reasons for giving up a spare that were logged
};

}  // namespace engine
