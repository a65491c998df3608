#pragma once
// The diagnosis of the first failure of a job. It is said in the log as soon as what the failed
// process printed last is known and, of several nodes, which failure was the first; in the
// termination message; in the job, from which the state is written; and in the timeline. Who was
// torn down because of it, and how that ended, comes when it is known.

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

  // The machine asks for its report: there is a cause. `seen`: by the tee, nullptr where there is
  // none. `termination_log`: nullptr for an instance that has none of its own.
  void begin(Job& job, const lifecycle::Machine& machine, const proc::SavedSignals& saved,
             const logtee::Shared* seen, const char* termination_log);
  // Says this, behind the failure where that has not been said yet.
  void say_behind(std::string line);
  // Says what there is to say by now. True: the job has something new for its state.
  bool advance(Job& job, const lifecycle::Machine& machine);
  // Once, when all is read that will be: what the machine waits for before a restart.
  std::optional<lifecycle::event::Diagnosed> take_verdict() {
    return std::exchange(verdict_, std::nullopt);
  }
  // The job ends: waits for the last lines as long as they have time, then says what is left.
  void finish(Job& job, const lifecycle::Machine& machine);
  // The job is started anew: what has not been said yet is said when its last lines have come.
  void forget(Job& job, const lifecycle::Machine& machine);

 private:
  void read_output_tail(Job& job, const lifecycle::Machine& machine,
                        const proc::SavedSignals& saved, const logtee::Shared* seen);
  void weigh(const Job& job, const lifecycle::Machine& machine);
  // A first failure, and what is said behind it.
  struct Line {
    std::string message;
    FailureDetail detail;
    bool is_failure = true;
    bool here = true;        // on this node
    std::string no_restart;  // why
    bool unread = false;     // no output was kept, and how to keep it has not been said yet
    std::vector<std::string> behind;
  };
  [[nodiscard]] Line take_line(const Job& job);
  static void say(const Line& line);
  void say_late();
  // What has come of it.
  void take_output(PrintedEnd end, std::string& message, FailureDetail& detail, bool here);
  [[nodiscard]] bool may_change(const Job& job, const lifecycle::Machine& machine) const;
  [[nodiscard]] bool all_ended(const lifecycle::Machine& machine) const;
  void write(const Job& job, const lifecycle::Machine& machine) const;

  OutputTail& tail_;
  Timeline& timeline_;
  bool unsaid_ = false;
  std::int64_t began_ms_ = 0;        // monotonic clock
  std::vector<std::string> behind_;  // it, then these
  std::optional<Line> late_;         // of the start before, awaits its last lines
  bool bare_ = false;                // the message says no more than the exit code
  bool unread_ = false;              // no output of what failed is kept
  bool advised_ = false;             // how to keep it has been said
  std::string no_restart_;           // why, to be said behind the failure
  std::optional<lifecycle::event::Diagnosed> verdict_;
  std::optional<lifecycle::FailureSign> before_;  // the failure that this start is the answer to
  bool tearing_down_ = false;
  std::vector<lifecycle::TaskRef> others_;  // that lived when it happened
  const char* termination_log_ = nullptr;
};

}  // namespace engine
