#include "init/engine/supervisor.h"

#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "envgen/resolve.h"
#include "init/engine/control.h"
#include "init/engine/degraded.h"
#include "init/engine/job.h"
#include "init/engine/resolver.h"
#include "init/engine/timers.h"
#include "init/proc/reap.h"
#include "init/sys/cgroup.h"
#include "init/sys/clock.h"
#include "init/sys/facts.h"
#include "init/sys/files.h"
#include "init/sys/log.h"

namespace engine {
namespace {

using lifecycle::Ending;
using lifecycle::TaskKind;
using lifecycle::TaskRef;
namespace action = lifecycle::action;
namespace event = lifecycle::event;

// Bounds of one turn, so that neither a signal storm nor a fork bomb starves the other sources.
constexpr int kMostSignals = 64;
constexpr int kMostDeaths = 256;
constexpr int kMostWakeups = 64;

// The resolver has its own deadline for the wait, and work to do after it: a large table, device
// directories to empty. PID 1's is for one that hangs.
std::int64_t hang_timeout_ms(std::int64_t wait_ms) {
  constexpr std::int64_t kLeastMs = 2000;
  constexpr std::int64_t kMostMs = 60'000;
  return wait_ms + std::clamp(wait_ms / 10, kLeastMs, kMostMs);
}

constexpr int kOwnFailure = 125;

enum class Source : std::uint32_t { kSignals, kTimers, kResolver, kStart, kListener, kClient };

lifecycle::Policy machine_policy(const envgen::PlanPolicy& plan, std::int64_t resolve_timeout_ms) {
  lifecycle::Policy policy;
  policy.grace_ms = plan.grace_ms;
  policy.resolve_timeout_ms = resolve_timeout_ms;
  policy.hold_ms = plan.hold_ms;
  return policy;
}

lifecycle::SuccessPolicy success_of(envgen::Success success) {
  switch (success) {
    case envgen::Success::kAll:
      return lifecycle::SuccessPolicy::kAll;
    case envgen::Success::kFirst:
      return lifecycle::SuccessPolicy::kFirst;
    case envgen::Success::kServe:
      return lifecycle::SuccessPolicy::kServe;
  }
  return lifecycle::SuccessPolicy::kAll;
}

class Supervisor {
 public:
  explicit Supervisor(Setup setup);
  int run();

 private:
  // The loop.
  envgen::Status open_sources();
  void begin();
  void turn();
  bool watch(int fd, Source source, std::uint32_t index);
  void wake(const epoll_event& wakeup);
  [[nodiscard]] bool asks_to_stop(int signal) const;
  void read_signals();
  void reap();
  void read_resolver();
  void check_start(std::uint32_t index);
  void read_control(int client);
  // Events in, actions out.
  void post(lifecycle::Event next) { events_.push_back(std::move(next)); }
  void drain();
  void perform(const lifecycle::Action& next);
  void start(TaskRef task);
  void start_resolver(TaskRef task);
  void start_process(TaskRef task);
  void not_started(TaskRef task, envgen::Error error, int exit_code);
  void adopt_plan(envgen::Plan plan);
  void name_tasks();
  void signal_task(const action::Signal& signal);
  void sweep();
  void report_failure();
  // What is left behind.
  void open_run_dir();
  void write_state();
  void finish();
  int degrade();
  [[nodiscard]] std::optional<int> settled_code() const;
  [[nodiscard]] Remains remains() const;
  [[nodiscard]] int pending_stop() const;
  [[nodiscard]] proc::SpawnSpec spec_of(const envgen::Process& process, bool first) const;

