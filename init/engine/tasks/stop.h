#pragma once
// The scope of a stop signal to a main task: --stop-scope. Each process once, however many ways
// lead to it.

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

// A main task whose processes get a signal, and how.
struct StopTarget {
  pid_t main = 0;  // its own process, alive or not yet reaped
  int signal = 0;
  envgen::StopScope scope = envgen::StopScope::kMain;
  const proc::Received* forwarded = nullptr;  // the signal that was received, if it is that one
  bool reached = false;       // the terminal has sent it to our whole process group, main in it
  std::vector<pid_t> spared;  // other tasks, whose trees are no part of the job
};

class Stopper {
 public:
  // What is signalled from now on is another stop signal, which may go to the same processes.
  void begin_step();
  void send(const StopTarget& target);

  // What stands still below us, and was told to stop, could not save anything, and would be killed
  // at the end of the grace. To find it takes a look at all processes, which a job that ends at
  // once is spared: it is due a moment behind the signal, by sys::monotonic_ms(), or before the
  // next signal is answered, which may stop it anew. nullopt: nobody was told.
  [[nodiscard]] std::optional<std::int64_t> continue_due_ms() const { return continue_due_ms_; }
  void continue_stopped();
  void leave_stopped();  // nobody who was told is left

  // It has had the SIGTERM with a main task, so that it needs none as a leftover.
  [[nodiscard]] bool has_had_term(pid_t pid) const;
  void forget();

 private:
  void send_to_group(const StopTarget& target);
  void send_to_tree(const StopTarget& target);
  static void send_to_main(const StopTarget& target);
  void note(const proc::Member& member, int signal);

  std::vector<StopTarget> to_continue_;  // the mains that were told
  std::optional<std::int64_t> continue_due_ms_;
  std::set<std::pair<pid_t, int>> groups_;   // and the signals that they had in this step
  std::set<int> trees_;                      // the signals that the tree had in this step
  std::map<pid_t, std::uint64_t> had_term_;  // pid and start
  bool all_had_term_ = false;                // there was no /proc to tell them apart
};

}  // namespace engine
