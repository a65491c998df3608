#pragma once
// Sends stop signals to the processes of main tasks, in the scope of --stop-scope: the main
// process, its group, or its tree. A process in the scope of several main tasks gets the signal
// once.

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

// A main task that gets a signal, and how.
struct StopTarget {
  pid_t main = 0;  // pid of the main process, which is not reaped yet
  int signal = 0;
  base::StopScope scope = base::StopScope::kMain;
  // The signal that trainit received, if it is passed on as it came; nullptr: a new signal is sent.
  const proc::Received* forwarded = nullptr;
  // The terminal has already sent the signal to the main process, which is in trainit's group.
  bool reached = false;
  // Processes whose trees get no signal: other tasks, tees, spare processes.
  std::vector<pid_t> spared;
};

class Stopper {
 public:
  // Begins a new stop signal, which may go to the same processes again.
  void begin_step();
  void send(const StopTarget& target);

  // Returns when continue_stopped() is due, by sys::monotonic_ms(): a moment after a signal was
  // sent. nullopt: not due. The delay avoids a scan of all processes if the job exits at once. Call
  // continue_stopped() also before the next received signal is handled, which may be ^Z.
  [[nodiscard]] std::optional<std::int64_t> continue_due_ms() const { return continue_due_ms_; }
  // Sends SIGCONT to the stopped processes of the job, if a stop signal was sent. Otherwise they
  // could not save anything and would be killed at the end of the grace period.
  void continue_stopped();
  void leave_stopped();  // cancels continue_stopped(): no main process is left

  // Returns true if the process got SIGTERM together with a main task, so that it needs none as a
  // leftover.
  [[nodiscard]] bool has_had_term(pid_t pid) const;
  void forget();

 private:
  void send_to_group(const StopTarget& target);
  void send_to_tree(const StopTarget& target);
  static void send_to_main(const StopTarget& target);
  void note(const proc::Member& member, int signal);

  std::vector<StopTarget> to_continue_;  // main tasks that got a signal, for continue_stopped()
  std::optional<std::int64_t> continue_due_ms_;
  // Process groups that got a signal in this step, with that signal.
  std::set<std::pair<pid_t, int>> groups_;
  std::set<int> trees_;                      // signals that the tree got in this step
  std::map<pid_t, std::uint64_t> had_term_;  // processes that got SIGTERM: pid and start time
  bool all_had_term_ = false;  // kill(-1) has sent SIGTERM to all, because /proc is missing
};

}  // namespace engine