  Setup setup_;
  bool pid1_ = ::getpid() == 1;
  bool pass_through_;
  envgen::PlanPolicy policy_;
  lifecycle::Machine machine_;
  Job job_;
  std::deque<lifecycle::Event> events_;
  sys::Fd epoll_;
  sys::Fd signal_fd_;
  std::optional<Timers> timers_;
  std::unique_ptr<Resolver> resolver_;
  ControlServer control_;
  sys::RunDir run_dir_;
  const proc::Received* forwarding_ = nullptr;  // the signal that the current step answers
  bool reap_again_ = false;
  bool state_changed_ = true;
  bool state_lost_ = false;  // the last write of it failed
  int sweep_signal_ = 0;
  bool sweep_due_ = false;  // nobody has had it yet
  std::set<pid_t> swept_;   // adopted processes that have had sweep_signal_
  bool done_ = false;
  int exit_code_ = 0;
  int resolve_code_ = 0;  // what a resolver that failed said
  std::int64_t started_ms_ = sys::wall_ms();
};

envgen::PlanPolicy early_policy(const Setup& setup) {
  // The plan may not exist for half an hour; a stop must be bounded before.
  envgen::Snapshot bare;
  bare.env = setup.base.env;
  envgen::Answer answer = envgen::resolve(bare, setup.request);
  if (const auto* planned = std::get_if<envgen::Planned>(&answer.outcome)) {
    return planned->plan.policy;
  }
  if (const auto* pending = std::get_if<envgen::Pending>(&answer.outcome)) {
    return pending->plan.policy;
  }
  return {};
}

Supervisor::Supervisor(Setup setup)
    : setup_(std::move(setup)),
      pass_through_(envgen::is_pass_through(setup_.base.env, setup_.request)),
      policy_(early_policy(setup_)),
      machine_(machine_policy(policy_, hang_timeout_ms(setup_.request.rank_table_timeout_ms)),
               {TaskKind::kResolve}) {
  job_.records.resize(machine_.tasks().size());
  job_.records[0].name = "resolver";
}

int Supervisor::run() {
  if (auto status = open_sources(); !status) {
    sys::log::error(to_line(status.error()));
    return kOwnFailure;
  }
  try {
    begin();
    while (!done_) turn();
    finish();
    return exit_code_;
  } catch (const std::exception& error) {
    sys::log::error(std::string("internal error, from now on only reaping and forwarding: ") +
                    error.what());
  } catch (...) {
    sys::log::error("internal error, from now on only reaping and forwarding");
  }
  return degrade();
}

// Without one of these nothing could be awaited: better nothing starts.
envgen::Status Supervisor::open_sources() {
  auto failed = [](const char* call) {
    const int error = errno;
    return envgen::fail("preparing to wait for events", call, sys::errno_text(error),
                        error == EMFILE || error == ENFILE
                            ? "raise the limit on open files (ulimit -n)"
                            : "allow it in the container's seccomp profile");
  };
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) return failed("epoll_create1");
  signal_fd_ = proc::open_signal_fd();
  if (!signal_fd_.valid()) return failed("signalfd");
  timers_.emplace();
  if (!timers_->fd().valid()) return failed("timerfd_create");
  if (!watch(signal_fd_.get(), Source::kSignals, 0)) return failed("epoll_ctl");
  if (!watch(timers_->fd().get(), Source::kTimers, 0)) return failed("epoll_ctl");
  return {};
}

void Supervisor::begin() {
  if (!pid1_) {
    if (auto status = proc::become_subreaper(); !status) {
      sys::log::warning(to_line(status.error()) + ", ignoring");
    }
  }
  if (!pass_through_) {
    setup_.base.facts = sys::gather_facts();
    open_run_dir();
    job_.oom_kills_before = sys::oom_kills();
  }
  post(event::Begin{});
  drain();
  if (pass_through_) {
    open_run_dir();
    job_.oom_kills_before = sys::oom_kills();
  }
  write_state();
}

// False: its news are seen late, when something else wakes us.
bool Supervisor::watch(int fd, Source source, std::uint32_t index) {
  epoll_event interest = {};
  interest.events = EPOLLIN;
  // A child that hangs before its exec (a log on a dead mount) keeps our descriptors, and a
  // description that is still open somewhere stays watched after our close. As an edge it says so
  // once, not for ever.
  if (source == Source::kStart || source == Source::kClient) interest.events |= EPOLLET;
  interest.data.u64 = static_cast<std::uint64_t>(source) << 32 | index;
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &interest) == 0;
}

void Supervisor::turn() {
  epoll_event wakeups[kMostWakeups];
  int count = ::epoll_wait(epoll_.get(), wakeups, kMostWakeups, reap_again_ ? 0 : -1);
  // Signals first: a stop request must not wait behind a thousand deaths.
  read_signals();
  for (int i = 0; i < count; ++i) wake(wakeups[i]);
  if (reap_again_) reap();
  drain();
  if (!done_) write_state();  // finish() does it with the code
}

void Supervisor::wake(const epoll_event& wakeup) {
  auto index = static_cast<std::uint32_t>(wakeup.data.u64);
  switch (static_cast<Source>(wakeup.data.u64 >> 32)) {
    case Source::kSignals:
      return;  // read in every turn
    case Source::kTimers:
      for (const event::TimerFired& due : timers_->take_due(sys::monotonic_ms())) post(due);
      return;
    case Source::kResolver:
      return read_resolver();
    case Source::kStart:
      return check_start(index);
    case Source::kListener:
      if (int client = control_.accept_client(); client >= 0) {
        watch(client, Source::kClient, static_cast<std::uint32_t>(client));
      }
      return;
    case Source::kClient:
      return read_control(static_cast<int>(index));
  }
}

