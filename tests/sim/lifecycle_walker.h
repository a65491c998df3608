#pragma once
// A Machine and its Referee, walked through events that need not make sense together: the choice is
// the caller's. Copyable, so that a tree of choices can be explored. No process is simulated; what
// the events claim is the truth, and time moves from timer to timer.

#include <optional>
#include <string>
#include <vector>

#include "lifecycle/machine.h"
#include "tests/sim/lifecycle_referee.h"

namespace sim {

struct WalkedJob {
  lifecycle::Policy policy;
  std::vector<TaskKind> preparing;
  std::vector<TaskKind> cluster;  // what ClusterReady brings
  lifecycle::SuccessPolicy success = lifecycle::SuccessPolicy::kAll;
  TimeMs post_stop_ms = 0;                  // of the answer's policy; 0: as before
  std::vector<lifecycle::Event> asks = {};  // what somebody may ask for, at any moment
  bool stalls = false;                      // main tasks may,
  TimeMs silent_ms = 0;                     // after so long without progress
  bool finds_dead = false;                  // main tasks may have been when they are told to stop
  bool linked = false;                      // other nodes say something, and the link may break
};

class Walker {
 public:
  explicit Walker(const WalkedJob& job);

  // The events that are possible now. The late and bogus ones are `noise`, which must change
  // nothing.
  [[nodiscard]] std::vector<lifecycle::Event> moves() const;
  [[nodiscard]] std::vector<lifecycle::Event> noise() const;

  // Empty, or what the referee complains of. A timer moves the clock to its time.
  const std::string& take(const lifecycle::Event& event, TimeMs elapsed_ms = 0);

  // A stop, after which no process ever dies and nobody answers: timers alone must end it.
  const std::string& finish_alone();

  [[nodiscard]] const lifecycle::Machine& machine() const { return machine_; }
  [[nodiscard]] const Referee& referee() const { return referee_; }
  [[nodiscard]] TimeMs now() const { return now_; }
  [[nodiscard]] TimeMs until_next_timer() const;  // -1 = none is pending

 private:
  struct Due {
    lifecycle::event::TimerFired timer;
    TimeMs at = 0;
  };
  [[nodiscard]] std::optional<Due> next_timer() const;
  void add_nodes(std::vector<lifecycle::Event>* moves) const;
  void add_noise_of_nodes(std::vector<lifecycle::Event>* noise) const;

  const WalkedJob* job_;
  lifecycle::Machine machine_;
  Referee referee_;
  TimeMs now_ = 1000;
  std::string complaint_;
};

}  // namespace sim
