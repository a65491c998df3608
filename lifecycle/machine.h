#pragma once
// The lifecycle of a container as a state machine: events in, actions out. It decides when a task
// starts, gets a stop signal or is killed, and which exit code the container has. Pure: no clock,
// no I/O, no ranks.
//
//   Preparing{data | resolve, then pre-start} -> Starting -> Running (-> Checkpointing)
//     -> Stopping{pre-stop, tasks, leftovers} (-> OnFailure)
//     -> AutoRestart -> Preparing{resolve, then pre-start}   a main task failed, and restarts are
//                                                            left; or the list of nodes changed
//     -> Hold -> Stopping                    anything failed, and there is a debug window
//     -> PostStop -> Exited
//
// The exit code depends on the reason why Preparing, Starting or Running ended:
//
//   a failure on this node             the code of that failure
//   a failure or stop on another node  76
//   a stop request                     the code of Machine::stopped_code
//   the time limit                     124
//   a checkpoint                       75
//   any other reason                   0
//
// Every state answers every event. A late event, or one that does not apply, is a no-op. The
// generation of a timer and the incarnation of a task show that an event is late. The state of one
// start of the job is one value (start.h). A Machine is a value too: copy it to try a step.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "lifecycle/events.h"
#include "lifecycle/policy.h"
#include "lifecycle/start.h"
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

class Machine {
 public:
  // `preparing`: the data and resolve tasks. Without a resolve task the caller posts ClusterReady
  // on its own, after Begin.
  Machine(Policy policy, const std::vector<TaskKind>& preparing);