// HUP and QUIT are the job's to answer; while there is none yet they mean what they mean to any
// program that is started.
bool Supervisor::asks_to_stop(int signal) const {
  if (signal == SIGTERM || signal == SIGINT) return true;
  return machine_.phase() == lifecycle::Phase::kPreparing &&
         (signal == SIGHUP || signal == SIGQUIT);
}

void Supervisor::read_signals() {
  for (const proc::Received& received : proc::read_signals(signal_fd_, kMostSignals)) {
    if (received.signal == SIGCHLD) {
      reap_again_ = true;
      continue;
    }
    drain();  // what happened before it is answered before it
    forwarding_ = &received;
    if (asks_to_stop(received.signal)) {
      if (!pass_through_) {
        sys::log::info(std::string(proc::signal_name(received.signal)) + " received, stopping");
      }
      post(event::StopRequested{received.signal});
    } else {
      post(event::SignalReceived{received.signal});
    }
    drain();
    forwarding_ = nullptr;
  }
}

void Supervisor::reap() {
  proc::Reaped reaped = proc::reap(kMostDeaths);
  reap_again_ = reaped.deaths.size() == kMostDeaths;
  event::TasksEnded ended;
  for (const proc::Death& death : reaped.deaths) {
    swept_.erase(death.pid);
    auto record = std::ranges::find(job_.records, death.pid, &TaskRecord::pid);
    if (record == job_.records.end()) continue;
    auto index = static_cast<std::uint32_t>(record - job_.records.begin());
    if (resolver_ && resolver_->pid() == death.pid) read_resolver();
    check_start(index);
    record->start_pipe.reset();
    record->pid = 0;
    record->core = death.core;
    record->ended_ms = sys::wall_ms();
    Ending ending{death.signaled ? Ending::How::kSignaled : Ending::How::kExited, death.value};
    if (record->failure) ending = {Ending::How::kNotStarted, record->failure->exit_code};
    record->ending = ending;
    ended.ends.push_back({{index, record->incarnation}, ending});
  }
  if (!ended.ends.empty()) post(std::move(ended));
  if (reaped.childless) {
    post(event::NothingLeft{});
  } else if (sweep_signal_ != 0 && (sweep_due_ || !reaped.deaths.empty())) {
    sweep();
  }
  sweep_due_ = false;
}

void Supervisor::read_resolver() {
  if (!resolver_) return;
  for (ResolverNews& news : resolver_->read_news()) {
    state_changed_ = true;
    if (auto* waits = std::get_if<ResolverWaits>(&news)) {
      sys::log::info("waiting for " + waits->reason);
      job_.waiting_for = std::move(waits->reason);
    } else if (auto* failed = std::get_if<ResolverFailed>(&news)) {
      job_.resolver_message = std::move(failed->message);
      resolve_code_ = failed->exit_code != 0 ? failed->exit_code : kOwnFailure;
      post(event::ResolveFailed{failed->exit_code});
    } else {
      adopt_plan(std::move(std::get<envgen::Plan>(news)));
    }
  }
  if (resolver_->at_end()) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, resolver_->pipe().get(), nullptr);
  }
}

void Supervisor::adopt_plan(envgen::Plan plan) {
  job_.waiting_for.clear();
  job_.plan = std::move(plan);
  for (const std::string& warning : job_.plan.warnings) sys::log::warning(warning);
  if (!pass_through_) {
    sys::log::info(job_.plan.platform + "/" + job_.plan.framework + ": node " +
                   std::to_string(job_.plan.self->node_rank) + " of " +
                   std::to_string(job_.plan.node_count) + ", starting " +
                   std::to_string(job_.plan.processes.size()) + " of " +
                   std::to_string(job_.plan.world_size) + " ranks");
  }
  event::ClusterReady ready;
  ready.success = success_of(job_.plan.policy.success);
  ready.tasks.assign(job_.plan.processes.size(), TaskKind::kMain);
  post(std::move(ready));
}

