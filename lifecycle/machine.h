#pragma once
// The lifecycle of a container: events in, actions out. Pure: no clock, no I/O, no ranks. It
// decides when something starts, is told to stop, is killed, and with which code the container
// ends.
//
//   Preparing{pre-start, then data | resolve} -> Starting -> Running -> Stopping{tasks, leftovers}
//     -> AutoRestart -> Preparing{resolve}   a main task failed, and restarts are left
//     -> Hold -> Stopping                    anything failed, and there is a debug window
//     -> PostStop -> Exited
//
// What ends Preparing, Starting or Running decides the exit code: a failure its own, a stop request
// the one of Machine::stopped_code, else 0. Every state answers every event; what is late or does
// not apply is a no-op. A timer and a task carry a generation or an incarnation, by which late
// events are recognised. A Machine is a value: copy it to try something.

#include <array>
#include <cstdint>
#include <vector>

#include "lifecycle/events.h"
#include "lifecycle/policy.h"
#include "lifecycle/task.h"

namespace lifecycle {

enum class Phase : std::uint8_t {
  kPreparing,
  kStarting,
  kRunning,
  kStopping,
  kPostStop,
  kAutoRestart,
  kHold,
  kExited,
};
const char* phase_name(Phase phase);

// The first failure. Deaths that our own TERM or KILL caused are never in it.
struct Cause {
  std::vector<event::TaskEnd> ends;  // seen in the same turn, the first counts; none: it was late
  int exit_code = 0;                 // never 0
  TimeMs at = 0;
};

class Machine {
 public:
  // `preparing`: the pre-start, data, resolve and post-stop tasks, in order. Without a resolve task
  // ClusterReady comes after Begin by itself.
  Machine(Policy policy, const std::vector<TaskKind>& preparing);

  std::vector<Action> step(const Event& event, TimeMs now);

  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] const std::vector<Task>& tasks() const { return tasks_; }
  // The failure of this incarnation of the job; while a restart is awaited, of the last.
  [[nodiscard]] const Cause* cause() const { return has_cause_ ? &cause_ : nullptr; }
  [[nodiscard]] int stop_signal() const { return stop_signal_; }  // 0 = no stop was asked for
  // The stop decides the exit code: it came before the job had ended by itself.
  [[nodiscard]] bool stopped() const { return outcome_ == Outcome::kStopped; }
  [[nodiscard]] TimeMs hold_until() const { return hold_until_; }
  [[nodiscard]] std::uint32_t restarts() const { return restarts_; }

 private:
  enum class Outcome : std::uint8_t { kOpen, kSucceeded, kFailed, kStopped };
  // How far Stopping (the first four) and PostStop (the others) have come.
  enum class Stage : std::uint8_t { kTerm, kKill, kSweep, kSweepKill, kPost, kPostTerm, kPostKill };
  enum class Next : std::uint8_t { kEnd, kRestart, kHold };  // after Stopping
  struct TimerSlot {
    std::uint32_t generation = 0;
    bool armed = false;
  };

  // One answer to each event (machine.cc).
  void on(const event::Begin& event, TimeMs now);
  void on(const event::ClusterReady& event, TimeMs now);
  void on(const event::TaskStarted& event, TimeMs now);
  void on(const event::TasksEnded& event, TimeMs now);
  void on(const event::ResolveFailed& event, TimeMs now);
  void on(const event::StopRequested& event, TimeMs now);
  void on(const event::SignalReceived& event, TimeMs now);
  void on(const event::TimerFired& event, TimeMs now);
  void on(const event::NothingLeft& event, TimeMs now);
  void on(const event::NothingAdopted& event, TimeMs now);
  void on(const event::Release& event, TimeMs now);
  void on(const event::HoldFor& event, TimeMs now);

  // The way up (machine.cc).
  void advance_preparing(TimeMs now);
  void enter_starting(TimeMs now);
  void settle_running(TimeMs now);
  void restart(TimeMs now);
  void preparing_ended(const std::vector<event::TaskEnd>& ends, TimeMs now);
  void mains_ended(const std::vector<event::TaskEnd>& ends, TimeMs now);
  void resolve_overdue(TimeMs now);
  [[nodiscard]] bool job_done() const;

  // The way down (ladder.cc).
  void fail(Cause cause, TimeMs now);
  void enter_stopping(TimeMs now);
  void kill_tasks(TimeMs now);
  void enter_sweep(TimeMs now);
  void sweep_kill(TimeMs now);
  void stop_services();
  void leave_sweep(TimeMs now);
  void enter_hold(TimeMs now);
  void leave_hold(TimeMs now);
  void enter_post_stop(TimeMs now);
  void next_post_stop();
  void end_post_stop(TimeMs now);
  void give_up(TimeMs now);
  void hurry(TimeMs now);
  void stop_sooner(TimeMs now);
  void exit();
  [[nodiscard]] Next choose_next() const;
  [[nodiscard]] int exit_code() const;
  [[nodiscard]] int stopped_code() const;

  // The table, the timers, the output (machine.cc).
  void start(Task& task);
  void signal(Task& task, int number);
  void set_timer(Timer timer, TimeMs at);
  void cancel_timer(Timer timer);
  Task* find(TaskRef ref);
  Task* first_idle(TaskKind kind);
  [[nodiscard]] const Task* resolver() const;
  [[nodiscard]] const Task* main_task(std::uint32_t ordinal) const;
  [[nodiscard]] bool has_post_stop() const;
  [[nodiscard]] bool in_job(const Task& task) const;
  [[nodiscard]] bool waits_for(TaskKind kind) const;
  [[nodiscard]] bool waits_for_tasks() const;  // all but services and post-stop tasks
  [[nodiscard]] TaskRef ref(const Task& task) const;

  Policy policy_;
  std::vector<Task> tasks_;
  std::array<TimerSlot, kTimerCount> timers_;
  std::vector<Action> actions_;  // of the step under way

  Phase phase_ = Phase::kPreparing;
  bool begun_ = false;
  bool cluster_ready_ = false;
  int resolve_code_ = 0;  // what ResolveFailed said
  SuccessPolicy success_ = SuccessPolicy::kAll;
  std::uint32_t main_count_ = 0;  // of this incarnation of the job
  std::uint32_t service_count_ = 0;
  bool mains_started_ = false;
  std::uint32_t restarts_ = 0;

  Outcome outcome_ = Outcome::kOpen;
  bool has_cause_ = false;
  Cause cause_;
  bool restartable_ = false;  // the cause is a main task's
  int stop_signal_ = 0;
  int interrupts_ = 0;    // SIGINTs among the stop requests
  bool hurried_ = false;  // by the second of them
  Stage stage_ = Stage::kTerm;
  Next next_ = Next::kEnd;
  Budget budget_;
  TimeMs hold_until_ = 0;
  bool hold_over_ = false;
};

}  // namespace lifecycle
