#pragma once
// The diagnosis of the first failure of a job. It goes to the log, the termination message, the job
// (from which the state is written) and the timeline. The log line waits for the last lines of the
// failed process. In a job of several nodes it also waits for the decision which failure was the
// first. Ranks that were stopped because of the failure are added when they have ended, with their
// exit status.

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

  // Begins the diagnosis when the machine asks for its report, so there is a cause. `seen`: data
  // shared by the tee, nullptr without a tee. `termination_log`: nullptr if this instance has no
  // termination log.
  void begin(Job& job, const lifecycle::Machine& machine, const proc::SavedSignals& saved,
             const logtee::Shared* seen, const char* termination_log);
  // Logs `line`. If the first failure has not been logged yet, `line` follows it later.
  void say_behind(std::string line);
  // Logs what is known and has not been logged. Returns true if the job has new facts for its
  // state.
  bool advance(Job& job, const lifecycle::Machine& machine);
  // Returns the verdict once, after all output has been read. The machine waits for it before a
  // restart.
  std::optional<lifecycle::event::Diagnosed> take_verdict() {
    return std::exchange(verdict_, std::nullopt);
  }
  // Ends the diagnosis with the job. Waits for the last lines until their deadline, then logs the
  // rest.
  void finish(Job& job, const lifecycle::Machine& machine);
  // Prepares for a new start of the job. A failure that has not been logged is logged when its last
  // lines have arrived.
  void forget(Job& job, const lifecycle::Machine& machine);

 private:
  void read_output_tail(Job& job, const lifecycle::Machine& machine,
                        const proc::SavedSignals& saved, const logtee::Shared* seen);
  void weigh(const Job& job, const lifecycle::Machine& machine);
  // A first failure, and the lines to log after it.
  struct Line {
    std::string message;
    FailureDetail detail;
    bool is_failure = true;
    bool here = true;        // the failure is on this node
    std::string no_restart;  // sentence against a restart
    bool unread = false;     // no output was kept, and no advice how to keep it has been logged
    std::vector<std::string> behind;
  };
  [[nodiscard]] Line take_line(const Job& job);
  static void say(const Line& line);
  void say_late();
  // Takes the findings of the worker that read the output.
  void take_output(PrintedEnd end, std::string& message, FailureDetail& detail, bool here);
  [[nodiscard]] bool may_change(const Job& job, const lifecycle::Machine& machine) const;
  [[nodiscard]] bool all_ended(const lifecycle::Machine& machine) const;
  void write(const Job& job, const lifecycle::Machine& machine) const;

  OutputTail& tail_;
  Timeline& timeline_;
  bool unsaid_ = false;
  std::int64_t began_ms_ = 0;        // monotonic clock
  std::vector<std::string> behind_;  // lines to log after the failure
  std::optional<Line> late_;         // failure of the previous start, waits for its last lines
  bool bare_ = false;                // the message has no more facts than the exit code
  bool unread_ = false;              // no output of the failed process is kept
  bool advised_ = false;             // the advice how to keep output has been logged
  std::string no_restart_;           // sentence against a restart, logged after the failure
  std::optional<lifecycle::event::Diagnosed> verdict_;
  std::optional<lifecycle::FailureSign> before_;  // the failure that led to this start
  bool tearing_down_ = false;
  std::vector<lifecycle::TaskRef> others_;  // ranks that lived at the failure
  const char* termination_log_ = nullptr;
};

}  // namespace engine
