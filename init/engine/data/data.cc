#include "init/engine/data/data.h"

#include <signal.h>

#include <utility>

#include "base/exit_codes.h"
#include "base/text.h"
#include "init/copy/copy_progress.h"
#include "init/engine/data/data_worker.h"
#include "init/engine/report/timeline.h"
#include "init/proc/spawn.h"
#include "init/sys/clock.h"
#include "init/sys/log.h"

namespace engine {
namespace {

using lifecycle::ExitStatus;
using State = DataRecord::State;

// The maximum of packets that one read() handles: a misbehaving child must not keep PID 1 from its
// signals.
constexpr int kMaxPackets = 64;
// PID 1 kills the child this time after --data-timeout. Normally the child has then ended by its
// own time-out.
constexpr std::int64_t kOverdueMs = 3000;
// The time that PID 1 waits for an overdue child to exit after SIGKILL.
constexpr std::int64_t kReapMs = 1000;
// The maximum time that a failure is held back while the plan is made. A plan takes milliseconds if
// its cluster is known.
constexpr std::int64_t kPlanMs = 5000;

std::string size_of(const DataProgress& progress) {
  return std::to_string(progress.entries) + (progress.entries == 1 ? " entry, " : " entries, ") +
         base::size_text(progress.bytes);
}

}  // namespace

DataRecord& DataTask::data() const {
  return context_.job.data[static_cast<std::size_t>(task().process)];
}

base::Status DataTask::start() {
  DataRecord& record = data();
  record.state = State::kRunning;
  record.began_ms = stage_since_ms_ = sys::wall_ms();
  // Clear what a copy has left that the previous start did not complete.
  record.how.clear();
  record.missing = killed_ = false;
  record.ended_ms = 0;
  record.progress = {};
  exit_code_ = 0;
  delayed_ms_.reset();
  auto socket = make_data_socket();
  if (!socket) {
    return base::fail("starting to copy data", record.dataset.source, "no socket",
                      "raise the limit on open files");
  }
  const DataOrder order{
      .dataset = record.dataset, .request = context_.request, .saved = context_.saved};
  const int theirs = socket->theirs.get();
  auto pid = proc::fork_worker(context_.saved, theirs, [&] { return prepare_data(order, theirs); });
  if (!pid) return std::unexpected(std::move(pid.error()));
  adopt(*pid);
  socket_ = std::move(socket->ours);
  const std::int64_t timeout_ms = context_.request.data.timeout_ms;
  if (timeout_ms > 0) deadline_ms_ = sys::monotonic_ms() + timeout_ms + kOverdueMs;
  sys::log::info(task().name + ": preparing " + record.dataset.source);
  return {};
}

void DataTask::read() {
  for (int i = 0; i < kMaxPackets && socket_.valid(); ++i) {
    ReceivedData received = receive_data_message(socket_.get());
    if (received.damaged) socket_.reset();
    if (!received.message) break;
    take(std::move(*received.message), std::move(received.lease));
  }
}

void DataTask::take(DataMessage message, sys::Fd lease) {
  DataRecord& record = data();
  context_.note_change();
  switch (message.kind) {
    case DataMessage::Kind::kProgress:
      return take_progress(message.progress);
    case DataMessage::Kind::kWarning:
      return warn(task().name + ": " + message.text);
    case DataMessage::Kind::kReady:
      end_stage();
      record.progress = message.progress;
      record.path = std::move(message.path);
      record.how = std::move(message.text);
      record.lease = std::move(lease);
      deadline_ms_.reset();
      return;
    case DataMessage::Kind::kFailed:
    case DataMessage::Kind::kMissing:
      record.missing = message.kind == DataMessage::Kind::kMissing;
      end_stage();
      record.how = std::move(message.text);
      exit_code_ = message.exit_code;
      return;
  }
}

void DataTask::take_progress(const DataProgress& progress) {
  DataRecord& record = data();
  if (progress.waiting && !record.progress.waiting) {
    sys::log::info(task().name + ": another job copies it, waiting");
  }
  if (stage_name(progress) != stage_name(record.progress)) end_stage();
  record.progress = progress;
  record.window.add(sys::monotonic_ms(), progress.bytes, progress.entries);
}

void DataTask::end_stage() {
  context_.timeline.stage(context_.job, index_, stage_name(data().progress), stage_since_ms_);
  stage_since_ms_ = sys::wall_ms();
}

void DataTask::warn(const std::string& text) {
  sys::log::warning(text);
  context_.timeline.note("data", text);
  context_.job.data_warnings.push_back(text);
}

// If trainit stopped the task before its data was ready, nothing is reported about it.
bool DataTask::settle(ExitStatus& exit_status, const std::string& failure) {
  socket_.reset();
  deadline_ms_.reset();
  if (!task().stop_sent || !data().path.empty()) {
    exit_status = outcome(exit_status, failure);
    context_.timeline.note("data", task().name + ": " + data().how);
  }
  if (exit_status.ok() || !may_delay()) return false;
  delayed_ms_ = sys::monotonic_ms() + kPlanMs;
  return true;
}

ExitStatus DataTask::outcome(const ExitStatus& exit_status, const std::string& failure) {
  const envgen::DataRequest& request = context_.request.data;
  DataRecord& record = data();
  record.ended_ms = sys::wall_ms();
  if (!record.path.empty()) {
    record.state = State::kReady;
    sys::log::info(task().name + ": " + record.how + " in " +
                   copy::time_text(record.ended_ms - record.began_ms) + ", " +
                   size_of(record.progress) + ", at " + record.path);
    return {ExitStatus::How::kExited, 0};
  }
  record.state = State::kFailed;
  if (record.how.empty()) {
    record.how = failure.empty() ? how_ended(exit_status) : failure;
    exit_code_ = killed_ ? exit_code::kUnavailable : exit_code::kOwnFailure;
  }
  if (record.missing || request.on_failure == envgen::OnDataFailure::kFail) {
    return {ExitStatus::How::kExited, exit_code_};
  }
  record.path = record.dataset.source;
  warn(task().name + ": " + record.how + "; the job reads " + record.path +
       " instead (--data-on-failure fail ends it)");
  return {ExitStatus::How::kExited, 0};
}

std::string DataTask::how_ended(const ExitStatus& exit_status) const {
  if (killed_) return "it did not end in time (--data-timeout) and was killed";
  if (exit_status.how == ExitStatus::How::kSignaled) {
    return "the copying process was killed by " + std::string(proc::signal_name(exit_status.value));
  }
  return "the copying process exited with code " + std::to_string(exit_status.value);
}

bool DataTask::may_delay() const {
  return context_.machine.phase() == lifecycle::Phase::kPreparing && resolver_.channel() >= 0;
}

void DataTask::post_delayed() {
  if (!delayed_ms_ || (may_delay() && sys::monotonic_ms() < *delayed_ms_)) return;
  delayed_ms_.reset();
  context_.post(
      lifecycle::event::TasksEnded{{{{index_, task().incarnation}, *task().exit_status}}});
}

std::optional<std::int64_t> DataTask::deadline_ms() const {
  if (!delayed_ms_) return deadline_ms_;
  return may_delay() ? delayed_ms_ : sys::monotonic_ms();
}

void DataTask::tend(std::int64_t now_ms) {
  post_delayed();
  if (!deadline_ms_ || now_ms < *deadline_ms_) return;
  if (!std::exchange(killed_, true) && pid_ > 0) {
    deadline_ms_ = now_ms + kReapMs;
    ::kill(pid_, SIGKILL);
    return;
  }
  context_.job.helpers.push_back(pid_);
  read();
  adopt(0);
  TaskRecord& record = task();
  record.pid = 0;
  record.ended_ms = sys::wall_ms();
  ExitStatus exit_status{ExitStatus::How::kSignaled, SIGKILL};
  const bool held = settle(exit_status);
  record.exit_status = exit_status;
  if (!held)
    context_.post(lifecycle::event::TasksEnded{{{{index_, record.incarnation}, exit_status}}});
}

}  // namespace engine
