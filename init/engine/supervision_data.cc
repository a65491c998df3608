// The tasks that prepare datasets: their start, their news, their end.

#include <signal.h>

#include <algorithm>
#include <string>

#include "init/engine/supervision.h"
#include "init/sys/log.h"

namespace engine {

using lifecycle::Ending;
using lifecycle::TaskRef;
namespace event = lifecycle::event;

namespace {

// Between the KILL of a child that does not keep to its time and going on without it.
constexpr std::int64_t kReapMs = 1000;
// A plan takes milliseconds, where its cluster is known.
constexpr std::int64_t kPlanMs = 5000;

}  // namespace

void Supervisor::start_copy(TaskRef task) {
  TaskRecord& record = job_.records[task.index];
  const auto which = static_cast<std::size_t>(record.process);
  auto pid = start_data(job_.data, which, setup_.request, setup_.saved);
  if (!pid) {
    record.ended_ms = sys::wall_ms();
    record.ending =
        settle(task.index, {Ending::How::kNotStarted, kOwnFailure}, to_line(pid.error()));
    if (hold_failure(task.index)) return;
    return post(event::TasksEnded{{{task, *record.ending}}});
  }
  record.pid = *pid;
  post(event::TaskStarted{task});
}

void Supervisor::read_data(std::uint32_t index) {
  DataRecord* data = data_of(job_, job_.records[index]);
  if (data != nullptr) take_heard(index, hear_data(*data));
}

void Supervisor::take_heard(std::uint32_t index, const DataHeard& heard) {
  for (const std::string& warning : heard.warnings) {
    sys::log::warning(warning);
    timeline_.note("data", warning);
    job_.data_warnings.push_back(warning);
  }
  for (const DataStage& stage : heard.stages) {
    timeline_.stage(job_, index, stage.name, stage.since_ms, stage.until_ms);
  }
  if (heard.any) publisher_.note_change();
}

// What its task has ended with. Of a copy that we have stopped nothing is to be said.
Ending Supervisor::settle(std::uint32_t index, const Ending& ending, const std::string& failure) {
  read_data(index);
  const TaskRecord& record = job_.records[index];
  DataRecord& data = *data_of(job_, record);
  if (record.told_to_stop && data.path.empty()) {
    data.socket.reset();
    data.overdue_ms = 0;
    return ending;
  }
  DataHeard heard;
  const Ending settled = settle_data(data, setup_.request.data, ending, failure, heard);
  take_heard(index, heard);
  timeline_.note("data", record.name + ": " + data.how);
  return settled;
}

// The hooks that run on a failure are the plan's: where it is still being made, the failure of a
// dataset waits for it, but not for as long as a cluster may take.
bool Supervisor::may_hold_failures() const {
  return machine_.phase() == lifecycle::Phase::kPreparing && resolver_ && !resolver_->at_end();
}

bool Supervisor::hold_failure(std::uint32_t index) {
  const TaskRecord& record = job_.records[index];
  if (!record.ending || record.ending->ok() || !may_hold_failures()) return false;
  data_of(job_, record)->held_ms = sys::monotonic_ms() + kPlanMs;
  return true;
}

void Supervisor::tell_held_failures() {
  const bool due = !may_hold_failures();
  for (std::uint32_t i = 0; i < job_.records.size(); ++i) {
    const TaskRecord& record = job_.records[i];
    DataRecord* data = data_of(job_, record);
    if (data == nullptr || data->held_ms == 0) continue;
    if (!due && sys::monotonic_ms() < data->held_ms) continue;
    data->held_ms = 0;
    post(event::TasksEnded{{{{i, record.incarnation}, *record.ending}}});
  }
}

// A child that does not end in time is killed; one that hangs in the kernel is left behind.
void Supervisor::tend_data() {
  tell_held_failures();
  const std::int64_t now_ms = sys::monotonic_ms();
  for (std::uint32_t i = 0; i < job_.records.size(); ++i) {
    TaskRecord& record = job_.records[i];
    DataRecord* data = data_of(job_, record);
    if (data == nullptr || data->overdue_ms == 0 || now_ms < data->overdue_ms) continue;
    if (record.pid > 0 && !data->killed) {
      data->killed = true;
      data->overdue_ms = now_ms + kReapMs;
      ::kill(record.pid, SIGKILL);
      continue;
    }
    job_.helpers.push_back(record.pid);
    record.pid = 0;
    record.ended_ms = sys::wall_ms();
    record.ending = settle(i, {Ending::How::kSignaled, SIGKILL});
    if (hold_failure(i)) continue;
    post(event::TasksEnded{{{{i, record.incarnation}, *record.ending}}});
  }
}

std::optional<std::int64_t> Supervisor::data_deadline() const {
  std::optional<std::int64_t> first;
  const std::int64_t now_ms = sys::monotonic_ms();
  for (const DataRecord& data : job_.data) {
    const std::int64_t held_ms =
        may_hold_failures() ? data.held_ms : std::min(data.held_ms, now_ms);
    for (const std::int64_t due_ms : {data.overdue_ms, held_ms}) {
      if (due_ms > 0) first = std::min(first.value_or(due_ms), due_ms);
    }
  }
  return first;
}

}  // namespace engine
