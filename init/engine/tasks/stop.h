#pragma once
// The scope of a stop signal to a main task (--stop-scope). A process that several main tasks lead
// to gets the signal once.

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/policy.h"
#include "init/proc/signals.h"
#include "init/proc/tree.h"

namespace engine {

// A main task whose processes get a signal, and how they get it.
struct StopTarget {
  pid_t main = 0;  // pid of the task's process, alive or not yet reaped
  int signal = 0;
  base::StopScope scope = base::StopScope::kMain;
  // The received signal, if it is the one to send.
  const proc::Received* forwarded = nullptr;
  // The terminal has already sent it to trainit's process group, and the main process is in that
  // group.
  bool reached = false;
  std::vector<pid_t> spared;  // other tasks, whose trees are not part of the job
};

class Stopper {
 public:
  // Begins a new stop signal, which may go to the same processes again.
  void begin_step();
  void send(const StopTarget& target);

  // Returns when continue_stopped() is due, by sys::monotonic_ms(): a moment after the signal.
  // nullopt: no signal was sent. The delay spares a job that exits at once the scan of all
  // processes. Call continue_stopped() also before the next signal, which may stop the job again.
  [[nodiscard]] std::optional<std::int64_t> continue_due_ms() const { return continue_due_ms_; }
  // Sends SIGCONT to the stopped processes of the job, if a stop signal was sent. Otherwise they
  // could not save anything and would be killed at the end of the grace period.
  void continue_stopped();
  void leave_stopped();  // cancels it, as no signalled process is left

  // Returns true if the process got SIGTERM together with a main task, so that it needs none as a
  // leftover.
  [[nodiscard]] bool has_had_term(pid_t pid) const;
  void forget();

 private:
  void send_to_group(const StopTarget& target);
  void send_to_tree(const StopTarget& target);
  static void send_to_main(const StopTarget& target);
  void note(const proc::Member& member, int signal);

  std::vector<StopTarget> to_continue_;  // main tasks that got a signal
  std::optional<std::int64_t> continue_due_ms_;
  std::set<std::pair<pid_t, int>> groups_;   // process groups, and their signals in this step
  std::set<int> trees_;                      // signals of the tree in this step
  std::map<pid_t, std::uint64_t> had_term_;  // pid and start
  bool all_had_term_ = false;                // no /proc to tell the processes apart
};

}  // namespace engine
