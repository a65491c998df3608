#pragma once
// The lifecycle of a container: events in, actions out. Pure: no clock, no I/O, no ranks. It
// decides when something starts, is told to stop, is killed, and with which code the container
// ends.
//
//   Preparing{data | resolve, then pre-start} -> Starting -> Running (-> Checkpointing)
//     -> Stopping{pre-stop, tasks, leftovers} (-> OnFailure)
//     -> AutoRestart -> Preparing{resolve, then pre-start}   a main task failed, and restarts are
//                                                            left; or the nodes are others now
//     -> Hold -> Stopping                    anything failed, and there is a debug window
//     -> PostStop -> Exited
//
// What ends Preparing, Starting or Running decides the exit code: a failure its own, one on another
// node 76, a stop request the one of Machine::stopped_code, the time limit 124, a checkpoint 75,
// else 0. Every state
// answers every event; what is late or does not apply is a no-op. A timer and a task carry a
// generation or an incarnation, by which late events are recognised. A Machine is a value: copy it
// to try something.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "lifecycle/events.h"
#include "lifecycle/policy.h"
#include "lifecycle/task.h"

namespace lifecycle {

enum class Phase : std::uint8_t {
  kPreparing,
  kStarting,
  kRunning,
  kCheckpointing,
  kStopping,
  kOnFailure,
  kPostStop,
  kAutoRestart,
  kHold,
  kExited,
};
const char* phase_name(Phase phase);

// The first failure. Deaths that our own TERM or KILL caused are never in it.
struct Cause {
  std::vector<event::TaskEnd> ends;  // not by our TERM, the first counts; none: it was late,
                                     // or on another node
  int exit_code = 0;                 // never 0
  TimeMs at = 0;
};

class Machine {
 public:
  // `preparing`: the data and resolve tasks. Without a resolve task ClusterReady comes after Begin
  // by itself.
  Machine(Policy policy, const std::vector<TaskKind>& preparing);

  std::vector<Action> step(const Event& event, TimeMs now);

  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] const std::vector<Task>& tasks() const { return tasks_; }
  // The failure of this incarnation of the job; while a restart is awaited, of the last.
  [[nodiscard]] const Cause* cause() const { return has_cause_ ? &cause_ : nullptr; }
  [[nodiscard]] int stop_signal() const { return stop_signal_; }  // 0 = no stop was asked for
  // The stop decides the exit code: it came before the job had ended by itself.
  [[nodiscard]] bool stopped() const { return outcome_ == Outcome::kStopped; }
  [[nodiscard]] bool expired() const { return outcome_ == Outcome::kExpired; }
  // It starts again because the nodes are others now.
  [[nodiscard]] bool replanned() const { return outcome_ == Outcome::kReplanned; }
  // It ends, or has ended, to be started again elsewhere.
  [[nodiscard]] bool rescheduled() const { return outcome_ == Outcome::kRescheduled; }
  // When a job that asked for a checkpoint to be rescheduled stops waiting for it; else 0.
  [[nodiscard]] TimeMs checkpoint_until() const {
    return phase_ == Phase::kCheckpointing ? checkpoint_until_ : 0;
  }
  // A checkpoint is under way, as far as that can be told.
  [[nodiscard]] bool checkpointing() const;
  // Checkpoints that were asked for on this node, and whether the job goes on after the last.
  [[nodiscard]] std::uint32_t saves_asked() const { return saves_asked_; }
  [[nodiscard]] bool save_keeps_running() const { return save_keeps_running_; }
  // What the container ends with, as far as it is known; final from PostStop on, so that post-stop
  // tasks can be told.
  [[nodiscard]] int exit_code() const;
  [[nodiscard]] TimeMs hold_until() const { return hold_until_; }
  // When the job's time is over; 0 = it has no limit, or that has passed.
  [[nodiscard]] TimeMs expires_at() const { return expires_at_; }
  [[nodiscard]] std::uint32_t restarts() const { return restarts_; }  // for whatever reason
  // Failures that were answered by one, as Policy::max_restarts counts them. The count begins anew
  // after a start that ran for Policy::restart_reset_ms; that is told until the next one.
  [[nodiscard]] std::uint32_t failures() const { return failures_; }
  [[nodiscard]] bool counts_anew() const { return counts_anew_; }
  // How long this start ran well, until now or until it failed; -1: it did not begin.
  [[nodiscard]] TimeMs ran_ms(TimeMs now) const;
  // The other nodes are awaited before the start: what was there of the last one is gone.
  [[nodiscard]] bool awaits_nodes() const;
  // All nodes have been allowed to start, and this one still runs hooks or copies data.
  [[nodiscard]] bool start_granted() const { return phase_ == Phase::kPreparing && nodes_ready_; }
  // There is a failure, and which one of the job's was the first may still be told.
  [[nodiscard]] bool awaits_verdict() const;
  // The failure, or the stop, is another node's.
  [[nodiscard]] bool failed_elsewhere() const { return elsewhere_; }
  // A failure of a main task may be answered by a restart: there are some left. Of the failure that
  // there is: it would be, if this node were the only one.
  [[nodiscard]] bool may_restart() const;
  [[nodiscard]] bool would_restart() const;
  // Whether a restart can help is still being looked at, and decides whether there is one.
  [[nodiscard]] bool uses_diagnosis() const;
  // Several ends, and the first failure among them is still being looked for.
  [[nodiscard]] bool seeks_first() const;
  // When the next incarnation begins; 0 = none is awaited.
  [[nodiscard]] TimeMs restart_at() const { return restart_at_; }

