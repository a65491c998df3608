#pragma once
// Whom a stop signal to a main task reaches: --stop-scope. Each process once, however many ways
// lead to it.

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "envgen/plan/request.h"
#include "init/proc/signals.h"
#include "init/proc/tree.h"

namespace engine {

class Stopper {
 public:
  explicit Stopper(envgen::StopScope scope) : scope_(scope) {}

  // What is signalled from now on is another stop signal, which may go to the same processes.
  void begin_step();
  // Behind the signals of the step: continues what stands still below us. It could not save
  // anything, and would be killed at the end of the grace.
  void end_step();

  struct Order {
    pid_t main = 0;  // its own process, alive or not yet reaped
    int signal = 0;
    const proc::Received* forwarded = nullptr;  // the signal that was received, if it is that one
    bool reached = false;       // the terminal has sent it to our whole process group, main in it
    std::vector<pid_t> spared;  // other tasks, whose trees are no part of the job
  };
  void send(const Order& order);

  // It has had the SIGTERM with a main task, so that it needs none as a leftover.
  [[nodiscard]] bool has_had_term(pid_t pid) const;
  void forget();

 private:
  void send_to_group(const Order& order);
  void send_to_tree(const Order& order);
  static void send_to_main(const Order& order);
  void note(const proc::Member& member, int signal);

  envgen::StopScope scope_;
  std::vector<Order> to_continue_;           // the mains that were told in this step
  std::set<std::pair<pid_t, int>> groups_;   // and the signals that they had in this step
  std::set<int> trees_;                      // the signals that the tree had in this step
  std::map<pid_t, std::uint64_t> had_term_;  // pid and start
  bool all_had_term_ = false;                // there was no /proc to tell them apart
};

}  // namespace engine