void Supervisor::check_start(std::uint32_t index) {
  TaskRecord& record = job_.records[index];
  if (!record.start_pipe.valid()) return;
  proc::StartFailure failure;
  switch (proc::read_start(record.start_pipe, &failure)) {
    case proc::StartState::kPending:
      return;
    case proc::StartState::kRunning:
      post(event::TaskStarted{{index, record.incarnation}});
      break;
    case proc::StartState::kFailed:
      record.failure = std::move(failure);
      break;
  }
  record.start_pipe.reset();
}

void Supervisor::read_control(int client) {
  auto request = control_.read_request(client);
  if (!request) return;
  if (machine_.phase() != lifecycle::Phase::kHold) {
    return control_.answer(client, ControlAnswer::kNotNow);
  }
  if (request->op == ControlOp::kRelease) {
    post(event::Release{});
  } else {
    post(event::HoldFor{request->argument_ms});
  }
  control_.answer(client, ControlAnswer::kDone);
}

void Supervisor::drain() {
  while (!events_.empty()) {
    // It stays in front until it is answered: degrade() must not lose it.
    const lifecycle::Event& next = events_.front();
    if (setup_.before_step) setup_.before_step(next);
    std::vector<lifecycle::Action> actions = machine_.step(next, sys::monotonic_ms());
    state_changed_ = state_changed_ || !actions.empty() ||
                     !(std::holds_alternative<event::SignalReceived>(next) ||
                       std::holds_alternative<event::NothingLeft>(next));
    if (std::holds_alternative<event::ClusterReady>(next)) name_tasks();
    for (const lifecycle::Action& one : actions) perform(one);
    events_.pop_front();
  }
}

// The n-th main task is the plan's n-th process.
void Supervisor::name_tasks() {
  job_.records.resize(machine_.tasks().size());
  for (std::size_t i = 0; i < job_.records.size(); ++i) {
    const lifecycle::Task& task = machine_.tasks()[i];
    if (task.kind != TaskKind::kMain || task.ordinal >= job_.plan.processes.size()) continue;
    job_.records[i].process = static_cast<int>(task.ordinal);
    job_.records[i].name = job_.plan.processes[task.ordinal].name;
  }
}

void Supervisor::perform(const lifecycle::Action& next) {
  if (const auto* start_task = std::get_if<action::Start>(&next)) {
    start(start_task->task);
  } else if (const auto* signal = std::get_if<action::Signal>(&next)) {
    signal_task(*signal);
  } else if (const auto* adopted = std::get_if<action::SweepAdopted>(&next)) {
    sweep_signal_ = adopted->signal;
    swept_.clear();
    sweep_due_ = sweep_signal_ != 0;
    reap_again_ = reap_again_ || sweep_due_;  // which also tells that there is nothing to sweep
  } else if (const auto* timer = std::get_if<action::SetTimer>(&next)) {
    timers_->set(*timer);
  } else if (const auto* cancelled = std::get_if<action::CancelTimer>(&next)) {
    timers_->cancel(cancelled->timer);
  } else if (std::holds_alternative<action::Report>(next)) {
    report_failure();
  } else if (const auto* exit = std::get_if<action::Exit>(&next)) {
    exit_code_ = exit->code;
    done_ = true;
  }
}

void Supervisor::start(TaskRef task) {
  TaskRecord& record = job_.records[task.index];
  record.incarnation = task.incarnation;
  record.failure.reset();
  record.ending.reset();
  record.told_to_stop = false;
  record.started_ms = sys::wall_ms();
  if (machine_.tasks()[task.index].kind == TaskKind::kResolve) {
    start_resolver(task);
  } else {
    start_process(task);
  }
}

void Supervisor::start_resolver(TaskRef task) {
  if (pass_through_) {
    envgen::Answer answer = envgen::resolve(setup_.base, setup_.request);
    adopt_plan(std::move(std::get<envgen::Planned>(answer.outcome).plan));
    post(event::TasksEnded{{{task, {Ending::How::kExited, 0}}}});
    return;
  }
  auto resolver = Resolver::start(setup_.base, setup_.request, setup_.saved);
  if (!resolver) {
    job_.resolver_message = to_line(resolver.error());
    return not_started(task, resolver.error(), kOwnFailure);
  }
  resolver_ = std::make_unique<Resolver>(std::move(*resolver));
  job_.records[task.index].pid = resolver_->pid();
  watch(resolver_->pipe().get(), Source::kResolver, 0);
  post(event::TaskStarted{task});
}