  std::vector<Action> step(const Event& event, TimeMs now);

  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] const std::vector<Task>& tasks() const { return tasks_; }
  // Returns the failure of the current start of the job, or nullptr. While a restart is pending, it
  // is the failure of the previous start.
  [[nodiscard]] const Cause* cause() const { return start_.has_cause ? &start_.cause : nullptr; }
  [[nodiscard]] int stop_signal() const { return asked_.signal; }  // 0: no stop was requested
  // True if a stop request decides the exit code, because it came before the job had ended
  // otherwise.
  [[nodiscard]] bool stopped() const { return start_.outcome == Outcome::kStopped; }
  [[nodiscard]] bool expired() const { return start_.outcome == Outcome::kExpired; }
  // True if the job starts again because the list of nodes changed.
  [[nodiscard]] bool replanned() const { return start_.outcome == Outcome::kReplanned; }
  // True if the job ends, or has ended, to be started again elsewhere.
  [[nodiscard]] bool rescheduled() const { return start_.outcome == Outcome::kRescheduled; }
  // Returns when a job that ends after a checkpoint stops waiting for it; otherwise 0.
  [[nodiscard]] TimeMs checkpoint_until() const {
    return phase_ == Phase::kCheckpointing ? start_.checkpoint_until : 0;
  }
  // True while a checkpoint is under way, as far as the machine can know.
  [[nodiscard]] bool checkpointing() const;
  // Return how many checkpoints were requested on this node, and whether the job continues after
  // the last one.
  [[nodiscard]] std::uint32_t saves_asked() const { return saves_asked_; }
  [[nodiscard]] bool save_keeps_running() const { return save_keeps_running_; }
  // Returns the container's exit code, as far as it is known. It is final from PostStop on, so that
  // post-stop tasks can receive it.
  [[nodiscard]] int exit_code() const;
  [[nodiscard]] TimeMs hold_until() const { return hold_until_; }
  // Returns when the job's time limit ends, or 0 if there is no limit or it has passed.
  [[nodiscard]] TimeMs expires_at() const { return expires_at_; }
  [[nodiscard]] std::uint32_t restarts() const { return restarts_; }  // restarts for any reason
  // Returns the number of failures that a restart answered, as Policy::max_restarts counts them.
  // The count is reset after a start that ran for Policy::restart_reset_ms. Until the next start,
  // counts_anew() reports the reset.
  [[nodiscard]] std::uint32_t failures() const { return failures_; }
  [[nodiscard]] bool counts_anew() const { return start_.counts_anew; }
  // Returns how long this start ran well, until now or until it failed. Returns -1 if it has not
  // begun.
  [[nodiscard]] TimeMs ran_ms(TimeMs now) const;
  // True while this node waits for the other nodes before a start. All processes of the previous
  // start have ended.
  [[nodiscard]] bool awaits_nodes() const;
  // True if all nodes have been allowed to start, and this one still runs hooks or copies data.
  [[nodiscard]] bool start_granted() const {
    return phase_ == Phase::kPreparing && start_.nodes_ready;
  }
  // True if the job has failed and node 0 can still announce which failure was the first.
  [[nodiscard]] bool awaits_verdict() const;
  // True if the failure, or the stop, is another node's.
  [[nodiscard]] bool failed_elsewhere() const { return start_.elsewhere; }
  // Returns whether restarts are left for a failure of a main task.
  [[nodiscard]] bool may_restart() const;
  // Returns whether a restart would answer the present failure if this node were the only one.
  [[nodiscard]] bool would_restart() const;
  // True while the diagnosis whether a restart can help is missing and decides about the restart.
  [[nodiscard]] bool uses_diagnosis() const;
  // True while the diagnosis looks for the first failure among several failed tasks.
  [[nodiscard]] bool seeks_first() const;
  // True while main tasks end after a failure, in Policy::failure_grace_ms instead of the grace. A
  // task that writes gets more time (event::TaskWrites).
  [[nodiscard]] bool cuts_grace() const;
  // Returns when the next start begins, or 0 if no restart is pending.
  [[nodiscard]] TimeMs restart_at() const { return restart_at_; }

 private:
  using Stage = StopSequence::Stage;
  using Next = StopSequence::Next;
  struct TimerSlot {
    std::uint32_t generation = 0;
    bool armed = false;
  };

  // The answer to each event (machine.cc, machine_stop.cc, machine_nodes.cc).
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
  void on(const event::TaskWrites& event, TimeMs now);
  void on(const event::Linked& event, TimeMs now);
  void on(const event::JobFailed& event, TimeMs now);
  void on(const event::Unfit& event, TimeMs now);
  void on(const event::Diagnosed& event, TimeMs now);
  void on(const event::NodesReady& event, TimeMs now);
  void on(const event::Unreachable& event, TimeMs now);

  // The start sequence (machine.cc, machine_nodes.cc).
  void advance_preparing(TimeMs now);
  void resolve_again(TimeMs now);
  bool ask_resolver();
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
  void leave_failed_start();
  [[nodiscard]] bool job_done() const;

  // The stop sequence (machine_stop.cc, machine_nodes.cc).
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
    return phase_ == Phase::kStopping && stop_.stage == Stage::kVerdict;
  }
  // True if no start is possible without node 0. In an elastic job another node takes its place.
  [[nodiscard]] bool needs_node0() const { return policy_.rendezvous_ms > 0 && !policy_.elastic; }
  // True if another node was stopped, so that this one may be stopped next.
  [[nodiscard]] bool awaits_stop() const {
    return start_.outcome == Outcome::kStoppedElsewhere && asked_.signal == 0;
  }
  // True if a node may have failed before it knew of the checkpoint that ends the job.
  [[nodiscard]] bool doubts_save() const {
    return start_.outcome == Outcome::kRescheduled && linked_ && !start_.save_known &&
           !start_.verdict_known && asked_.signal == 0;
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
  void settle_grace(TimeMs now);
  void await_kill(TimeMs now);
  [[nodiscard]] bool lost_peers() const;
  // Returns the budget of the stop sequence, with an earlier KILL after a failure.
  [[nodiscard]] Budget budget() const {
    return stop_.kill_by ? kill_sooner(stop_.budget, *stop_.kill_by) : stop_.budget;
  }
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
  Task* first_idle(TaskKind kind);  // first idle task that is named()
  // Starts the next idle task of the kind; returns whether there was one.
  bool start_next(TaskKind kind);
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
  // True for a main task whose failure is the job's failure.
  [[nodiscard]] bool decides(const Task& task) const {
    return task.kind == TaskKind::kMain &&
           (policy_.success != SuccessPolicy::kFirst || task.ordinal == 0);
  }
  [[nodiscard]] bool waits_for(TaskKind kind) const;
  [[nodiscard]] bool waits_for_tasks() const;  // all but services and post-stop tasks
  [[nodiscard]] TaskRef ref(const Task& task) const;

  Policy policy_;
  std::vector<Task> tasks_;
  // Number of tasks in this start of the job, by kind.
  std::array<std::uint32_t, kTaskKinds> counts_ = {};
  std::array<TimerSlot, kTimerCount> timers_;
  std::vector<Action> actions_;  // actions of the current step

  Phase phase_ = Phase::kPreparing;
  StartState start_;
  StopSequence stop_;
  StopRequests asked_;

  // The container.
  bool begun_ = false;
  bool cluster_ready_ = false;  // the answer to the last resolve task has come
  bool part_of_job_ = false;    // ClusterReady::part_of_job of that answer
  std::uint32_t restarts_ = 0;
  std::uint32_t failures_ = 0;
  TimeMs restart_at_ = 0;
  std::uint32_t saves_asked_ = 0;
  bool save_keeps_running_ = false;
  TimeMs expires_at_ = 0;
  bool expired_ = false;  // the time limit passed during a checkpoint or the stop sequence
  bool linked_ = false;
  bool node0_ended_ = false;
  TimeMs hold_until_ = 0;
  bool hold_over_ = false;
  int final_code_ = -1;  // exit code from PostStop on; -1: not final
};

}  // namespace lifecycle
