#include "init/engine/report/timeline.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <variant>

#include "init/engine/workers/messages.h"
#include "init/sys/as_user.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"
#include "init/sys/log.h"
#include "init/sys/reach.h"

namespace engine {
namespace {

namespace action = lifecycle::action;
namespace event = lifecycle::event;
using lifecycle::Ending;

constexpr off_t kMostBytes = off_t{4} << 20;
// Someone may send signals for weeks.
constexpr int kMostSignals = 2000;

// The threads of a trace: what tasks are not comes first.
constexpr std::uint32_t kPhaseThread = 0;
constexpr std::uint32_t kWaits = 1;
constexpr std::uint32_t kFirstTask = 2;

bool write_at(int fd, std::string_view bytes, off_t at) {
  const ssize_t count = ::pwrite(fd, bytes.data(), bytes.size(), at);
  if (count >= 0 && count < static_cast<ssize_t>(bytes.size())) errno = ENOSPC;
  return count == static_cast<ssize_t>(bytes.size());
}

void set_ending(const TaskRecord& record, int* exit_code, std::string* signal) {
  if (!record.ending) return;
  *exit_code = record.ending->exit_code();
  if (record.ending->how == Ending::How::kSignaled) {
    *signal = proc::signal_name(record.ending->value);
  }
}

int rank_of(const Job& job, const TaskRecord& record) {
  const envgen::Process* process = planned(job, record);
  return process == nullptr ? -1 : process->rank;
}

}  // namespace

// --- A file ---

void RecordFile::open(const std::string& path, std::string_view head, std::string_view between,
                      std::string_view tail) {
  path_ = path;
  between_ = between;
  tail_ = tail;
  file_.reset(::open(path.c_str(),
                     O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                     0644));
  if (!file_.valid()) return say_lost(errno);
  end_ = static_cast<off_t>(head.size());
  if (write_at(file_.get(), std::string(head) + std::string(tail), 0)) return;
  say_lost(errno);
  file_.reset();
}

// In one write. Where there is no room, what was there is whole again.
void RecordFile::add(std::string_view record) {
  if (!file_.valid()) return;
  std::string text(empty_ ? std::string_view() : between_);
  text += record;
  const auto size = static_cast<off_t>(text.size());
  if (end_ + size > kMostBytes) {
    sys::log::warning(path_ + " is as large as it gets, and ends here");
    return file_.reset();
  }
  text += tail_;
  if (write_at(file_.get(), text, end_)) {
    end_ += size;
    empty_ = false;
    lost_ = false;
    return;
  }
  const int error = errno;
  write_at(file_.get(), tail_, end_);
  if (::ftruncate(file_.get(), end_ + static_cast<off_t>(tail_.size())) != 0) file_.reset();
  say_lost(error);
}

void RecordFile::say_lost(int error) {
  if (std::exchange(lost_, true)) return;
  sys::log::warning("recording the timeline: " + path_ + ": " + sys::errno_text(error) +
                    "; it has gaps, ignoring");
}

// --- What happens ---

void Timeline::open(const std::string& run_dir) {
  if (run_dir.empty()) return;
  open_ = true;
  dir_ = run_dir;
  phase_since_ms_ = sys::wall_ms();
  events_.open(run_dir + "/events.jsonl", "", "", "");
  trace_.open(run_dir + "/trace.json", kTraceHead, kTraceBetween, kTraceTail);
  record({.event = "begin"});
}

void Timeline::set_node(int rank, const std::string& host) {
  if (!open_ || node_ >= 0) return;
  node_ = rank;
  const std::string name = "node " + std::to_string(rank) + (host.empty() ? "" : " " + host);
  trace({.phase = 'M', .name = "process_name", .text = name});
  name_thread(kPhaseThread, "phases");
  for (const TraceEvent& one : std::exchange(early_, {})) trace(one);
}

void Timeline::stepped(const lifecycle::Event& event, const std::vector<lifecycle::Action>& actions,
                       lifecycle::Phase before, const Job& job, const lifecycle::Machine& machine) {
  if (!open_) return;
  record_event(event, job);
  if (machine.phase() != before) {
    const std::int64_t now_ms = sys::wall_ms();
    span({.name = lifecycle::phase_name(before), .category = "phase"},
         std::exchange(phase_since_ms_, now_ms), now_ms);
    record({.event = "phase", .text = lifecycle::phase_name(machine.phase())});
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
    moment("checkpoint requested", "checkpoint", kPhaseThread, "");
  } else if (const auto* changed = std::get_if<event::MembershipChanged>(&event)) {
    note("membership_changed", changed->elsewhere ? "on another node" : "");
  }
}

void Timeline::record_action(const lifecycle::Action& one, const Job& job) {
  if (const auto* start = std::get_if<action::Start>(&one)) {
    record_task("start", job, start->task.index);
  } else if (const auto* signal = std::get_if<action::Signal>(&one)) {
    if (++signals_ > kMostSignals) return;
    record_task("signal_sent", job, signal->task.index, signal->signal);
    moment(proc::signal_name(signal->signal).c_str(), "signal", kFirstTask + signal->task.index,
           "sent");
  } else if (const auto* sweep = std::get_if<action::SweepAdopted>(&one)) {
    if (sweep->signal != 0) record_signal("sweep", sweep->signal);
  } else if (std::holds_alternative<action::Report>(one) && !job.first_failure.empty()) {
    TimelineEvent failure{.event = "first_failure", .text = job.first_failure};
    failure.task = job.failure.task;
    failure.rank = job.failure.rank;
    record(failure);
    moment("first failure", "failure", kPhaseThread, job.first_failure);
  } else if (const auto* exit = std::get_if<action::Exit>(&one)) {
    record({.event = "exit", .exit_code = exit->code});
  }
}

void Timeline::record_signal(const char* event, int signal) {
  if (++signals_ > kMostSignals) return;
  const std::string name = proc::signal_name(signal);
  record({.event = event, .signal = name});
  moment(name.c_str(), "signal", kPhaseThread, event);
}

void Timeline::record_task(const char* event, const Job& job, std::uint32_t index, int signal) {
  const TaskRecord& record_of_it = job.records[index];
  const std::string name = signal == 0 ? "" : proc::signal_name(signal);
  record({.event = event,
          .task = record_of_it.name,
          .rank = rank_of(job, record_of_it),
          .incarnation = record_of_it.incarnation,
          .pid = record_of_it.pid,
          .signal = name});
}

void Timeline::task_ended(const Job& job, std::uint32_t index) {
  const TaskRecord& ended = job.records[index];
  TraceEvent life{.name = ended.name, .category = "task"};
  life.thread = kFirstTask + index;
  life.incarnation = ended.incarnation;
  life.rank = rank_of(job, ended);
  set_ending(ended, &life.exit_code, &life.signal);
  if (ended.failure) life.text = to_line(ended.failure->error);
  record({.event = "end",
          .task = ended.name,
          .rank = life.rank,
          .incarnation = ended.incarnation,
          .exit_code = life.exit_code,
          .signal = life.signal,
          .text = life.text});
  name_thread(life.thread, ended.name);
  span(std::move(life), ended.started_ms, ended.ended_ms);
}

void Timeline::waits(const std::string& reason) {
  if (!open_ || reason == wait_) return;
  const std::int64_t now_ms = sys::wall_ms();
  if (!wait_.empty()) {
    name_thread(kWaits, "waits");
    span({.name = "wait", .category = "wait", .thread = kWaits, .text = wait_}, wait_since_ms_,
         now_ms);
  }
  wait_ = reason;
  wait_since_ms_ = now_ms;
  record({.event = reason.empty() ? "wait_over" : "wait", .text = reason});
}

void Timeline::stage(const Job& job, std::uint32_t index, const std::string& name,
                     std::int64_t since_ms, std::int64_t until_ms) {
  if (!open_) return;
  const std::uint32_t thread = kFirstTask + index;
  name_thread(thread, job.records[index].name);
  span({.name = name, .category = "data", .thread = thread}, since_ms, until_ms);
}

void Timeline::note(const char* event, std::string_view text, int rank) {
  if (!open_) return;
  record({.event = event, .rank = rank, .text = text});
  moment(event, "watch", kPhaseThread, std::string(text));
}

// --- How it is written ---

void Timeline::name_thread(std::uint32_t thread, const std::string& name) {
  if (thread >= threads_.size()) threads_.resize(thread + 1);
  if (threads_[thread] == name) return;
  threads_[thread] = name;
  trace({.phase = 'M', .name = "thread_name", .thread = thread, .text = name});
}

void Timeline::record(TimelineEvent event) {
  event.at_ms = sys::wall_ms();
  event.node = node_;
  events_.add(event_line(event));
}

void Timeline::trace(const TraceEvent& event) {
  if (node_ < 0) {
    early_.push_back(event);
  } else {
    trace_.add(trace_event(event, node_));
  }
}

void Timeline::moment(const char* name, const char* category, std::uint32_t thread,
                      std::string text) {
  TraceEvent event{.phase = 'i', .name = name, .category = category};
  event.start_ms = sys::wall_ms();
  event.thread = thread;
  event.text = std::move(text);
  trace(event);
}

void Timeline::span(TraceEvent event, std::int64_t start_ms, std::int64_t end_ms) {
  event.start_ms = start_ms;
  event.end_ms = end_ms;
  trace(event);
}

// --- Its end ---

namespace {

envgen::Status copy_file(const std::string& from, const std::string& to,
                         const envgen::Identity* job) {
  const envgen::PathState file = sys::inspect(from, true);
  return sys::with_rights_of(job, to, {.make_parents = 0755}, [&](const sys::Reached& place) {
    return sys::write_file_atomic(place, to, 0644, file.content);
  });
}

int copy_both(const std::string& run_dir, const std::string& directory, const envgen::Plan& plan) {
  const std::string to = directory + "/";
  const int node = plan.local_node ? plan.local_node->node_rank : 0;
  const std::string suffix = plan.node_count > 1 ? "-node" + std::to_string(node) : "";
  const envgen::Identity* job = plan.sandbox.identity ? &*plan.sandbox.identity : nullptr;
  auto status = copy_file(run_dir + "/events.jsonl", to + "events" + suffix + ".jsonl", job);
  if (status) {
    status = copy_file(run_dir + "/trace.json", to + "trace" + suffix + ".json", job);
  }
  if (status) return 0;
  sys::log::warning("copying the timeline (--timeline): " + to_line(status.error()) + ", ignoring");
  return 1;
}

void copy_timeline(const std::string& run_dir, const std::string& directory,
                   const envgen::Plan& plan, std::int64_t most_ms,
                   const proc::SavedSignals& saved) {
  auto copier = fork_messenger("copying the timeline", saved,
                               [&](int) { return copy_both(run_dir, directory, plan); });
  if (!copier) return sys::log::warning(to_line(copier.error()) + ", ignoring");
  const std::int64_t until_ms = sys::monotonic_ms() + most_ms;
  pollfd end{copier->pipe.get(), POLLIN, 0};
  while (true) {
    const std::int64_t left_ms = until_ms - sys::monotonic_ms();
    const int ready = left_ms <= 0 ? 0 : ::poll(&end, 1, static_cast<int>(left_ms));
    if (ready > 0) return;
    if (ready < 0 && errno == EINTR) continue;
    ::kill(copier->pid, SIGKILL);
    return sys::log::warning("copying the timeline (--timeline): " + directory +
                             " does not answer, ignoring");
  }
}

}  // namespace

void Timeline::finish(const Job& job, const lifecycle::Machine& machine, const std::string& copy_to,
                      const proc::SavedSignals& saved) {
  if (!open_) return;
  waits("");
  set_node(0, job.host);  // where there never was a plan
  const std::int64_t now_ms = sys::wall_ms();
  for (std::uint32_t i = 0; i < job.records.size() && i < machine.tasks().size(); ++i) {
    const TaskRecord& left = job.records[i];
    if (!machine.tasks()[i].live() || left.started_ms == 0) continue;
    name_thread(kFirstTask + i, left.name);
    span({.name = left.name,
          .category = "task",
          .thread = kFirstTask + i,
          .incarnation = left.incarnation,
          .text = "not ended"},
         left.started_ms, now_ms);
  }
  span({.name = lifecycle::phase_name(machine.phase()), .category = "phase"}, phase_since_ms_,
       now_ms);
  open_ = false;
  if (copy_to.empty()) return;
  // Whoever has asked for the end will not wait long.
  copy_timeline(dir_, copy_to, job.plan, machine.stop_signal() != 0 ? 1000 : 5000, saved);
}

}  // namespace engine
