#pragma once
// The reaper of orphans. It signals the processes that trainit has adopted, from the machine's
// SweepAdopted action on. It looks for them after each reaping, because only a death makes another
// process a child of trainit.

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "init/engine/tasks/job.h"
#include "init/engine/tasks/stop.h"
#include "init/engine/workers/tees.h"
#include "init/proc/reap.h"
#include "lifecycle/machine.h"

namespace engine {

class OrphanReaper {
 public:
  // All arguments must outlive the reaper. The job and the tees name the processes that are not
  // adopted; the stopper knows which processes already got SIGTERM.
  OrphanReaper(const Job& job, const Stopper& stopper, const Tees& tees)
      : job_(job), stopper_(stopper), tees_(tees) {}

  // Starts a sweep: each adopted process gets `signal` once, from the next reaping on. 0 ends it.
  void begin(int signal);
  // Sweeps; call it after each reaping. `more`: dead children are left for the next turn, so the
  // sweep is postponed for a limited number of turns. Returns true if a sweep has found no adopted
  // process.
  [[nodiscard]] bool sweep_behind(const proc::Reaped& reaped, bool more);
  // Returns the tasks and adopted processes that are alive after SIGKILL: they hang in the kernel.
  [[nodiscard]] std::vector<pid_t> outlived(const lifecycle::Machine& machine) const;
  // Records a process that trainit may not signal. Logs the first one, and what permission is
  // missing.
  void note_refused(const std::string& name, pid_t pid);
  // Returns true if trainit may not signal any remaining child, so that waiting is useless. The
  // tees and the processes that outlive the tasks are not considered.
  [[nodiscard]] bool only_refused() const;
  // Kills all descendants at once, except live tasks, the tees, and processes that
  // outlive the tasks.
  void kill_rest() const;

 private:
  bool sweep();
  [[nodiscard]] bool is_ours(pid_t pid) const;

  const Job& job_;
  const Stopper& stopper_;
  const Tees& tees_;
  int signal_ = 0;
  int put_off_ = 0;          // consecutive turns for which the sweep was postponed
  bool due_ = false;         // no process has got signal_ yet
  std::set<pid_t> refused_;  // alive; trainit may not signal them
  bool said_refused_ = false;
  std::set<pid_t> swept_;  // processes that have got signal_; -1: all at once
};

// Logs where in the kernel the processes hang, as far as /proc shows it. Skips processes that have
// exited.
void report_outlived(const std::vector<pid_t>& pids);

}  // namespace engine
