#pragma once
// Warm restarts (--warm): each rank that is a Python program has a spare process, which becomes the
// rank of the next start. This class decides when a spare is made and which rank it can become, and
// reports both. Spares start one after the other, after the ranks. They are ended first if memory
// becomes short, and they end with the job.

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

  // Returns the process that a spare has become, instead of a main process started as `spec`.
  // nullopt: the caller must start `spec` as usual. Call it before each start of a main process.
  std::optional<base::Result<proc::Spawned>> hand_over(TaskRecord& record,
                                                       const proc::SpawnSpec& spec);
  // Returns true if the time for the spare to become the rank of `record` is over.
  [[nodiscard]] static bool is_late(const TaskRecord& record);
  // Returns true if the process runs as the rank. Requires TaskRecord::handed_over and an ended
  // start pipe.
  [[nodiscard]] bool has_run(const TaskRecord& record) const;
  // Records that the process of the last hand_over() will not become the rank; `why` is for the
  // log.
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
  std::map<int, Spare*> spares_;                          // the key is the rank's index in the plan
  std::map<std::string, std::vector<std::string>> cold_;  // cold ranks of this start, by reason
  std::vector<std::string> warm_;
  std::set<std::string> said_;  // logged reasons for giving up
};

}  // namespace engine
