#pragma once
// Judges a Machine from outside, step by step: it keeps its own record of what was started, ended
// and signalled, decides by itself what the exit code must be, and complains at the first breach of
// an invariant. It believes events the way the contract reads: an end of a task that does not live,
// or a timer that is not pending, is a late or bogus event and must change nothing.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "lifecycle/machine.h"

namespace sim {

using lifecycle::TaskKind;
using lifecycle::TimeMs;

// A run of a task, as the events and actions so far tell.
struct Run {
  TaskKind kind = TaskKind::kMain;
  std::uint32_t ordinal = 0;
  std::uint32_t incarnation = 0;
  std::uint32_t job = 0;    // the start of the job that it belongs to
  std::uint32_t round = 0;  // of checkpoints
  bool live = false;
  bool confirmed = false;
  bool notified = false;  // got a stop signal
  bool killed = false;    // got SIGKILL, or can get none
  bool unreachable = false;
  bool given_up = false;  // outlived its SIGKILL
  TimeMs notified_at = 0;
  TimeMs killed_at = 0;
  std::vector<int> notified_again = {};  // the signals of the escalation that it got
  int notified_with = 0;                 // the first stop signal
  std::vector<int> passed_on = {};       // those of further stop requests
  int stop_signal = 0;                   // the last one
  lifecycle::ExitStatus exit_status;
};

class Referee {
 public:
  Referee(const lifecycle::Policy& policy, const std::vector<TaskKind>& preparing);

  void judge(const lifecycle::Event& event, const std::vector<lifecycle::Action>& actions,
             const lifecycle::Machine& after, TimeMs now);

  [[nodiscard]] const std::string& complaint() const { return complaint_; }  // "" = none
  [[nodiscard]] const std::vector<Run>& runs() const { return runs_; }       // by task index
  [[nodiscard]] bool sweeping() const { return sweep_ != 0; }
  // Which of several failures was the first is still asked.
  [[nodiscard]] bool seeks_first() const {
    return verdict_ == Verdict::kFailed && !swept_ && diagnosing_ && !elsewhere_ &&
           failed_.size() > 1 && stop_signal_ == 0 && !held_;
  }
  [[nodiscard]] const std::vector<lifecycle::event::TaskEnd>& failed() const { return failed_; }
  [[nodiscard]] bool exited() const { return exited_; }
  [[nodiscard]] bool stopped() const { return stop_signal_ != 0; }
  [[nodiscard]] bool pausing() const { return pausing_; }  // up, without any main task
  struct Pending {
    std::uint32_t generation = 0;
    TimeMs at = 0;
  };
  [[nodiscard]] const std::optional<Pending>& pending(lifecycle::Timer timer) const {
    return pending_[static_cast<std::size_t>(timer)];
  }

  // How late a simulated timer may be; added to every bound on time.
  static constexpr TimeMs kTimerLatencyMs = 3;
  static constexpr TimeMs kLongestLookMs = 2500;  // at what failed here

 private:
  enum class Verdict : std::uint8_t {
    kOpen,
    kSucceeded,
    kFailed,
    kStopped,
    kExpired,
    kRescheduled,  // while saving_, the job still runs
    kReplanned,
    kStoppedElsewhere,
  };
  // What of the grace is whose, since the way down began; by rounding a little more or less.
  struct Shares {
    TimeMs drain = 0;
    TimeMs notify = 0;
    TimeMs kill = 0;
    TimeMs sweep_kill = 0;
  };

  void believe(const lifecycle::Event& event, TimeMs now);
  void begin_down(TimeMs now);
  void believe_ends(const lifecycle::event::TasksEnded& event);
  [[nodiscard]] bool is_late_failure(const lifecycle::event::TaskEnd& end) const;
  void add_failures(const std::vector<lifecycle::event::TaskEnd>& late);
  void judge_first();
  void believe_first(lifecycle::TaskRef first);
  void believe_stop(const lifecycle::event::StopRequested& event, TimeMs now);
  void believe_timer(const lifecycle::event::TimerFired& event, TimeMs now);
  void believe_request(const lifecycle::Event& event, TimeMs now);
  void believe_stall(const lifecycle::event::TaskStalled& stall);
  void believe_diagnosed(const lifecycle::event::Diagnosed& diagnosed);
  void believe_unreachable(lifecycle::TaskRef task, TimeMs now);
  void believe_checkpoint(const lifecycle::event::CheckpointRequested& ask, TimeMs now);
  void note_save(const lifecycle::event::CheckpointRequested& ask);
  void believe_restart();
  void believe_nodes(const lifecycle::Event& event, TimeMs now);
  void believe_job_failed(const lifecycle::event::JobFailed& event, TimeMs now);
  void believe_save_known();
  void call_off_restart();
  void fail_elsewhere(const lifecycle::event::JobFailed& event);
  void believe_changed_elsewhere();
  void hear_first(const lifecycle::event::JobFailed& event);
  void end_as(Verdict verdict);
  void believe_ready(const lifecycle::event::ClusterReady& event);
  void fail(int code, std::vector<lifecycle::event::TaskEnd> ends, TimeMs silent_ms = 0);
  void count_anew(TimeMs ran_ms);
  [[nodiscard]] TimeMs ran_ms() const { return began_at_ ? now_ - *began_at_ : -1; }
  void settle();

