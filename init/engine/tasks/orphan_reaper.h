#pragma once
// The reaper of orphans: it signals the processes that this one has adopted, while the machine
// wants them gone (SweepAdopted). It looks for them behind a reaping: it is a death that makes
// another process our child.

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
  // All outlive it: the job and the tees say who is no adopted process, the stopper who has had the
  // SIGTERM.
  OrphanReaper(const Job& job, const Stopper& stopper, const Tees& tees)
      : job_(job), stopper_(stopper), tees_(tees) {}

  // From now on each adopted process gets `signal` once, the next reaping begins with it; 0: none.
  void begin(int signal);
  // After each reaping. `more`: some of the dead were left for the next turn, and are waited for a
  // bounded number of turns. True: a sweep has found no adopted process.
  [[nodiscard]] bool sweep_behind(const proc::Reaped& reaped, bool more);
  // Tasks and adopted processes that have had their SIGKILL and live: they hang in the kernel.
  [[nodiscard]] std::vector<pid_t> outlived(const lifecycle::Machine& machine) const;
  // It may not be signalled. The first one is said, with what is missing.
  void note_refused(const std::string& name, pid_t pid);
  // All children that are left may not be signalled: there is nothing to wait for.
  [[nodiscard]] bool only_refused() const;
  // All below us but the tasks that live, at once.
  void kill_rest() const;

 private:
  bool sweep();
  [[nodiscard]] bool is_ours(pid_t pid) const;

  const Job& job_;
  const Stopper& stopper_;
  const Tees& tees_;
  int signal_ = 0;
  int put_off_ = 0;          // turns in a row
  bool due_ = false;         // nobody has had it yet
  std::set<pid_t> refused_;  // alive, and not ours to signal
  bool said_refused_ = false;
  std::set<pid_t> swept_;  // those that have had signal_; -1: all at once
};

// Says where in the kernel they hang, as far as /proc tells; nothing about those that are gone.
void report_outlived(const std::vector<pid_t>& pids);

}  // namespace engine
