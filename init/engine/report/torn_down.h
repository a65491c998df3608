#pragma once
// Ranks that were told to stop because of a failure on another node. One of them may have been
// failing itself: if a rank closes its connections while it still fails, its peers on other nodes
// fail too, and their news may be here before its own end.

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

  // Another node failed first, as far as is known, and nothing is kept yet.
  [[nodiscard]] bool may_keep(const lifecycle::Machine& machine) const {
    return machine.failed_elsewhere() && machine.awaits_verdict() && !kept_;
  }
  // Keeps what the ranks have printed on stderr, before they are told to stop. `seen`: by the tee,
  // nullptr if there is none.
  void keep_printed(const Job& job, const lifecycle::Machine& machine, const logtee::Shared* seen);
  // Call it in each turn. Returns a rank that has just printed why it fails, and nothing since
  // that shows that it went on, once it has ended and while the job's first failure is not known.
  // Of several, the one whose output ended first.
  std::optional<lifecycle::TaskRef> look(Job& job, const lifecycle::Machine& machine,
                                         const proc::SavedSignals& saved);

 private:
  void forget();

  OutputTail& tail_;
  struct Printed {
    lifecycle::TaskRef task;
    std::int64_t last_ms = 0;  // monotonic clock
    logtee::Tail tail;
  };
  std::vector<Printed> printed_;
  bool kept_ = false;
  bool looks_ = false;
  std::optional<lifecycle::TaskRef> found_;  // its end is awaited
};

}  // namespace engine
