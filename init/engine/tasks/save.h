#pragma once
// Sends the checkpoint signal to the job's processes, and creates the trigger file of a --signal
// rule (base::SignalRule::Kind::kFile).

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "envgen/plan/sandbox.h"
#include "init/engine/tasks/job.h"
#include "init/engine/tasks/worker_context.h"
#include "init/engine/workers/child_worker.h"
#include "init/proc/signals.h"
#include "init/proc/tree.h"

namespace engine {

// The processes that the checkpoint signal has reached.
struct Asked {
  std::vector<proc::Member> reached;
  std::optional<pid_t> refused;  // first process that trainit may not signal
  bool unsure = false;  // a process blocks nearly all signals now (as during a fork), so ask again
};
// Sends the checkpoint signal to each of `mains` that catches it or waits for it (sigwait,
// signalfd). For any other main process (torchrun, DeepSpeed's runner, a shell) it goes to the
// nearest descendants that do. A process that does not handle the signal would die of it and save
// nothing. Processes below one that got the signal (data loaders) do not get it. Without /proc only
// `mains` get it, unchecked. Adds the processes to `asked`, and leaves out those that `asked` has
// already. If `last` is false, a process that blocks nearly all signals makes the result unsure,
// and no process below it gets the signal. Requires that `mains` are children of trainit.
void ask_to_save(const std::vector<pid_t>& mains, int signal, bool last, Asked& asked);

// Sends the plan's checkpoint signal to the main processes and logs how many got it. While a
// process blocks nearly all signals, it looks again, a bounded number of times, without blocking.
class SaveRequest : public ChildWorker {
 public:
  explicit SaveRequest(const WorkerContext& context) : context_(context) {}

  void begin();
  // true: further looks follow, so the result is not known yet.
  [[nodiscard]] bool looks() const { return left_ > 0; }
  [[nodiscard]] bool reached_nobody() const { return asked_.reached.empty(); }

  [[nodiscard]] std::optional<std::int64_t> deadline_ms() const override;
  void tend(std::int64_t now_ms) override;
  void stepped() override;

 private:
  void look();
  void finish();

  const WorkerContext& context_;
  Asked asked_;
  int left_ = 0;  // number of looks that can still follow
  std::int64_t next_ms_ = 0;
};

// Creates the trigger file, or updates its time if it exists. A child does that, because the file
// may be on a mount that hangs. Does not follow a symlink, which the job may have created. Returns
// the child's pid, which the caller must reap; 0 if the child could not be started.
pid_t touch_trigger(const std::string& path, const std::optional<envgen::Identity>& job_user,
                    const proc::SavedSignals& saved);

}  // namespace engine
