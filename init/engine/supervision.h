#pragma once
// The class behind supervise(). Its loop, which turns all that happens into events, and its output
// files are in supervisor.cc. The machine's actions are in supervision_actions.cc, and the end is
// in supervision_end.cc. Code about one worker is with that worker; this class handles all workers
// alike, by its list.

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
  // `setup` must outlive the supervisor. Functions with noinline are not inlined into run(). A job
  // runs for weeks, and run() would keep their stack in use all the time.
  [[gnu::noinline]] explicit Supervisor(Setup& setup);
  int run();

 private:
  // The loop.
  [[gnu::noinline]] void begin();
  [[gnu::noinline]] void turn(const std::vector<Poller::Watched>& ready);
  const std::vector<Poller::Watched>& wait();
  void wake(const Poller::Watched& ready);
  // Returns the time of the machine's clock. The clock stands still while job control stops trainit
  // together with its job (^Z), so that time does not count into a grace period.
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
  // Returns the path of the termination log, or nullptr if this instance must not write it: the
  // lock is not held by this instance. PID 1 writes it in any case. A nested trainit, started by
  // its command before PID 1 had the lock, may hold the lock.
  [[nodiscard]] const char* termination_log() const {
    return pid1_ || termination_lock_.valid() ? setup_.termination_log : nullptr;
  }
  void write_state();
  // Delays the next write of the state by kSoonOverMs, because ranks are starting or an idle job
  // may end at once.
  void delay_state() {
    constexpr std::int64_t kSoonOverMs = 3;
    state_due_ms_ = sys::monotonic_ms() + kSoonOverMs;
  }
  [[nodiscard]] std::optional<std::int64_t> metrics_due_ms() const;
  void add_output(JobReport& report) const;
  // Updates TaskRecord::paused. Returns true if since the last call a task was stopped by a signal,
  // or continued.
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
  // The workers. The loop serves them in the order of WorkerList, which is that of their creation.
  WorkerContext context_;
  WorkerList workers_;
  Resolver& resolver_;
  std::vector<DataTask*> data_;  // the tasks of job_.data, in the same order
  Tees& tees_;
  ChildWorker& trigger_;  // the child that creates a trigger file (--signal)
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
  // Cached common_env() for the main tasks that start in this step.
  std::optional<base::Environ> common_;
  proc::SignalSource signals_;
  Poller poller_;
  Timers timers_;
  std::string oom_group_warning_;  // the warning that an OOM kill ends the whole cgroup; "": none
  proc::JobControl job_control_;
  StateWriter state_writer_;
  // Client that asked for a checkpoint, and its likely answer. Has a value until it is known
  // whether a process or a hook saves.
  std::optional<std::pair<int, ControlReply>> save_answer_;
  // The received signal that is handled now; nullptr: none.
  const proc::Received* forwarding_ = nullptr;
  std::int64_t state_due_ms_ = 0;  // earliest time of the next write of the state; monotonic clock
  // Set of the signals that were forwarded in this start of the job (lifecycle::signal_bit).
  std::uint64_t forwarded_ = 0;
  // Set of the stop signals that were logged (lifecycle::signal_bit).
  std::uint64_t stops_said_ = 0;
  bool reap_again_ = false;
  bool child_changed_ = false;
  std::int64_t stopped_ms_ = 0;
  bool post_stop_killed_ = false;
  bool said_unheard_ = false;  // the failure to forward a signal to a task was logged
  bool settled_ = false;       // the job runs, and the memory of its start has been released
  bool done_ = false;
  int exit_code_ = 0;
  int resolve_code_ = 0;  // exit code of a resolver that failed; 0: none
  std::int64_t started_ms_ = sys::wall_ms();
  std::string job_name_;
};

}  // namespace engine
