#pragma once
// The class behind supervise(). The loop, which turns what happens into events, and the output
// files are in supervisor.cc. The machine's actions are in supervision_actions.cc, the end in
// supervision_end.cc. Code about a worker is with that worker; this class knows it by the list.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "init/engine/cluster/link_task.h"
#include "init/engine/cluster/node_claim.h"
#include "init/engine/data/data.h"
#include "init/engine/hooks/hook_tasks.h"
#include "init/engine/monitor/stack_dump.h"
#include "init/engine/poller.h"
#include "init/engine/report/diagnosis.h"
#include "init/engine/report/phase_log.h"
#include "init/engine/report/timeline.h"
#include "init/engine/report/torn_down.h"
#include "init/engine/report/wait_view.h"
#include "init/engine/resolve/resolver.h"
#include "init/engine/setup.h"
#include "init/engine/state/state_writer.h"
#include "init/engine/tasks/env_files.h"
#include "init/engine/tasks/job.h"
#include "init/engine/tasks/orphan_reaper.h"
#include "init/engine/tasks/save.h"
#include "init/engine/tasks/start.h"
#include "init/engine/tasks/stop.h"
#include "init/engine/tasks/timers.h"
#include "init/engine/tasks/worker_context.h"
#include "init/engine/warm/warm_ranks.h"
#include "init/engine/workers/tees.h"
#include "init/engine/workers/worker_list.h"
#include "init/proc/signals.h"
#include "init/proc/terminal.h"
#include "init/sys/clock.h"
#include "lifecycle/machine.h"

namespace engine {

class Supervisor {
 public:
  // `setup` must outlive the supervisor. The functions of the start, of a turn and of the end are
  // not inlined into their caller. A job runs for weeks, and their stack would remain in use all
  // the time.
  [[gnu::noinline]] explicit Supervisor(Setup& setup);
  int run();

 private:
  // The loop.
  [[gnu::noinline]] void begin();
  [[gnu::noinline]] void turn(const std::vector<Poller::Watched>& ready);
  const std::vector<Poller::Watched>& wait();
  void wake(const Poller::Watched& ready);
  // Returns the time of the machine's clock, which does not advance while this process is stopped.
  // So a stop does not shorten a grace period.
  [[nodiscard]] std::int64_t now_ms() const { return sys::monotonic_ms() - stopped_ms_; }
  void take_signal(const proc::Received& received);
  void answer_signal(const proc::Received& received);
  void reap();
  void look_who_exits(const std::vector<lifecycle::Action>& actions);
  void take_message(ResolverMessage message);
  [[nodiscard]] DataTask* data_of(const TaskRecord& record) const;
  void check_start(std::uint32_t index);
  void note_run(TaskRecord& record, std::uint32_t index);
  void lose_handed_over(TaskRecord& record, const std::string& why);
  void replace_late();
  void let_output_go(const TaskRecord& record);
  void read_control(int client);
  void answer_save();
  // Events and actions.
  void post(lifecycle::Event next) { events_.push_back(std::move(next)); }
  void drain();
  void perform(const lifecycle::Action& next);
  void start(lifecycle::TaskRef task);
  base::Result<pid_t> start_worker(const TaskRecord& record, std::uint32_t index);
  base::Result<pid_t> start_resolver();
  void start_process(lifecycle::TaskRef task);
  base::Result<proc::Spawned> start_main(TaskRecord& record, proc::SpawnSpec& spec);
  [[nodiscard]] StartContext start_context() const;
  void adopt_started(lifecycle::TaskRef task);
  void let_go();
  void not_started(lifecycle::TaskRef task, base::Error error);
  void adopt_plan(envgen::Plan plan);
  void begin_output();
  void signal_task(const lifecycle::action::Signal& signal);
  void stop_main(const TaskRecord& record, int signal);
  void begin_start();
  // Output files.
  void open_run_dir();
  // Returns nullptr if there is no termination log, or another instance holds it. PID 1 writes it
  // in any case: an instance started by its early-started command may have got the lock first.
  [[nodiscard]] const char* termination_log() const {
    return pid1_ || termination_lock_.valid() ? setup_.termination_log : nullptr;
  }
  void write_state();
  // Delays the next write of the state. Ranks that start, or the end of an idle job, come first.
  void delay_state() {
    constexpr std::int64_t kSoonOverMs = 3;
    state_due_ms_ = sys::monotonic_ms() + kSoonOverMs;
  }
  [[nodiscard]] std::optional<std::int64_t> metrics_due_ms() const;
  void add_output(JobReport& report) const;
  // Returns true if a process has been stopped by a signal, or continued, since the last call.
  bool look_for_paused();
  void continue_stopped();
  void finish_logs();
  [[gnu::noinline]] void finish();
  [[gnu::noinline]] int fall_back();

  Setup& setup_;
  sys::Fd termination_lock_;
  bool pid1_ = ::getpid() == 1;
  bool pass_through_;
  Job job_;
  lifecycle::Machine machine_;
  Stopper stopper_;
  Timeline timeline_;
  // The workers, in the order in which the loop serves them.
  WorkerContext context_;
  WorkerList workers_;
  Resolver& resolver_;
  std::vector<DataTask*> data_;  // same order as job_.data
  Tees& tees_;
  ChildWorker& trigger_;  // creates a trigger file
  SaveRequest& save_;
  EnvFiles& env_files_;
  LinkTask& link_;
  NodeClaim claim_;
  StackDump& stacks_;
  WarmRanks& warm_;
  HookTasks hooks_;
  Diagnosis diagnosis_;
  TornDown torn_down_;
  OrphanReaper orphan_reaper_;
  WaitView wait_view_;
  std::deque<lifecycle::Event> events_;
  std::optional<base::Environ> common_;  // environment of the main tasks that start in this step
  proc::SignalSource signals_;
  Poller poller_;
  Timers timers_;
  std::string oom_group_warning_;  // "" = no warning
  proc::JobControl job_control_;
  StateWriter state_writer_;
  // Client that asked for a checkpoint, and its answer, until the request has reached the job.
  std::optional<std::pair<int, ControlReply>> save_answer_;
  const proc::Received* forwarding_ = nullptr;  // the signal that the current step answers
  std::int64_t state_due_ms_ = 0;               // earliest time of the next write of the state
  // Signals forwarded to this start of the job, see lifecycle::signal_bit.
  std::uint64_t forwarded_ = 0;
  // Stop signals that were logged, see lifecycle::signal_bit.
  std::uint64_t stops_said_ = 0;
  bool reap_again_ = false;
  bool child_changed_ = false;
  std::int64_t stopped_ms_ = 0;
  bool post_stop_killed_ = false;
  bool said_unheard_ = false;  // a failure to send a signal was logged
  bool settled_ = false;       // true: the job runs, and from now on trainit mostly waits
  bool done_ = false;
  int exit_code_ = 0;
  int resolve_code_ = 0;  // exit code of a resolver that failed
  std::int64_t started_ms_ = sys::wall_ms();
  std::string job_name_;
};

}  // namespace engine