 private:
  enum class Outcome : std::uint8_t {
    kOpen,
    kSucceeded,
    kFailed,
    kStopped,
    kExpired,
    kRescheduled,
    kReplanned,  // the nodes are others now
    kStoppedElsewhere,
  };
  // How far Stopping (the first six) and PostStop (the others) have come.
  enum class Stage : std::uint8_t {
    kPreStop,
    kTerm,
    kKill,
    kVerdict,
    kSweep,
    kSweepKill,
    kPost,
    kPostTerm,
    kPostKill,
  };
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
  void on(const event::CheckpointRequested& event, TimeMs now);
  void on(const event::NobodySaves& event, TimeMs now);
  void on(const event::SaveKnown& event, TimeMs now);
  void on(const event::ExpireIn& event, TimeMs now);
  void on(const event::MembershipChanged& event, TimeMs now);
  void on(const event::TaskStalled& event, TimeMs now);
  void on(const event::Linked& event, TimeMs now);
  void on(const event::JobFailed& event, TimeMs now);
  void on(const event::Unfit& event, TimeMs now);
  void on(const event::Diagnosed& event, TimeMs now);
  void on(const event::NodesReady& event, TimeMs now);
  void on(const event::Unreachable& event, TimeMs now);

  // The way up (machine.cc).
  void advance_preparing(TimeMs now);
  void resolve_again(TimeMs now);
  void enter_starting(TimeMs now);
  void settle_running(TimeMs now);
  void restart(TimeMs now);
  void preparing_ended(const std::vector<event::TaskEnd>& ends, TimeMs now);
  void mains_ended(const std::vector<event::TaskEnd>& ends, TimeMs now);
  void checkpoint_ended(const std::vector<event::TaskEnd>& ends, TimeMs now);
  void note_save(const event::CheckpointRequested& event);
  void ask_to_save();
  void settle_checkpoint(TimeMs now);
  void resolve_overdue(TimeMs now);
  void expire(TimeMs now);
  void end_as(Outcome outcome, TimeMs now);
  [[nodiscard]] bool job_done() const;

  // The way down (machine_stop.cc).
  void fail(Cause cause, TimeMs now, TimeMs silent_ms = 0);
  void blame(Cause cause);
  void take_first(TaskRef first, TimeMs now);
  void add_ends(const std::vector<event::TaskEnd>& ends, TimeMs now);
  void count_anew(TimeMs ran_ms);
  void fail_elsewhere(const event::JobFailed& event, TimeMs now);
  void blame_elsewhere(const event::JobFailed& event, TimeMs now);
  void fail_before_save(const event::JobFailed& event, TimeMs now);
  void take_verdict(const event::JobFailed& event);
  void follow_verdict(const event::JobFailed& event, TimeMs now);
  void follow_in_wait(TimeMs now);
  void follow_others(TimeMs now);
  void tasks_gone(TimeMs now);
  [[nodiscard]] bool waits_for_verdict() const {
    return phase_ == Phase::kStopping && stage_ == Stage::kVerdict;
  }
  // For a start. Another one takes its place in an elastic job.
  [[nodiscard]] bool needs_node0() const { return policy_.rendezvous_ms > 0 && !policy_.elastic; }
  // Another node was stopped, and this one may be next.
  [[nodiscard]] bool awaits_stop() const {
    return outcome_ == Outcome::kStoppedElsewhere && stop_signal_ == 0;
  }
  // A node may have failed before it heard of the checkpoint that ends the job.
  [[nodiscard]] bool doubts_save() const {
    return outcome_ == Outcome::kRescheduled && linked_ && !save_known_ && !verdict_known_ &&
           stop_signal_ == 0;
  }
  void settle_verdict(TimeMs now);
  void leave_verdict(TimeMs now);
  void leave_without_verdict(TimeMs now);
  void enter_stopping(TimeMs now);
  void settle_pre_stop(TimeMs now);
  void notify_tasks(TimeMs now);
  void pass_on(Task& task);
  void escalate(TimeMs now);
  void await_escalation(TimeMs now);
  void kill_tasks(TimeMs now);
  void enter_sweep(TimeMs now);
  void sweep_kill(TimeMs now);
  void stop_services();
  void leave_sweep(TimeMs now);
  void settle_on_failure(TimeMs now);
  void enter_next(TimeMs now);
  void await_diagnosis(TimeMs now);
  void leave_diagnosis();
  void await_restart(TimeMs now);
  void enter_hold(TimeMs now);
  void leave_hold(TimeMs now);
  void enter_post_stop(TimeMs now);
  void next_post_stop();
  void end_post_stop(TimeMs now);
  void give_up(TimeMs now);
  void expedite(TimeMs now);
  void stop_sooner(TimeMs now);
  void exit();
  [[nodiscard]] Next choose_next() const;
  [[nodiscard]] bool is_on_way_to_restart() const;
  [[nodiscard]] bool is_restartable(const event::TaskEnd& first) const;
  [[nodiscard]] int stopped_code() const;
  [[nodiscard]] bool by_our_signal(const Task& task) const;

