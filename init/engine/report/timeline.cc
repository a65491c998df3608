#include "init/engine/report/timeline.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>
#include <variant>

#include "base/text.h"
#include "envgen/failure/printed_line.h"
#include "init/engine/workers/messages.h"
#include "init/sys/as_user.h"
#include "init/sys/clock.h"
#include "init/sys/fd.h"
#include "init/sys/files.h"
#include "init/sys/log.h"
#include "init/sys/safe_path.h"

namespace engine {
namespace {

namespace action = lifecycle::action;
namespace event = lifecycle::event;
using lifecycle::ExitStatus;

constexpr off_t kMaxBytes = off_t{4} << 20;
constexpr std::size_t kMaxWaiting = 32UL << 10;
// Limit of recorded signals, because another process may send signals for weeks.
constexpr int kMaxSignals = 2000;

int rank_of(const Job& job, const TaskRecord& record) {
  const envgen::Process* process = planned(job, record);
  return process == nullptr ? -1 : process->rank;
}

}  // namespace

// --- The file ---

void RecordFile::open(const std::string& path) {
  path_ = path;
  file_.reset(::open(path.c_str(),
                     O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                     0644));
  if (!file_.valid()) say_lost(errno);
}

void RecordFile::add(std::string_view record) {
  if (!file_.valid()) return;
  const auto size = static_cast<off_t>(waiting_.size() + record.size());
  if (end_ + size > kMaxBytes) {
    flush();
    sys::log::warning(path_ + " is as large as it gets, and ends here");
    return file_.reset();
  }
  waiting_ += record;
  if (waiting_.size() > kMaxWaiting) flush();
}

void RecordFile::flush() {
  if (waiting_.empty()) return;
  write(std::exchange(waiting_, {}));
}

// Writes the records in one write. If that fails, the file is truncated to its last whole record.
void RecordFile::write(std::string_view records) {
  if (!file_.valid()) return;
  const auto size = static_cast<off_t>(records.size());
  const ssize_t count = ::pwrite(file_.get(), records.data(), records.size(), end_);
  if (count == static_cast<ssize_t>(records.size())) {
    end_ += size;
    lost_ = false;
    return;
  }
  const int error = count < 0 ? errno : ENOSPC;
  if (::ftruncate(file_.get(), end_) != 0) file_.reset();
  say_lost(error);
}

void RecordFile::say_lost(int error) {
  if (std::exchange(lost_, true)) return;
  sys::log::warning("recording the timeline: " + path_ + ": " + sys::errno_text(error) +
                    "; it has gaps, ignoring");
}

// --- Events ---

void Timeline::open(const std::string& run_dir) {
  if (run_dir.empty()) return;
  open_ = true;
  dir_ = run_dir;
  events_.open(run_dir + "/" + kEventsFile);
  record({.event = "begin"});
}

void Timeline::set_node(int rank, const std::string& host) {
  if (!open_ || node_ >= 0) return;
  node_ = rank;
  record({.event = "host", .text = host});
}

void Timeline::stepped(const lifecycle::Event& event, const std::vector<lifecycle::Action>& actions,
                       lifecycle::Phase before, const Job& job, const lifecycle::Machine& machine) {
  if (!open_) return;
  record_event(event, job);
  if (machine.phase() != before) {
    record({.event = "phase", .text = lifecycle::phase_name(machine.phase())});
    const bool restarts = machine.phase() == lifecycle::Phase::kAutoRestart;
    if (restarts && machine.counts_anew()) {
      note("restarts_reset", "the start ran well for so long that restarts count anew");
    }
  }
  for (const lifecycle::Action& one : actions) record_action(one, job);
}

void Timeline::record_event(const lifecycle::Event& event, const Job& job) {
  if (const auto* started = std::get_if<event::TaskStarted>(&event)) {
    record_task("exec", job, started->task.index);
  } else if (const auto* ended = std::get_if<event::TasksEnded>(&event)) {
    for (const event::TaskEnd& end : ended->ends) task_ended(job, end.task.index);
  } else if (std::holds_alternative<event::ClusterReady>(event)) {
    waits("");
    record({.event = "plan", .text = job.plan.platform + "/" + job.plan.framework});
  } else if (const auto* stop = std::get_if<event::StopRequested>(&event)) {
    record_signal("stop_requested", stop->signal);
  } else if (const auto* signal = std::get_if<event::SignalReceived>(&event)) {
    record_signal("signal_received", signal->signal);
  } else if (std::holds_alternative<event::CheckpointRequested>(event)) {
    record({.event = "checkpoint_requested"});
  } else if (const auto* changed = std::get_if<event::MembershipChanged>(&event)) {
    note("membership_changed", changed->elsewhere ? "on another node" : "");
  }
}

void Timeline::record_action(const lifecycle::Action& one, const Job& job) {
  if (const auto* start = std::get_if<action::Start>(&one)) {
    record_task("start", job, start->task.index);
  } else if (const auto* signal = std::get_if<action::Signal>(&one)) {
    if (++signals_ > kMaxSignals) return;
    record_task("signal_sent", job, signal->task.index, signal->signal);
  } else if (const auto* sweep = std::get_if<action::SweepAdopted>(&one)) {
    if (sweep->signal != 0) record_signal("sweep", sweep->signal);
  } else if (std::holds_alternative<action::Report>(one) && !job.start.first_failure.empty()) {
    TimelineEvent failure{.event = "first_failure", .text = job.start.first_failure};
    failure.task = job.start.failure.task;
    failure.rank = job.start.failure.rank;
    record(failure);
  } else if (const auto* exit = std::get_if<action::Exit>(&one)) {
    record({.event = "exit", .exit_code = exit->code});
  }
}

void Timeline::record_signal(const char* event, int signal) {
  if (++signals_ > kMaxSignals) return;
  record({.event = event, .signal = proc::signal_name(signal)});
}

void Timeline::record_task(const char* event, const Job& job, std::uint32_t index, int signal) {
  const TaskRecord& task = job.records[index];
  record({.event = event,
          .task = task.name,
          .kind = kind_name(task.kind),
          .rank = rank_of(job, task),
          .incarnation = task.incarnation,
          .pid = task.pid,
          .signal = signal == 0 ? "" : proc::signal_name(signal)});
}

void Timeline::task_ended(const Job& job, std::uint32_t index) {
  const TaskRecord& ended = job.records[index];
  TimelineEvent end{.event = "end",
                    .task = ended.name,
                    .kind = kind_name(ended.kind),
                    .rank = rank_of(job, ended),
                    .incarnation = ended.incarnation,
                    .since_ms = ended.started_ms};
  if (ended.exit_status) {
    end.exit_code = ended.exit_status->exit_code();
    if (ended.exit_status->how == ExitStatus::How::kSignaled) {
      end.signal = proc::signal_name(ended.exit_status->value);
    }
  }
  if (ended.failure) end.text = to_line(ended.failure->error);
  record(std::move(end));
}

void Timeline::waits(const std::string& reason) {
  if (!open_ || reason == wait_) return;
  wait_ = reason;
  record({.event = reason.empty() ? "wait_over" : "wait", .text = reason});
}

void Timeline::stage(const Job& job, std::uint32_t index, const std::string& name,
                     std::int64_t since_ms) {
  if (!open_) return;
  record({.event = "stage",
          .task = job.records[index].name,
          .kind = kind_name(job.records[index].kind),
          .since_ms = since_ms,
          .text = name});
}

void Timeline::failure_output(const FailureDetail& failure) {
  if (!open_) return;
  TimelineEvent event{.event = "failure_cause", .task = failure.task, .rank = failure.rank};
  const bool caused = failure.cause && !failure.cause->line.empty();
  if (caused) {
    event.text = envgen::without_rank(failure.cause->line);
    if (!failure.cause->advice.empty()) event.text += "\nwhat to do: " + failure.cause->advice;
    record(event);
  }
  const bool traced = caused && !failure.cause->traceback.empty();
  event.event = "failure_output";
  event.text = base::joined(traced ? failure.cause->traceback : failure.last_lines, "\n");
  if (!event.text.empty()) record(event);
}

void Timeline::note(const char* event, std::string_view text, int rank) {
  if (!open_) return;
  record({.event = event, .rank = rank, .text = std::string(text)});
}

void Timeline::record(TimelineEvent event) {
  event.at_ms = sys::wall_ms();
  event.node = node_;
  events_.add(event_line(event));
}

// --- The copies ---

namespace {

base::Status copy_file(const std::string& from, const std::string& to,
                       const envgen::Identity* job) {
  const envgen::PathState file = sys::inspect(from, true);
  return sys::with_rights_of(job, to, {.make_parents = 0755}, [&](const sys::SafePath& place) {
    return sys::write_file_atomic(place, to, 0644, file.content);
  });
}

// Returns the name for a copy: "state.json", or "state-node1.json" if the job has several nodes.
std::string name_of_copy(const std::string& name, const envgen::Plan& plan) {
  if (plan.node_count <= 1) return name;
  const int node = plan.local_node ? plan.local_node->node_rank : 0;
  const std::size_t dot = name.rfind('.');
  return name.substr(0, dot) + "-node" + std::to_string(node) + name.substr(dot);
}

int copy_files(const std::string& run_dir, const std::string& directory, const envgen::Plan& plan) {
  const envgen::Identity* job = plan.sandbox.identity ? &*plan.sandbox.identity : nullptr;
  for (const std::string name : {kEventsFile, kStateFile, kPlanFile}) {
    const std::string from = run_dir + "/" + name;
    // Does not exist, such as plan.txt if no plan was made.
    if (::access(from.c_str(), F_OK) != 0) continue;
    auto status = copy_file(from, directory + "/" + name_of_copy(name, plan), job);
    if (status) continue;
    sys::log::warning("copying the timeline (--timeline): " + to_line(status.error()) +
                      ", ignoring");
    return 1;
  }
  return 0;
}

void copy_timeline(const std::string& run_dir, const std::string& directory,
                   const envgen::Plan& plan, std::int64_t most_ms,
                   const proc::SavedSignals& saved) {
  auto copier = fork_messenger("copying the timeline", saved,
                               [&](int) { return copy_files(run_dir, directory, plan); });
  if (!copier) return sys::log::warning(to_line(copier.error()) + ", ignoring");
  const std::int64_t until_ms = sys::monotonic_ms() + most_ms;
  if (sys::await_ready(copier->pipe.get(), POLLIN, until_ms)) return;
  ::kill(copier->pid, SIGKILL);
  sys::log::warning("copying the timeline (--timeline): " + directory +
                    " does not answer, ignoring");
}

}  // namespace

void Timeline::finish(const Job& job, const lifecycle::Machine& machine, const std::string& copy_to,
                      const proc::SavedSignals& saved) {
  if (!open_) return;
  waits("");
  set_node(0, job.host);  // has an effect only if no plan was ever made
  flush();
  open_ = false;
  if (copy_to.empty()) return;
  // Copy quickly after a stop signal, whose sender does not wait long.
  copy_timeline(dir_, copy_to, job.plan, machine.stop_signal() != 0 ? 1000 : 5000, saved);
}

}  // namespace engine
