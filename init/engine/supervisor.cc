#include "init/engine/supervisor.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/exit_codes.h"
#include "envgen/plan/observation.h"
#include "envgen/resolve/resolve.h"
#include "init/engine/control/control.h"
#include "init/engine/control/control_answers.h"
#include "init/engine/monitor/membership_watch.h"
#include "init/engine/monitor/monitor.h"
#include "init/engine/monitor/resource_record.h"
#include "init/engine/monitor/step_record.h"
#include "init/engine/policies.h"
#include "init/engine/report/job_messages.h"
#include "init/engine/state/job_name.h"
#include "init/engine/supervision.h"
#include "init/engine/tasks/job_files.h"
#include "init/engine/tasks/save.h"
#include "init/engine/tasks/signal_rules.h"
#include "init/engine/tasks/write_watch.h"
#include "init/proc/reap.h"
#include "init/sys/cgroup.h"
#include "init/sys/clock.h"
#include "init/sys/facts.h"
#include "init/sys/files.h"
#include "init/sys/log.h"
#include "init/sys/memory.h"
#include "init/sys/terminate.h"

namespace engine {
namespace {

using lifecycle::ExitStatus;
using lifecycle::TaskKind;
namespace event = lifecycle::event;

// Limit of the children that one turn reaps: a fork bomb must not keep the loop from its other
// work.
constexpr int kMaxDeaths = 256;

// If no work is due within this time, the start of the job is over. Work that follows a start (the
// state, environments, metrics) uses the memory of the start once more.
constexpr std::int64_t kStartMs = 1000;

enum class Source : std::uint32_t { kStart, kWorker, kClient, kListener };

Job new_job(const Setup& setup) {
  Job job;
  job.data = data_records(setup.request.data);
  job.plan.policy = early_policy_of(setup);
  return job;
}

// Returns the tasks that need no plan: the resolver first, then one task for each dataset.
std::vector<TaskKind> preparing_tasks(std::size_t datasets) {
  std::vector<TaskKind> tasks(1 + datasets, TaskKind::kData);
  tasks.front() = TaskKind::kResolve;
  return tasks;
}

}  // namespace

Supervisor::Supervisor(Setup& setup)
    : setup_(setup),
      pass_through_(!setup_.planner && (!setup_.has_hooks || setup_.started != 0) &&
                    envgen::is_pass_through(setup_.base.env, setup_.request)),
      job_(new_job(setup_)),
      machine_(job_.plan.policy, preparing_tasks(job_.data.size())),
      context_{.request = setup_.request,
               .saved = setup_.saved,
               .job = job_,
               .machine = machine_,
               .timeline = timeline_,
               .start_context = [this] { return start_context(); },
               .post = [this](lifecycle::Event next) { post(std::move(next)); },
               .note_change = [this] { state_writer_.note_change(); }},
      resolver_(workers_.add<Resolver>(
          [this](ResolverMessage message) { take_message(std::move(message)); })),
      tees_(workers_.add<Tees>([this] { return !main_pids(job_).empty(); })),
      trigger_(workers_.add<ChildWorker>()),
      save_(workers_.add<SaveRequest>(context_)),
      env_files_(workers_.add<EnvFiles>(context_)),
      link_(workers_.add<LinkTask>(context_, workers_.add<LauncherNotifier>(context_), tees_,
                                   [this] { return now_ms(); })),
      stacks_(workers_.add<StackDump>(context_)),
      warm_(workers_.add<WarmRanks>(context_, workers_)),
      hooks_(context_, workers_),
      diagnosis_(workers_, timeline_),
      torn_down_(workers_),
      orphan_reaper_(job_, stopper_, tees_) {
  job_name_ = job_name(setup_.base.env);
  name_records(job_, machine_);
  job_.records[0].name = "resolver";
  for (std::uint32_t i = 0; i < job_.data.size(); ++i) {
    data_.push_back(&workers_.add<DataTask>(context_, i + 1, resolver_));
  }
  workers_.add<MembershipWatch>(context_, setup_.planner);
  workers_.add<JobFiles>(context_);
  workers_.add<WriteWatch>(context_);
  workers_.add<Monitor>(context_, tees_, workers_.add<HangTask>(context_));
}

int Supervisor::run() {
  sys::on_terminate([this](const sys::Thrown& thrown) {
    // The log line below may throw again.
    sys::on_terminate([this](const sys::Thrown&) { ::_exit(fall_back()); });
    sys::log::error(std::string("internal error, from now on only reaping and forwarding: ") +
                    thrown.what);
    ::_exit(fall_back());
  });
  begin();
  while (!done_) turn(wait());
  finish();
  return given_code(job_.plan.policy.exit_codes, exit_code_);
}

void Supervisor::begin() {
  if (!pid1_ && setup_.started == 0) {
    if (auto status = proc::become_subreaper(); !status) {
      sys::log::warning(to_line(status.error()) + ", ignoring");
    }
  }
  termination_lock_ = lock_termination_log(setup_.termination_log);
  // A pass-through starts its command before anything else is examined. With hooks, facts are
  // needed first.
  const bool at_once = pass_through_ && !setup_.has_hooks;
  if (!at_once) {
    setup_.base.facts = sys::gather_facts();
    job_.host = setup_.base.facts.host_name;
    open_run_dir();
  }
  post(event::Begin{});
  drain();
  if (setup_.received) take_signal(*setup_.received);
  if (at_once) open_run_dir();
  // Do this now, while the resolver works and before the ranks run.
  state_writer_.serve();
  job_.start.oom_kills_before = sys::oom_kills();
  if (!pass_through_) oom_group_warning_ = sys::oom_group_warning();
  write_state();
}

void Supervisor::turn(const std::vector<Poller::Watched>& ready) {
  // Signals come first: a stop request must not wait until a thousand deaths are handled.
  proc::SignalSource::Room room;
  for (const proc::Received& received : signals_.read(room)) {
    if (received.signal != SIGCHLD) stopper_.continue_stopped();
    take_signal(received);
  }
  workers_.tend(sys::monotonic_ms());
  replace_late();
  // Reap before messages are read: if a node or a command requests a checkpoint, a rank that has
  // died cannot save.
  if (reap_again_) reap();
  for (const Poller::Watched& one : ready) wake(one);
  if (reap_again_) reap();
  // Timers come last: if trainit was suspended, what has happened meanwhile may move them.
  for (const event::TimerFired& due : timers_.take_due(now_ms())) post(due);
  drain();
  continue_stopped();
  if (const auto first = torn_down_.look(job_, machine_, setup_.saved)) {
    post(lifecycle::event::Diagnosed{.restarts = machine_.restarts(), .first = first});
    drain();
  }
  if (diagnosis_.advance(job_, machine_)) state_writer_.note_change();
  if (child_changed_ && look_for_paused()) state_writer_.note_change();
  if (auto verdict = diagnosis_.take_verdict()) {
    post(*verdict);
    drain();  // do this before the report to node 0 says that the diagnosis is complete
  }
  answer_save();
  link_.turned();
  if (!pass_through_) wait_view_.show(job_, machine_);
  // After the end of the job, finish() writes the state with the exit code.
  if (!done_ && sys::monotonic_ms() >= state_due_ms_) write_state();
  if (!std::exchange(child_changed_, false)) return;
  // Job control: if the shell stopped the job (^Z), trainit stops too. This comes last, so that all
  // events are handled before the shell gets its terminal back.
  for (const pid_t pid : main_pids(job_)) stopped_ms_ += job_control_.stop_with(pid);
}

bool Supervisor::look_for_paused() {
  bool changed = false;
  for (TaskRecord& record : job_.records) {
    siginfo_t info{};
    // WNOWAIT keeps the status, so that further calls get it too until the process continues.
    const bool paused =
        record.pid > 0 &&
        ::waitid(P_PID, static_cast<id_t>(record.pid), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == record.pid;
    changed = std::exchange(record.paused, paused) != paused || changed;
  }
  return changed;
}

void Supervisor::continue_stopped() {
  const auto due_ms = stopper_.continue_due_ms();
  if (!due_ms) return;
  if (main_pids(job_).empty()) return stopper_.leave_stopped();
  if (sys::monotonic_ms() >= *due_ms) stopper_.continue_stopped();
}

const std::vector<Poller::Watched>& Supervisor::wait() {
  auto add = [this](int fd, Source source, std::uint32_t index) {
    poller_.add({fd, static_cast<std::uint32_t>(source), index});
  };
  poller_.clear();
  for (std::uint32_t i = 0; i < job_.records.size(); ++i) {
    add(job_.records[i].start_pipe.get(), Source::kStart, i);
  }
  workers_.each_channel([&](int fd, std::uint32_t index) { add(fd, Source::kWorker, index); });
  for (const sys::Fd& client : state_writer_.control().clients()) {
    add(client.get(), Source::kClient, static_cast<std::uint32_t>(client.get()));
  }
  add(state_writer_.control().listener().get(), Source::kListener, 0);
  std::optional<std::int64_t> timeout_ms = timers_.next();
  if (timeout_ms) *timeout_ms -= now_ms();
  const auto state_due_ms =
      state_writer_.due() && state_due_ms_ > 0 ? std::optional(state_due_ms_) : std::nullopt;
  for (const auto due_ms : {workers_.next_deadline(), metrics_due_ms(), wait_view_.due_ms(),
                            state_due_ms, stopper_.continue_due_ms()}) {
    if (!due_ms) continue;
    const std::int64_t left_ms = *due_ms - sys::monotonic_ms();
    timeout_ms = std::min(timeout_ms.value_or(left_ms), left_ms);
  }
  if (reap_again_) timeout_ms = 0;
  timeline_.flush();
  const bool idle = !timeout_ms || *timeout_ms > kStartMs;
  if (idle && !settled_ && machine_.phase() == lifecycle::Phase::kRunning) {
    settled_ = true;
    sys::release_start_memory();
  }
  return poller_.wait(signals_, timeout_ms);
}

void Supervisor::wake(const Poller::Watched& ready) {
  switch (static_cast<Source>(ready.id)) {
    case Source::kStart:
      return check_start(ready.index);
    case Source::kWorker:
      return workers_.read(ready.index);
    case Source::kListener:
      state_writer_.control().accept_client();
      return;
    case Source::kClient:
      return read_control(static_cast<int>(ready.index));
  }
}

void Supervisor::take_signal(const proc::Received& received) {
  if (received.signal == SIGCHLD) {
    reap_again_ = true;
    child_changed_ = true;
    return;
  }
  if (job_control_.is_ignored(received)) return;
  // If the terminal has sent a signal to the main process too, that process decides what it means.
  // So ^C at a prompt of the command ends the job only if the command exits.
  const std::vector<pid_t> mains = main_pids(job_);
  const bool for_main = std::ranges::any_of(
      mains, [&](pid_t pid) { return job_control_.has_reached(pid, received); });
  // The main process got SIGWINCH from trainit's terminal before its own terminal (the tee's) had
  // the new size. So it gets SIGWINCH again.
  if (received.signal == SIGWINCH && tees_.resize() && for_main) {
    for (const pid_t pid : mains) ::kill(pid, SIGWINCH);
  }
  if (for_main) {
    forwarded_ |= lifecycle::signal_bit(received.signal);
    return job_control_.answered(received);
  }
  drain();  // handle earlier events before the signal
  forwarding_ = &received;
  answer_signal(received);
  drain();
  forwarding_ = nullptr;
  job_control_.answered(received);
}

void Supervisor::answer_signal(const proc::Received& received) {
  const bool preparing = machine_.phase() == lifecycle::Phase::kPreparing;
  const Meaning meaning = meaning_of(received.signal, job_.plan.policy.signals,
                                     asks_to_stop(received.signal, preparing));
  if (const auto* stop = std::get_if<Stop>(&meaning)) {
    // Platforms repeat a stop signal, so each is logged only once. The exception is SIGINT, whose
    // repetition kills the job.
    const std::uint64_t bit = lifecycle::signal_bit(received.signal);
    const bool message = (stops_said_ & bit) == 0 || received.signal == SIGINT;
    const bool first = std::exchange(stops_said_, stops_said_ | bit) == 0;
    if (first) delay_state();
    if (!pass_through_ && message) {
      sys::log::info(std::string(proc::signal_name(received.signal)) +
                     (first ? " received, stopping" : " received while stopping"));
    }
    post(event::StopRequested{stop->signal, stop->sent});
  } else if (const auto* forward = std::get_if<Forward>(&meaning)) {
    forwarded_ |= lifecycle::signal_bit(forward->signal);
    post(event::SignalReceived{forward->signal});
  } else if (std::holds_alternative<Save>(meaning)) {
    sys::log::info(std::string(proc::signal_name(received.signal)) + " received");
    reap();  // a rank that has died cannot save, as in turn()
    post(event::CheckpointRequested{});
    drain();
    if (!machine_.rescheduled()) {
      sys::log::warning("no checkpoint: the job has ended or is being ended");
    }
  } else if (const auto* touch = std::get_if<Touch>(&meaning)) {
    // Only one child runs at a time, because children would accumulate on a mount that hangs.
    if (trigger_.pid() == 0) {
      trigger_.adopt(touch_trigger(touch->path, job_.plan.sandbox.identity, setup_.saved));
    }
  }
}

void Supervisor::reap() {
  proc::Reaped reaped = proc::reap(kMaxDeaths);
  // The seccomp profile forbids both calls, so trainit would see no exit.
  if (reaped.refused != 0) {
    sys::log::error("waiting for the job: waitid and wait4: found " +
                    sys::errno_text(reaped.refused) + "; allow one of them in the seccomp profile");
    exit_code_ = exit_code::kOwnFailure;
    done_ = true;
    return;
  }
  reap_again_ = reaped.deaths.size() == kMaxDeaths;
  event::TasksEnded ended;
  for (const proc::Death& death : reaped.deaths) {
    workers_.reaped(death);
    std::erase(job_.helpers, death.pid);
    auto record = std::ranges::find(job_.records, death.pid, &TaskRecord::pid);
    if (record == job_.records.end()) continue;
    auto index = static_cast<std::uint32_t>(record - job_.records.begin());
    record->pid = 0;
    check_start(index);
    record->start_pipe.reset();
    // A spare that became the rank may have run although its start pipe is still open, because its
    // messenger holds it.
    if (record->handed_over && warm_.has_run(*record)) note_run(*record, index);
    if (std::exchange(record->handed_over, false)) {
      if (!record->stop_sent) {
        start_process({index, record->incarnation});
        continue;
      }
      let_output_go(*record);
    }
    record->core = death.core;
    note_end(*record);
    ExitStatus exit_status{death.signaled ? ExitStatus::How::kSignaled : ExitStatus::How::kExited,
                           death.value};
    if (record->failure) exit_status = {ExitStatus::How::kNotStarted, record->failure->exit_code};
    DataTask* data = data_of(*record);
    const bool held = data != nullptr && data->settle(exit_status);
    record->exit_status = exit_status;
    warn_of_end(job_, *record);
    // Take the terminal back, so that its keys reach trainit until the next process gets it.
    if (is_main(*record) && job_.plan.processes.size() == 1) proc::take_back_terminal(death.pid);
    if (held) continue;
    const std::uint64_t sent = machine_.tasks()[index].sent;
    const bool by_us = death.signaled && (sent & lifecycle::signal_bit(death.value)) != 0;
    record->unasked = !record->stop_sent || (record->unasked && !by_us);
    if (!record->stop_sent && is_main(*record)) {
      ended.forwarded = std::max(ended.forwarded, forwarded_end(exit_status, forwarded_));
    }
    ended.ends.push_back({{index, record->incarnation}, exit_status, record->unasked});
  }
  // Post failures of data tasks that were held back first: they came before the failure of the
  // resolver.
  for (DataTask* data : data_) data->post_delayed();
  if (!ended.ends.empty()) post(std::move(ended));
  // The tee, spare processes and the link's worker outlive the job. If trainit has no other
  // children in Phase::kStopping, nothing of the job is left, although waitid() still finds some.
  const bool left_alone = machine_.phase() == lifecycle::Phase::kStopping && !reap_again_ &&
                          main_pids(job_).empty() && tees_.are_all_children(outliving_pids(job_));
  const bool nothing_adopted = orphan_reaper_.sweep_behind(reaped, reap_again_);
  if (reaped.childless || left_alone || orphan_reaper_.only_refused()) post(event::NothingLeft{});
  if (nothing_adopted) post(event::NothingAdopted{});
}

DataTask* Supervisor::data_of(const TaskRecord& record) const {
  return record.kind == TaskKind::kData ? data_[static_cast<std::size_t>(record.process)] : nullptr;
}

void Supervisor::take_message(ResolverMessage message) {
  state_writer_.note_change();
  if (auto* waits = std::get_if<ResolverWaits>(&message)) {
    timeline_.waits(waits->reason);
    note_waiting(job_, std::move(waits->reason));
    wait_view_.show(job_, machine_);
  } else if (auto* failed = std::get_if<ResolverFailed>(&message)) {
    // An elastic job continues without a node that is no longer in its list of nodes.
    if (failed->not_listed && job_.plan.policy.elastic && machine_.restarts() > 0) {
      sys::log::info("this node has left the job, whose list of nodes has it no longer: " +
                     failed->message);
      return post(event::ResolveFailed{.left = true});
    }
    job_.resolver_message = std::move(failed->message);
    resolve_code_ = failed->exit_code != 0 ? failed->exit_code : exit_code::kOwnFailure;
    post(event::ResolveFailed{failed->exit_code});
  } else {
    auto& plan = std::get<envgen::Plan>(message);
    if (auto status = claim_.take(plan); !status) {
      job_.resolver_message = to_line(status.error());
      resolve_code_ = exit_code::kOwnFailure;
      return post(event::ResolveFailed{exit_code::kOwnFailure});
    }
    adopt_plan(std::move(plan));
  }
}

void Supervisor::adopt_plan(envgen::Plan plan) {
  note_waiting(job_, "");
  if (!pass_through_) wait_view_.show(job_, machine_);
  // The names of the previous start's ranks are those of the previous plan.
  record_steps(job_, timeline_, true);
  end_resources(job_, timeline_);
  job_.plan = std::move(plan);
  job_.command = command_text(job_.plan);
  const int node = job_.plan.local_node ? job_.plan.local_node->node_rank : 0;
  if (job_.plan.node_count > 1) sys::log::set_origin(node, job_.host);
  timeline_.set_node(node, job_.host);
  const std::string& checked = job_.plan.observe.preflight_found;
  if (!checked.empty()) timeline_.note("preflight", checked);
  if (job_.plan.processes.size() == 1) job_control_ = proc::JobControl::at_start();
  for (std::string& warning : policy_warnings(job_.plan)) {
    job_.plan.warnings.push_back(std::move(warning));
  }
  if (!oom_group_warning_.empty()) job_.plan.warnings.push_back(oom_group_warning_);
  for (const std::string& warning : job_.plan.warnings) sys::log::warning(warning);
  const bool copies =
      std::ranges::any_of(data_, [](const DataTask* data) { return data->channel() >= 0; });
  if (!pass_through_) {
    sys::log::write(
        is_plain(job_.plan) && !copies ? sys::log::Level::kDebug : sys::log::Level::kInfo,
        starting_text(job_.plan) + (copies ? ", once its data is there" : ""));
  }
  prepare_watches(job_);
  delay_state();
  post(cluster_ready(job_.plan));
  if (!copies) begin_output();
}

// Starts the tee early, while the resolver exits: so the ranks need not wait for the fork of the
// tee. Not if hooks or other nodes come before the ranks, because the tee would wait for nothing.
// The caller checks that no data is being prepared.
void Supervisor::begin_output() {
  const envgen::Plan& plan = job_.plan;
  const bool hooks = has_hooks(plan, envgen::HookEvent::kPreStart);
  if (pass_through_ || hooks || plan.policy.rendezvous_ms > 0 || plan.processes.empty()) return;
  tees_.begin(plan, setup_.saved, line_scan(job_));
}

void Supervisor::check_start(std::uint32_t index) {
  TaskRecord& record = job_.records[index];
  if (!record.start_pipe.valid()) return;
  proc::StartFailure failure;
  switch (proc::read_start(record.start_pipe, &failure)) {
    case proc::StartState::kPending:
      return;
    case proc::StartState::kRunning:
      if (record.handed_over && !warm_.has_run(record)) {
        return lose_handed_over(record, "it has ended, or its messenger has");
      }
      note_run(record, index);
      break;
    case proc::StartState::kFailed: {
      if (record.handed_over) return lose_handed_over(record, to_line(failure.error));
      const envgen::Process* process = planned(job_, record);
      const bool typed = process != nullptr && process->argv == setup_.request.command;
      if (typed) proc::give_hint(failure, setup_.command_hint);
      record.failure = std::move(failure);
      break;
    }
  }
  record.start_pipe.reset();
}

void Supervisor::note_run(TaskRecord& record, std::uint32_t index) {
  if (std::exchange(record.handed_over, false)) let_output_go(record);
  post(event::TaskStarted{{index, record.incarnation}});
}

// Handles a spare that did not get its start message, or ended before it was the rank. Kills it;
// when it is reaped, the rank starts cold, as if there had been no spare.
void Supervisor::lose_handed_over(TaskRecord& record, const std::string& why) {
  warm_.note_lost(record, why);
  record.start_pipe.reset();
  if (record.pid > 0) ::kill(record.pid, SIGKILL);
}

// Starts ranks cold whose spares did not become them in time, without waiting for the end of the
// spares. A spare runs the job's code, so it may never answer. If it hangs in the kernel, not even
// SIGKILL ends it.
void Supervisor::replace_late() {
  for (std::uint32_t i = 0; i < job_.records.size(); ++i) {
    TaskRecord& record = job_.records[i];
    if (!WarmRanks::is_late(record) || record.stop_sent || record.pid <= 0) continue;
    check_start(i);
    if (!record.handed_over) continue;
    if (warm_.has_run(record)) {
      record.start_pipe.reset();
      note_run(record, i);
      continue;
    }
    // If its start pipe is closed already, the spare was killed before and has not ended yet.
    if (record.start_pipe.valid()) lose_handed_over(record, "it has not answered within 10 s");
    job_.spares.push_back(std::exchange(record.pid, 0));
    record.handed_over = false;
    start_process({i, record.incarnation});
  }
}

void Supervisor::read_control(int client) {
  // A client with a pending answer has hung up, or sends a second request: the pending answer is
  // dropped.
  if (save_answer_ && save_answer_->first == client) save_answer_.reset();
  auto request = state_writer_.control().read_request(client);
  if (!request) return;
  drain();  // the machine handles the previous request before this one is decided
  if (request->op == ControlOp::kStacks) {
    const auto number = stacks_.ask();
    const ControlAnswer answer = number ? ControlAnswer::kDone : ControlAnswer::kNotNow;
    return state_writer_.control().answer(client, answer, number.value_or(0));
  }
  const bool hooks = has_hooks(job_.plan, envgen::HookEvent::kCheckpoint);
  ControlView view = view_of(machine_, job_.plan.policy, hooks, now_ms());
  view.checkpointing = view.checkpointing || save_.looks();
  ControlDecision decision = decide(*request, view);
  if (decision.event) {
    post(std::move(*decision.event));
    drain();
    if (!done_) write_state();  // a client that gets the answer may then read the state
    const bool ran =
        view.phase == lifecycle::Phase::kStarting || view.phase == lifecycle::Phase::kRunning;
    if (request->op == ControlOp::kCheckpoint && ran) {
      save_answer_ = {client, decision.reply};
      return answer_save();
    }
  }
  state_writer_.control().answer(client, decision.reply.answer, decision.reply.value_ms);
}

// Answers the client that requested a checkpoint, as soon as it is known whether a process or a
// hook saves.
void Supervisor::answer_save() {
  if (!save_answer_ || save_.looks()) return;
  auto [client, reply] = *std::exchange(save_answer_, std::nullopt);
  const bool hooks_save = machine_.checkpointing();
  if (save_.reached_nobody() && !hooks_save) reply = {.answer = ControlAnswer::kNothingSaved};
  state_writer_.control().answer(client, reply.answer, reply.value_ms);
}

void Supervisor::drain() {
  while (!events_.empty()) {
    // The event stays in the queue until it was handled. If handling it fails, fall_back() still
    // finds it.
    const lifecycle::Event& next = events_.front();
    if (setup_.before_step) setup_.before_step(next);
    const auto* timer = std::get_if<event::TimerFired>(&next);
    const bool gives_up = timer != nullptr && timer->timer == lifecycle::Timer::kGiveUp;
    const std::vector<pid_t> hanging =
        gives_up ? orphan_reaper_.outlived(machine_) : std::vector<pid_t>();
    stopper_.begin_step();
    const PhaseState before{machine_.phase(), machine_.expired()};
    const bool kills = timer != nullptr && timer->timer == lifecycle::Timer::kKill;
    const bool after_failure = kills && machine_.cuts_grace();
    std::vector<lifecycle::Action> actions = machine_.step(next, now_ms());
    const std::string text =
        report_transition(before, next, job_, machine_, now_ms(), termination_log());
    if (machine_.phase() == lifecycle::Phase::kCheckpointing && job_.start.save_asked_ms == 0) {
      job_.start.save_asked_ms = sys::monotonic_ms();
    }
    workers_.stepped();
    // Remove the status line before a process starts that may use the screen.
    if (!pass_through_) wait_view_.show(job_, machine_);
    // A process that must save or exit must not be blocked by a reader that does not read trainit's
    // output.
    const lifecycle::Phase phase = machine_.phase();
    const bool is_ending = phase == lifecycle::Phase::kStopping && !main_pids(job_).empty();
    if (machine_.stopped() || phase == lifecycle::Phase::kCheckpointing || is_ending) tees_.hurry();
    if (!actions.empty()) report_outlived(hanging);
    // A signal that is only forwarded changes nothing in state.json.
    const bool sends_on = std::holds_alternative<event::SignalReceived>(next);
    const bool nothing = std::holds_alternative<event::NothingLeft>(next) && actions.empty();
    if (!sends_on && !nothing) state_writer_.note_change();
    if (std::holds_alternative<event::ClusterReady>(next)) name_records(job_, machine_);
    report_kills(job_, next, after_failure, actions);
    look_who_exits(actions);
    for (const lifecycle::Action& one : actions) perform(one);
    common_.reset();
    if (!text.empty()) diagnosis_.say_behind(text);
    // A user in a debug window may run the job again, so the node must not be claimed any more.
    if (machine_.phase() >= lifecycle::Phase::kHold) claim_.release();
    timeline_.stepped(next, actions, before.phase, job_, machine_);
    events_.pop_front();
  }
}

void Supervisor::open_run_dir() {
  state_writer_.open(setup_.base.env);
  setup_.base.facts.run_dir = state_writer_.run_dir();
  if (!pass_through_) timeline_.open(state_writer_.run_dir());
}

// A pass-through has no metrics. Without watches, no metric changes alone, so trainit must not wake
// up for them.
std::optional<std::int64_t> Supervisor::metrics_due_ms() const {
  if (pass_through_) return std::nullopt;
  return state_writer_.metrics_due_ms(envgen::has_watches(job_.plan.observe));
}

void Supervisor::write_state() {
  const auto due_ms = metrics_due_ms();
  const bool metrics = due_ms && (done_ || *due_ms <= sys::monotonic_ms());
  if (!state_writer_.due() && !metrics) return;
  JobReport report = report_of(job_, machine_, now_ms());
  report.started_ms = started_ms_;
  report.trainit = setup_.version;
  report.job = job_name_;
  add_output(report);
  add_lines(job_, report);
  if (done_) {
    report.exit_code = exit_code_;
    report.given_code = given_code(job_.plan.policy.exit_codes, exit_code_);
  }
  state_writer_.write(report, done_);
  if (metrics) state_writer_.write_metrics(report);
}

void Supervisor::add_output(JobReport& report) const {
  if (const logtee::OutputTotals* totals = tees_.totals()) {
    report.lost = {{"stdout", totals->out.lines()},
                   {"stderr", totals->err.lines()},
                   {"files", totals->files.lines()},
                   {"diagnostics", sys::log::dropped()}};
  }
  if (tees_.seen() == nullptr) return;
  const std::int64_t since_boot_ms = sys::wall_ms() - sys::monotonic_ms();
  for (std::size_t i = 0; i < report.tasks.size() && i < job_.records.size(); ++i) {
    const TaskRecord& record = job_.records[i];
    const auto index = static_cast<std::size_t>(record.process);
    if (!is_main(record) || planned(job_, record) == nullptr || !tees_.seen()->has(index)) continue;
    const logtee::Seen seen = tees_.seen()->seen(index);
    if (seen.last_ms > 0) report.tasks[i].last_output_ms = since_boot_ms + seen.last_ms;
  }
}

int supervise(Setup& setup) {
  sys::on_terminate([](const sys::Thrown& thrown) {
    sys::log::error(std::string("internal error, before anything started: ") + thrown.what);
  });
  const bool ends_process = setup.ends_process;
  Supervisor supervisor(setup);
  const int code = supervisor.run();
  if (ends_process) ::_exit(code);
  return code;
}

}  // namespace engine