  // The table, the timers, the output (machine.cc).
  void name_tasks(const std::vector<TaskKind>& kinds);
  void start(Task& task);
  void signal(Task& task, int number);
  void set_timer(Timer timer, TimeMs at);
  void cancel_timer(Timer timer);
  Task* find(TaskRef ref);
  Task* first_idle(TaskKind kind);  // and named
  bool start_next(TaskKind kind);   // of a sequence, where there is one more
  [[nodiscard]] const Task* resolver() const;
  [[nodiscard]] const Task* main_task(std::uint32_t ordinal) const;
  [[nodiscard]] std::uint32_t count(TaskKind kind) const {
    return counts_.at(static_cast<std::size_t>(kind));
  }
  [[nodiscard]] StopHooks hooks() const {
    return {count(TaskKind::kPreStop) > 0, count(TaskKind::kPostStop) > 0};
  }
  [[nodiscard]] bool named(const Task& task) const { return task.ordinal < count(task.kind); }
  [[nodiscard]] bool among(const std::vector<event::TaskEnd>& ends, TaskKind kind) const;
  [[nodiscard]] bool decides_any(const std::vector<event::TaskEnd>& ends) const;
  [[nodiscard]] bool in_job(const Task& task) const;
  // A main task whose failure is the job's.
  [[nodiscard]] bool decides(const Task& task) const {
    return task.kind == TaskKind::kMain &&
           (policy_.success != SuccessPolicy::kFirst || task.ordinal == 0);
  }
  [[nodiscard]] bool waits_for(TaskKind kind) const;
  [[nodiscard]] bool waits_for_tasks() const;  // all but services and post-stop tasks
  [[nodiscard]] TaskRef ref(const Task& task) const;

  Policy policy_;
  std::vector<Task> tasks_;
  std::array<std::uint32_t, kTaskKinds> counts_ = {};  // of this incarnation of the job, by kind
  std::array<TimerSlot, kTimerCount> timers_;
  std::vector<Action> actions_;  // of the step under way

  Phase phase_ = Phase::kPreparing;
  bool begun_ = false;
  bool cluster_ready_ = false;
  int resolve_code_ = 0;  // what ResolveFailed said
  bool part_of_job_ = false;
  bool mains_started_ = false;
  std::uint32_t restarts_ = 0;
  std::uint32_t failures_ = 0;
  bool counts_anew_ = false;
  std::optional<TimeMs> began_at_;  // this start: its main tasks
  std::optional<TimeMs> well_ms_;   // how long it ran well, once it has ended
  TimeMs restart_at_ = 0;
  TimeMs checkpoint_until_ = 0;
  bool signal_saves_ = false;  // the main tasks were asked: nothing tells when they have saved
  std::uint32_t saves_asked_ = 0;
  bool save_keeps_running_ = false;
  bool save_known_ = false;  // all nodes know of the checkpoint
  bool save_ends_ = false;   // the job, whatever its ranks return
  TimeMs expires_at_ = 0;
  bool expired_ = false;  // the time was over while the job was on its way down

  Outcome outcome_ = Outcome::kOpen;
  bool has_cause_ = false;
  Cause cause_;
  bool restartable_ = false;  // the cause is a main task's
  bool diagnosing_ = false;   // whether a restart can help is still being looked at
  bool linked_ = false;
  bool node0_ended_ = false;
  bool elsewhere_ = false;        // the cause is another node's
  bool began_elsewhere_ = false;  // the way down, also where it turned out that it is not
  bool verdict_known_ = false;    // which failure of the job was the first
  TimeMs verdict_since_ = 0;      // awaited
  bool nodes_ready_ = false;
  TimeMs rendezvous_until_ = 0;  // 0: none has begun
  int stop_signal_ = 0;
  int sent_signal_ = 0;      // what the main tasks get for it
  std::uint64_t stops_ = 0;  // what they are to get for all stop requests, as signal_bit has them
  int interrupts_ = 0;       // SIGINTs among the stop requests
  int terms_ = 0;            // SIGTERMs
  bool expedited_ = false;   // by the second of them
  Stage stage_ = Stage::kTerm;
  Next next_ = Next::kEnd;
  Budget budget_;
  TimeMs notified_at_ = 0;       // when the main tasks were told to stop
  std::uint32_t escalated_ = 0;  // how many steps of the escalation there were since
  TimeMs hold_until_ = 0;
  bool hold_over_ = false;
  int final_code_ = -1;  // from PostStop on
};

}  // namespace lifecycle