  void check(const lifecycle::action::Start& start, TimeMs now);
  void check_start_up(const Run& run);
  void check_start_of_hook(const Run& run, TimeMs now);
  void check_start_of_pre_stop(TimeMs now);
  void check_start_of_post_stop(const Run& run);
  void check(const lifecycle::action::AskToSave& ask, TimeMs now);
  void check(const lifecycle::action::Signal& signal, TimeMs now);
  void check(const lifecycle::action::SweepAdopted& sweep, TimeMs now);
  void check(const lifecycle::action::SetTimer& timer, TimeMs now);
  void check(const lifecycle::action::CancelTimer& timer, TimeMs now);
  void check(const lifecycle::action::Report& report, TimeMs now);
  void check(const lifecycle::action::Exit& exit, TimeMs now);
  void check_kill(const Run& run, TimeMs now);
  void check_rendezvous(TimeMs until, TimeMs now);
  void check_wait_for_verdict(TimeMs until, TimeMs now);
  void check_nodes(const lifecycle::Machine& after);
  void end_wait_for_verdict(TimeMs now);
  void forgo_verdict();
  void begin_sweep(TimeMs now);
  void check_notify(const Run& run, int signal, TimeMs now);
  void check_notified_in_time(TimeMs now);
  void check_checkpoint(const lifecycle::Machine& after, TimeMs now);
  void check_limit(const lifecycle::Event& event, const std::vector<lifecycle::Action>& actions,
                   const lifecycle::Machine& after);
  void check_escalation(Run& run, int signal, TimeMs now);
  void check_no_step_left_out(TimeMs now);
  void check_no_stop_left_out();
  void check_patience(TimeMs until, TimeMs now);
  void check_table(const lifecycle::Machine& after);
  void check_phase(const lifecycle::Machine& after, TimeMs now);
  void check_way_down(const lifecycle::Machine& after, TimeMs now);
  void check_cause(const lifecycle::Machine& after);
  void check_hold(const lifecycle::Machine& after, TimeMs now);
  void check_restarts(const lifecycle::Machine& after);
  void check_forwarding(const lifecycle::Event& event,
                        const std::vector<lifecycle::Action>& actions);