proc::SpawnSpec Supervisor::spec_of(const envgen::Process& process, bool first) const {
  proc::SpawnSpec spec;
  spec.argv = process.argv;
  spec.env = setup_.base.env;
  for (const std::string& name : setup_.own_variables) spec.env.unset(name);
  for (const envgen::EnvEdit& edit : process.env) spec.env.apply(edit);
  spec.cwd = process.cwd == setup_.base.facts.cwd ? "" : process.cwd;
  spec.log_path = process.log;
  spec.env_file = process.env_file;
  bool alone = job_.plan.processes.size() == 1;
  spec.new_session = !alone;
  spec.foreground = alone;
  spec.callers_fds =
      alone;  // as exec would pass them on; with several, nobody knows whose they are
  spec.die_with_parent = !pid1_;
  spec.share_memory = pass_through_;
  if (first) {
    spec.inherited_fds = listen_fds(setup_.base.env);
  } else {
    // The caller's descriptors go to one task.
    for (const char* name : {"LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"}) spec.env.unset(name);
  }
  return spec;
}

void Supervisor::start_process(TaskRef task) {
  TaskRecord& record = job_.records[task.index];
  const envgen::Process& process = job_.plan.processes[static_cast<std::size_t>(record.process)];
  auto spawned = proc::spawn(spec_of(process, record.process == 0), setup_.saved);
  // Whoever reads the other end of what was passed in waits for its end, and we may live longer
  // than the task that has it.
  for (const int fd : std::exchange(setup_.callers_fds, {})) ::close(fd);
  if (!spawned) return not_started(task, spawned.error(), kOwnFailure);
  record.pid = spawned->pid;
  record.start_pipe = std::move(spawned->start_pipe);
  if (!watch(record.start_pipe.get(), Source::kStart, task.index)) post(event::TaskStarted{task});
}

void Supervisor::not_started(TaskRef task, envgen::Error error, int exit_code) {
  TaskRecord& record = job_.records[task.index];
  record.ended_ms = sys::wall_ms();
  record.failure = proc::StartFailure{exit_code, std::move(error)};
  record.ending = Ending{Ending::How::kNotStarted, exit_code};
  post(event::TasksEnded{{{task, {Ending::How::kNotStarted, exit_code}}}});
}

void Supervisor::signal_task(const action::Signal& signal) {
  TaskRecord& record = job_.records[signal.task.index];
  if (record.pid <= 0 || record.incarnation != signal.task.incarnation) return;
  if (machine_.tasks()[signal.task.index].stop_signal == signal.signal) record.told_to_stop = true;
  if (forwarding_ != nullptr && forwarding_->signal == signal.signal) {
    proc::forward_signal(record.pid, *forwarding_);
  } else {
    ::kill(record.pid, signal.signal);
  }
}

void Supervisor::sweep() {
  std::vector<pid_t> children = proc::children_of_self();
  if (children.empty() && pid1_ && ::access("/proc/self", F_OK) != 0) {
    // No /proc to name them by. All generations at once, so once is enough.
    if (swept_.insert(-1).second || sweep_signal_ == SIGKILL) ::kill(-1, sweep_signal_);
    return;
  }
  bool any = false;
  for (pid_t pid : children) {
    bool ours = std::ranges::any_of(job_.records,
                                    [pid](const TaskRecord& record) { return record.pid == pid; });
    any = any || !ours;
    if (!ours && swept_.insert(pid).second) ::kill(pid, sweep_signal_);
  }
  if (!any) post(event::NothingAdopted{});
}

void Supervisor::report_failure() {
  job_.first_failure = describe_failure(job_, machine_, sys::oom_kills());
  sys::log::error("first failure: " + job_.first_failure);
  // A second instance in the container must not overwrite what the pod's own one says.
  const bool second = !run_dir_.path.empty() && !run_dir_.lock.valid();
  if (second) return;
  write_termination_log(setup_.termination_log, "trainit: " + job_.first_failure + "\n");
}

void Supervisor::open_run_dir() {
  run_dir_ = sys::open_run_dir(setup_.base.env);
  // A user who may not write to /run has no reason to read about it at each start.
  if (run_dir_.path.empty()) {
    sys::log::warning("no run directory, so no status: " + run_dir_.note);
  } else if (!run_dir_.lock.valid()) {
    sys::log::info(run_dir_.note + ": this one publishes no status");
  } else {
    sys::log::debug(run_dir_.note);
  }
  setup_.base.facts.run_dir = run_dir_.path;
  if (!run_dir_.lock.valid()) {
    // Another instance's directory: ours lies inside it, and we publish no state.
    if (run_dir_.path.empty()) return;
    // Not by pid: where containers share the directory, every one of them is PID 1.
    std::string own = run_dir_.path + "/instance-XXXXXX";
    if (::mkdtemp(own.data()) != nullptr) setup_.base.facts.run_dir = own;
    return;
  }
  auto control = ControlServer::open(run_dir_.path);
  if (!control) {
    sys::log::warning(to_line(control.error()) + ", ignoring");
    return;
  }
  control_ = std::move(*control);
  watch(control_.listener().get(), Source::kListener, 0);
}

