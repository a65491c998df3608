#pragma once
// The sweep of orphans: the job's processes that trainit has adopted because their parents ended.
// The machine's action SweepAdopted begins it. It looks for orphans after each reaping, because
// only a death makes another process a child of trainit.

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
  // All arguments must outlive the reaper. Children that the job and the tees list are no orphans.
  // The stopper knows which processes already got SIGTERM.
  OrphanReaper(const Job& job, const Stopper& stopper, const Tees& tees)
      : job_(job), stopper_(stopper), tees_(tees) {}

  // Starts a sweep: each orphan gets `signal` once, from the next reaping on. 0 ends the sweep.
  void begin(int signal);
  // Continues the sweep, if one is active; call it after each reaping. `more`: the reaping left
  // dead children for the next turn, so the sweep is postponed, for a limited number of turns.
  // Returns true if the sweep looked and found no orphan.
  [[nodiscard]] bool sweep_behind(const proc::Reaped& reaped, bool more);
  // Returns the tasks and orphans that got SIGKILL and are still alive: they hang in the kernel.
  [[nodiscard]] std::vector<pid_t> outlived(const lifecycle::Machine& machine) const;
  // Records a process that trainit may not signal (EPERM). Logs the first such process, and which
  // permission is missing.
  void note_refused(const std::string& name, pid_t pid);
  // Returns true if during a sweep no child is left that trainit may signal, so that waiting is
  // useless. Tees and processes that outlive the tasks (outliving_pids) are not considered.
  [[nodiscard]] bool only_refused() const;
  // Kills all descendants of trainit at once, except live tasks, the tees, and processes that
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
  bool due_ = false;         // the sweep has begun, and no look for orphans was made yet
  std::set<pid_t> refused_;  // living processes that trainit may not signal
  bool said_refused_ = false;
  std::set<pid_t> swept_;  // orphans that got signal_; -1: kill(-1) has reached all
};

// Logs in which kernel function each process hangs, as far as /proc shows it. Skips processes that
// have exited.
void report_outlived(const std::vector<pid_t>& pids);

}  // namespace engine