  void complain(const std::string& text);
  void require(bool condition, const char* text) {
    if (!condition) complain(text);
  }
  [[nodiscard]] bool known(lifecycle::TaskRef task) const;
  [[nodiscard]] bool live(TaskKind kind, bool unless_killed = false) const;
  [[nodiscard]] bool foreground_live(bool unless_killed) const;
  [[nodiscard]] bool in_job(const Run& run) const;
  [[nodiscard]] bool prepared(TaskKind kind, std::uint32_t ordinal = 0) const;
  [[nodiscard]] static bool has_had(const Run& run, int signal);
  [[nodiscard]] bool job_over() const;
  [[nodiscard]] bool nodes_due() const;
  [[nodiscard]] bool verdict_due() const;
  [[nodiscard]] bool stop_due() const;
  [[nodiscard]] bool save_in_doubt() const;
  [[nodiscard]] bool ends_here() const;
  [[nodiscard]] TimeMs waited_ms(TimeMs now) const;
  [[nodiscard]] int expected_code() const;
  [[nodiscard]] Shares shares(bool after_failure = true) const;
  [[nodiscard]] bool mains_end() const;
  void settle_grace(TimeMs now);
  [[nodiscard]] TimeMs overrun_ms() const;
  [[nodiscard]] bool up() const { return verdict_ == Verdict::kOpen || saving_; }
  [[nodiscard]] bool gets_ready() const;
  [[nodiscard]] bool expedited() const {
    return interrupts_ >= 2 || (policy_.second_term_kills && terms_ >= 2);
  }
  [[nodiscard]] std::uint32_t count(TaskKind kind) const {
    return counts_[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] bool ran(const Run& run) const;
  [[nodiscard]] bool left(TaskKind kind) const;
  [[nodiscard]] bool restart_due() const;
  [[nodiscard]] bool awaits_restart() const {
    return pending(lifecycle::Timer::kRestart).has_value();
  }
  [[nodiscard]] bool post_stop_due(TimeMs now) const;
  void settle_code();

  lifecycle::Policy policy_;
  bool has_resolver_ = false;
  std::vector<Run> runs_;
  std::array<std::optional<Pending>, lifecycle::kTimerCount> pending_;
  std::array<std::uint32_t, lifecycle::kTimerCount> generations_{};
  std::string complaint_;

  // The history, as far as the exit code depends on it.
  bool begun_ = false;
  bool ready_ = false;
  int said_failed_ = 0;
  bool part_of_job_ = false;
  std::array<std::uint32_t, lifecycle::kTaskKinds> counts_{};  // what the last answer named
  std::optional<int> code_;  // once all but post-stop tasks are over
  bool mains_started_ = false;
  bool pausing_ = false;
  Verdict verdict_ = Verdict::kOpen;
  int failure_code_ = 0;
  bool restartable_ = false;  // the failure is one of a main task
  std::vector<lifecycle::event::TaskEnd> failed_;
  int stop_signal_ = 0;
  int sent_signal_ = 0;
  std::vector<int> stops_;  // what each stop request means to a main task, each once
  int interrupts_ = 0;
  int terms_ = 0;
  TimeMs stopped_at_ = 0;
  TimeMs down_at_ = 0;  // when the way down began that is under way
  static constexpr TimeMs kNever = INT64_MAX / 2;
  std::optional<TimeMs> kill_by_;  // the KILL after a failure; kNever: at the end of the grace
  int reaps_ = 0;                  // waits for killed processes since then

  bool saving_ = false;  // a checkpoint that ends the job
  TimeMs saving_until_ = 0;
  std::uint32_t round_ = 0;        // how many checkpoints there were
  bool round_open_ = false;        // there was one in this start of the job
  std::uint32_t saves_asked_ = 0;  // here
  bool save_keeps_running_ = false;
  bool began_elsewhere_ = false;  // the failure, as far as was known then
  bool save_ends_ = false;        // whatever the ranks return after it
  bool save_known_ = false;       // all nodes have heard of the checkpoint that ends the job
  bool signal_saves_ = false;     // in it the main tasks were asked, and one may answer
  bool asked_ = false;            // the event asks for one,
  bool asked_to_save_ = false;    // and the main tasks were told
  TimeMs expires_at_ = 0;
  bool expired_ = false;  // on the way down

  lifecycle::Phase phase_ = lifecycle::Phase::kPreparing;
  TimeMs phase_since_ = 0;
  bool forwarding_ = false;    // the event is a signal to pass on
  bool nothing_left_ = false;  // the event is NothingLeft, in a sweep
  bool quiet_ = false;         // the event is late or bogus: nothing may follow
  int sweep_ = 0;
  bool swept_ = false;  // since the verdict
  bool stuck_ = false;  // a main task or a copy of data outlived its KILL
  bool held_ = false;
  bool restart_was_due_ = false;  // when its timer was set
  TimeMs hold_until_ = 0;
  std::uint32_t job_ = 0;       // how many starts there were before
  std::uint32_t restarts_ = 0;  // as all nodes count
  std::uint32_t answered_ = 0;  // failures, by a restart; since a start that ran for long
  TimeMs now_ = 0;
  std::optional<TimeMs> began_at_;  // this start: its main tasks, or its pause
  TimeMs well_ms_ = -1;             // how long it ran well
  bool diagnosing_ = false;         // whether a restart can help has to be said yet
  TimeMs failed_at_ = 0;
  std::uint32_t reports_due_ = 0;
  std::uint32_t reports_ = 0;

  // The other nodes.
  bool nodes_ready_ = false;
  // All nodes may start, and this one still runs hooks or copies data.
  [[nodiscard]] bool start_granted() const {
    return phase_ == lifecycle::Phase::kPreparing && nodes_ready_;
  }
  bool resolves_again_ = false;  // the event says that they are others
  TimeMs nodes_until_ = 0;       // awaited, in this start of the job
  bool linked_ = false;
  bool elsewhere_ = false;   // the failure, or the stop, is another's
  bool sought_out_ = false;  // the first of several is not waited for any more
  bool told_ = false;        // which failure was the first, or it is not waited for any more
  bool stop_waited_out_ = false;
  TimeMs waits_since_ = 0;  // for that
  TimeMs waited_ = 0;       // since the way down began
  bool closed_ = false;     // the services are told to end: neither restart nor hold any more
  bool exited_ = false;
};

}  // namespace sim
