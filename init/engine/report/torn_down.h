#pragma once
// Finds out whether a rank that was stopped because of a failure on another node had failed first.
// While a rank fails it closes its connections, and its peers on other nodes fail too. The reports
// of those nodes may arrive before the rank has ended.

#include <optional>
#include <string>
#include <vector>

#include "init/engine/report/output_tail.h"
#include "init/engine/tasks/job.h"
#include "init/engine/workers/worker_list.h"
#include "init/proc/signals.h"
#include "init/tee/shared.h"
#include "lifecycle/machine.h"

namespace engine {

class TornDown {
 public:
  explicit TornDown(WorkerList& workers) : tail_(workers.add<OutputTail>()) {}

  // Returns whether to call keep_printed(): another node seems to have failed first, and no output
  // is kept yet.
  [[nodiscard]] bool may_keep(const lifecycle::Machine& machine) const {
    return machine.failed_elsewhere() && machine.awaits_verdict() && !kept_;
  }
  // Keeps the last output of the ranks on stderr, as it is before they are asked to stop. `seen`:
  // data shared by the tee, nullptr without a tee.
  void keep_printed(const Job& job, const lifecycle::Machine& machine, const logtee::Shared* seen);
  // Call it in every loop iteration. Returns a rank whose last output on stderr gives the cause of
  // its own failure, with no later sign that it went on. The rank must have ended, and the job's
  // first failure must not be known yet. If several ranks fit, the one whose output ended first is
  // returned.
  std::optional<lifecycle::TaskRef> look(Job& job, const lifecycle::Machine& machine,
                                         const proc::SavedSignals& saved);

 private:
  void forget();

  OutputTail& tail_;
  struct Printed {
    lifecycle::TaskRef task;
    std::int64_t last_ms = 0;  // time of the task's last output, monotonic clock
    logtee::Tail tail;
  };
  std::vector<Printed> printed_;
  bool kept_ = false;
  bool looks_ = false;
  std::optional<lifecycle::TaskRef> found_;  // the rank to return when it has ended
};

}  // namespace engine