void Supervisor::write_state() {
  if (!state_changed_ || !run_dir_.lock.valid()) return;
  state_changed_ = false;
  JobReport report = report_of(job_, machine_);
  report.started_ms = started_ms_;
  if (done_) report.exit_code = exit_code_;
  auto status = sys::write_file_atomic(run_dir_.path + "/state.json", 0644, state_to_json(report));
  if (!status && !state_lost_) sys::log::warning(to_line(status.error()) + ", ignoring");
  state_lost_ = !status;  // a full disk is said once, not at each change
  // The last word counts more than its atomicity: in place it needs no room but its own.
  if (!status && done_) sys::overwrite_file(run_dir_.path + "/state.json", state_to_json(report));
}

void Supervisor::finish() {
  state_changed_ = true;
  write_state();
  if (run_dir_.lock.valid()) ::unlink((run_dir_.path + "/control").c_str());
  if (!pass_through_) {
    sys::log::info("exit code " + std::to_string(exit_code_));
  }
  if (pid1_) ::kill(-1, SIGKILL);
}

// --- When this file itself fails ---

int Supervisor::degrade() {
  if (auto code = settled_code()) return *code;
  return reap_and_forward(signal_fd_, remains());
}

// A stop request that the machine has, or that is still to be answered.
int Supervisor::pending_stop() const {
  if (machine_.stop_signal() != 0) return machine_.stop_signal();
  for (const lifecycle::Event& waiting : events_) {
    if (const auto* stop = std::get_if<event::StopRequested>(&waiting)) return stop->signal;
  }
  return 0;
}

// The exit code where no main task is alive: there is nothing to wait for.
std::optional<int> Supervisor::settled_code() const {
  if (done_) return exit_code_;
  Remains left = remains();
  if (!left.mains.empty()) return std::nullopt;
  if (left.failure_code != 0) return left.failure_code;
  const bool started = std::ranges::any_of(
      job_.records, [](const TaskRecord& record) { return record.process >= 0 && record.ending; });
  if (!started) return left.stop_signal != 0 ? 128 + left.stop_signal : kOwnFailure;
  const bool told = std::ranges::any_of(job_.records, &TaskRecord::told_to_stop);
  if (left.stop_signal == 0 || !told) return 0;
  if (!left.single) return 128 + left.stop_signal;
  for (const TaskRecord& record : job_.records) {
    if (record.process == 0) return record.ending->exit_code();
  }
  return kOwnFailure;
}

Remains Supervisor::remains() const {
  Remains left;
  left.single = job_.plan.processes.size() == 1;
  left.stop_signal = pending_stop();
  left.grace_ms = policy_.grace_ms;
  if (machine_.cause() != nullptr) left.failure_code = machine_.cause()->exit_code;
  if (left.failure_code == 0) left.failure_code = resolve_code_;
  bool incomplete = false;
  for (const TaskRecord& record : job_.records) {
    if (record.process < 0) continue;
    if (record.pid > 0) left.mains.push_back({record.pid, record.told_to_stop});
    incomplete = incomplete || (record.pid == 0 && !record.ending);
    const bool failed = record.ending && !record.ending->ok() && !record.told_to_stop;
    if (failed && left.failure_code == 0) left.failure_code = record.ending->exit_code();
  }
  // Some ranks were never started: the others would wait for them for ever.
  if (incomplete && left.failure_code == 0 && left.stop_signal == 0) {
    left.failure_code = kOwnFailure;
  }
  return left;
}

}  // namespace

int listen_fds(const envgen::Environ& env) {
  const std::string_view count = env.get_or("LISTEN_FDS", "");
  const bool small = !count.empty() && count.size() <= 3 &&
                     std::ranges::all_of(count, [](char c) { return c >= '0' && c <= '9'; });
  return small ? std::stoi(std::string(count)) : 0;
}

int supervise(Setup setup) {
  try {
    return Supervisor(std::move(setup)).run();
  } catch (const std::exception& error) {
    sys::log::error(std::string("internal error, before anything started: ") + error.what());
    return kOwnFailure;
  }
}

}  // namespace engine
