#pragma once
// The class behind supervise(): what it knows and its steps. The loop, which turns what happens
// into events, and what is left behind are in supervisor.cc, the machine's actions in
// supervision_actions.cc, its data in supervision_data.cc.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "init/engine/companions.h"
#include "init/engine/fallback/remains.h"
#include "init/engine/monitor/patrol.h"
#include "init/engine/poller.h"
#include "init/engine/report/announce.h"
#include "init/engine/report/diagnosis.h"
#include "init/engine/report/timeline.h"
#include "init/engine/resolve/resolver.h"
#include "init/engine/setup.h"
#include "init/engine/state/publisher.h"
#include "init/engine/tasks/job.h"
#include "init/engine/tasks/start.h"
#include "init/engine/tasks/stop.h"
#include "init/engine/tasks/sweeper.h"
#include "init/engine/tasks/timers.h"
#include "init/engine/workers/tees.h"
#include "init/proc/signals.h"
#include "init/proc/terminal.h"
#include "init/sys/clock.h"
#include "lifecycle/machine.h"

namespace engine {

inline constexpr int kOwnFailure = 125;

class Supervisor {
 public:
  explicit Supervisor(Setup setup);
  int run();

 private:
  // The loop.
  void begin();
  void turn();
  const std::vector<Poller::Watched>& wait();
  void wake(const Poller::Watched& ready);
  void stop_with_main();
  // The time by which the machine counts: it stands still while this process is stopped, so that
  // a grace has then left what it had.
  [[nodiscard]] std::int64_t now_ms() const { return sys::monotonic_ms() - stopped_ms_; }
  [[nodiscard]] bool asks_to_stop(int signal) const;
  void read_signals();
  void take_signal(const proc::Received& received);
  void answer_signal(const proc::Received& received);
  void reap();
  void cannot_reap(int error);
  void read_resolver();
  void read_data(std::uint32_t index);
  void take_heard(std::uint32_t index, const DataHeard& heard);
  void tend_data();
  [[nodiscard]] std::optional<std::int64_t> data_deadline() const;
  [[nodiscard]] bool may_hold_failures() const;
  bool hold_failure(std::uint32_t index);
  void tell_held_failures();
  lifecycle::Ending settle(std::uint32_t index, const lifecycle::Ending& ending,
                           const std::string& failure = {});
  void keep_watch();
  void read_watcher();
  void read_tee();
  void follow_size(bool reached);
  [[nodiscard]] bool any_main() const;
  void check_start(std::uint32_t index);
  void read_control(int client);
  // Events in, actions out.
  void post(lifecycle::Event next) { events_.push_back(std::move(next)); }
  void drain();
  void perform(const lifecycle::Action& next);
  void start(lifecycle::TaskRef task);
  void start_resolver(lifecycle::TaskRef task);
  void start_process(lifecycle::TaskRef task);
  void start_copy(lifecycle::TaskRef task);
  void start_hooks(lifecycle::TaskRef task);
  [[nodiscard]] StartContext start_context() const;
  void adopt_started(lifecycle::TaskRef task);
  void let_go();
  void not_started(lifecycle::TaskRef task, envgen::Error error, int exit_code);
  void adopt_plan(envgen::Plan plan);
  void signal_task(const lifecycle::action::Signal& signal);
  void stop_main(const TaskRecord& record, int signal);
  void look_if_refused(lifecycle::TaskRef task);
  void report_failure();
  void report_transition(Course before, const lifecycle::Event& why);
  void ask_to_save();
  void begin_anew();
  // What is left behind.
  void open_run_dir();
  void write_state();
  void finish();
  void end_timeline();
  int degrade();
  [[nodiscard]] Evidence evidence() const;
  void warn_of_end(const TaskRecord& record);

  Setup setup_;
  bool pid1_ = ::getpid() == 1;
  bool pass_through_;
  envgen::PlanPolicy early_;  // what is known of it before the plan
  Job job_;
  lifecycle::Machine machine_;
  Stopper stopper_;
  Tees tees_;
  Sweeper sweeper_;
  std::deque<lifecycle::Event> events_;
  proc::SignalSource signals_;
  Poller poller_;
  Timers timers_;
  proc::JobControl job_control_;
  std::unique_ptr<Resolver> resolver_;
  HookRuns hook_runs_;
  MembershipWatch watch_;
  Diagnosis diagnosis_;
  Timeline timeline_;
  Patrol patrol_;
  pid_t trigger_pid_ = 0;  // that makes a trigger file; 0: none
  Publisher publisher_;
  const proc::Received* forwarding_ = nullptr;  // the signal that the current step answers
  std::uint64_t stops_said_ = 0;  // the stop signals that the log has, see lifecycle::signal_bit
  bool reap_again_ = false;
  bool child_changed_ = false;
  std::int64_t stopped_ms_ = 0;
  bool post_stop_killed_ = false;
  bool said_unheard_ = false;  // that a signal may not be sent
  bool settled_ = false;       // the job runs, and from now on we wait
  bool done_ = false;
  int exit_code_ = 0;
  int resolve_code_ = 0;  // what a resolver that failed said
  std::int64_t started_ms_ = sys::wall_ms();
};

}  // namespace engine
