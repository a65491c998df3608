#pragma once
// The diagnosis of the first failure of a job: what failed, and why. It goes to the log, the
// termination message, the job (for state.json) and the timeline. It is logged when the output of
// the failed process was read. In a job of several nodes, the decision which failure was the first
// must have come too. Ranks that were stopped because of the failure are added, with their exit
// status, when they have ended.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "init/engine/report/output_tail.h"
#include "init/engine/report/timeline.h"
#include "init/engine/tasks/job.h"
#include "init/engine/workers/worker_list.h"
#include "init/proc/signals.h"
#include "lifecycle/machine.h"
#include "lifecycle/restart_verdict.h"

namespace engine {

class Diagnosis {
 public:
  Diagnosis(WorkerList& workers, Timeline& timeline)
      : tail_(workers.add<OutputTail>()), timeline_(timeline) {}

  // Begins the diagnosis. Call it for the machine's action Report, so that the machine has a cause.
  // `seen`: data shared by the tee; nullptr without a tee. `termination_log`: nullptr if this
  // instance has no termination log.
  void begin(Job& job, const lifecycle::Machine& machine, const proc::SavedSignals& saved,
             const logtee::Shared* seen, const char* termination_log);
  // Logs `line`. If the first failure is known but not logged yet, `line` is logged after it.
  void say_behind(std::string line);
  // Continues the diagnosis: takes the worker's findings, and logs the failure when it is complete.
  // Call it in every loop iteration. Returns true if the job has new facts for state.json.
  bool advance(Job& job, const lifecycle::Machine& machine);
  // Returns the verdict whether a restart can help, or which task failed first. It comes when the
  // output was read. Returns each verdict once. The machine waits for it before a restart.
  std::optional<lifecycle::event::Diagnosed> take_verdict() {
    return std::exchange(verdict_, std::nullopt);
  }
  // Ends the diagnosis at the end of the job. Blocks until the output was read, at most until the
  // worker's deadline. Then logs what is not logged yet.
  void finish(Job& job, const lifecycle::Machine& machine);
  // Prepares for a new start of the job. A failure that is not logged yet is logged when its output
  // was read.
  void forget(Job& job, const lifecycle::Machine& machine);

 private:
  void read_output_tail(Job& job, const lifecycle::Machine& machine,
                        const proc::SavedSignals& saved, const logtee::Shared* seen);
  void weigh(const Job& job, const lifecycle::Machine& machine);
  // The log lines of a first failure.
  struct Line {
    std::string message;
    FailureDetail detail;
    bool is_failure = true;
    bool here = true;        // the failure is on this node
    std::string no_restart;  // sentence why no restart follows or helps; "": none
    bool unread = false;     // add the advice how to keep output, because none was kept
    std::vector<std::string> behind;
  };
  [[nodiscard]] Line take_line(const Job& job);
  static void say(const Line& line);
  void say_late();
  // Adds the findings of the worker that read the output to `message` and `detail`.
  void take_output(PrintedEnd end, std::string& message, FailureDetail& detail, bool here);
  [[nodiscard]] bool may_change(const Job& job, const lifecycle::Machine& machine) const;
  [[nodiscard]] bool all_ended(const lifecycle::Machine& machine) const;
  void write(const Job& job, const lifecycle::Machine& machine) const;

  OutputTail& tail_;
  Timeline& timeline_;
  bool unsaid_ = false;
  std::int64_t began_ms_ = 0;        // time of begin(), monotonic clock
  std::vector<std::string> behind_;  // lines to log after the failure
  std::optional<Line> late_;  // failure of the previous start, whose output is still being read
  bool bare_ = false;         // the message says no more than the exit code (is_bare)
  bool unread_ = false;       // the output of the failed process was not kept
  bool advised_ = false;      // the advice how to keep output has been logged
  std::string no_restart_;    // sentence why no restart follows or helps, logged after the failure
  std::optional<lifecycle::event::Diagnosed> verdict_;
  std::optional<lifecycle::FailureSign> before_;  // the failure that led to this start
  bool tearing_down_ = false;
  std::vector<lifecycle::TaskRef> others_;  // ranks that were alive at the failure
  const char* termination_log_ = nullptr;
};

}  // namespace engine
