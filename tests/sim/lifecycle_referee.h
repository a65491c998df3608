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
  bool live = false;
  bool confirmed = false;
  bool told = false;    // got a stop signal
  bool killed = false;  // got SIGKILL
  TimeMs told_at = 0;
  int stop_signal = 0;  // the last one
  lifecycle::Ending ending;
};

class Referee {
 public:
  Referee(const lifecycle::Policy& policy, const std::vector<TaskKind>& preparing);

  void judge(const lifecycle::Event& event, const std::vector<lifecycle::Action>& actions,
             const lifecycle::Machine& after, TimeMs now);

  [[nodiscard]] const std::string& complaint() const { return complaint_; }  // "" = none
  [[nodiscard]] const std::vector<Run>& runs() const { return runs_; }       // by task index
  [[nodiscard]] bool sweeping() const { return sweep_ != 0; }
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

 private:
  enum class Verdict : std::uint8_t { kOpen, kSucceeded, kFailed, kStopped };

  void believe(const lifecycle::Event& event, TimeMs now);
  void believe_ends(const lifecycle::event::TasksEnded& event);
  void believe_stop(int signal, TimeMs now);
  void believe_timer(const lifecycle::event::TimerFired& event);
  void believe_ready(const lifecycle::event::ClusterReady& event);
  void fail(int code, std::vector<lifecycle::event::TaskEnd> ends);
  void settle();

  void check(const lifecycle::action::Start& start, TimeMs now);
  void check(const lifecycle::action::Signal& signal, TimeMs now);
  void check(const lifecycle::action::SweepAdopted& sweep, TimeMs now);
  void check(const lifecycle::action::SetTimer& timer, TimeMs now);
  void check(const lifecycle::action::CancelTimer& timer, TimeMs now);
  void check(const lifecycle::action::Report& report, TimeMs now);
  void check(const lifecycle::action::Exit& exit, TimeMs now);
  void check_kill(const Run& run, TimeMs now);
  void check_table(const lifecycle::Machine& after);
  void check_phase(const lifecycle::Machine& after, TimeMs now);
  void check_way_down(const lifecycle::Machine& after, TimeMs now);
  void check_cause(const lifecycle::Machine& after);
  void check_hold(const lifecycle::Machine& after, TimeMs now);
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
  [[nodiscard]] int expected_code() const;
  [[nodiscard]] TimeMs term_phase_ms() const;

  lifecycle::Policy policy_;
  bool has_resolver_ = false;
  bool has_post_stop_ = false;
  std::vector<Run> runs_;
  std::array<std::optional<Pending>, lifecycle::kTimerCount> pending_;
  std::array<std::uint32_t, lifecycle::kTimerCount> generations_{};
  std::string complaint_;

  // The history, as far as the exit code depends on it.
  bool begun_ = false;
  bool ready_ = false;
  int said_failed_ = 0;
  lifecycle::SuccessPolicy success_ = lifecycle::SuccessPolicy::kAll;
  std::uint32_t mains_ = 0;
  std::uint32_t services_ = 0;
  bool mains_started_ = false;
  bool pausing_ = false;
  Verdict verdict_ = Verdict::kOpen;
  int failure_code_ = 0;
  bool main_failed_ = false;
  std::vector<lifecycle::event::TaskEnd> failed_;
  int stop_signal_ = 0;
  int interrupts_ = 0;
  TimeMs stopped_at_ = 0;

  lifecycle::Phase phase_ = lifecycle::Phase::kPreparing;
  TimeMs phase_since_ = 0;
  bool forwarding_ = false;    // the event is a signal to pass on
  bool nothing_left_ = false;  // the event is NothingLeft, in a sweep
  bool quiet_ = false;         // the event is late or bogus: nothing may follow
  int sweep_ = 0;
  bool swept_ = false;  // since the verdict
  bool stuck_ = false;  // a main task outlived its KILL
  bool held_ = false;
  TimeMs hold_until_ = 0;
  std::uint32_t restarts_ = 0;
  std::uint32_t failures_ = 0;
  std::uint32_t reports_ = 0;
  bool exited_ = false;
};

}  // namespace sim
