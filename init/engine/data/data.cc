#include "init/engine/data/data.h"

#include <signal.h>

#include <utility>

#include "base/exit_codes.h"
#include "init/copy/copy_progress.h"
#include "init/engine/data/data_worker.h"
#include "init/engine/report/timeline.h"
#include "init/proc/spawn.h"
#include "init/sys/clock.h"
#include "init/sys/log.h"

namespace engine {
namespace {

using lifecycle::Ending;
using State = DataRecord::State;

// Of one look, so that a child gone mad cannot keep PID 1 from its signals.
constexpr int kMostPackets = 64;
// The child keeps to its time by itself.
constexpr std::int64_t kOverdueMs = 3000;
// Between the KILL of a child that does not keep to its time and going on without it.
constexpr std::int64_t kReapMs = 1000;
// A plan takes milliseconds, where its cluster is known.
constexpr std::int64_t kPlanMs = 5000;

std::string size_of(const DataProgress& progress) {
  return std::to_string(progress.entries) + (progress.entries == 1 ? " entry, " : " entries, ") +
         envgen::size_text(progress.bytes);
}

}  // namespace

DataRecord& DataTask::data() const {
  return context_.job.data[static_cast<std::size_t>(task().process)];
}

envgen::Status DataTask::start() {
  DataRecord& record = data();
  record.state = State::kRunning;
  record.began_ms = stage_since_ms_ = sys::wall_ms();
  // Forget a copy of the previous start, which was not complete.
  record.how.clear();
  record.missing = killed_ = false;
  record.ended_ms = 0;
  record.progress = {};
  exit_code_ = 0;
  held_ms_.reset();
  auto socket = make_data_socket();
  if (!socket) {
    return envgen::fail("starting to copy data", record.dataset.source, "no socket",
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
  for (int i = 0; i < kMostPackets && socket_.valid(); ++i) {
    DataMail mail = receive_data_news(socket_.get());
    if (mail.damaged) socket_.reset();
    if (!mail.news) break;
    take(std::move(*mail.news), std::move(mail.lease));
  }
}

void DataTask::take(DataNews news, sys::Fd lease) {
  DataRecord& record = data();
  context_.note_change();
  switch (news.kind) {
    case DataNews::Kind::kProgress:
      return take_progress(news.progress);
    case DataNews::Kind::kWarning:
      return warn(task().name + ": " + news.text);
    case DataNews::Kind::kReady:
      end_stage();
      record.progress = news.progress;
      record.path = std::move(news.path);
      record.how = std::move(news.text);
      record.lease = std::move(lease);
      deadline_ms_.reset();
      return;
    case DataNews::Kind::kFailed:
    case DataNews::Kind::kMissing:
      record.missing = news.kind == DataNews::Kind::kMissing;
      end_stage();
      record.how = std::move(news.text);
      exit_code_ = news.exit_code;
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

// Of a copy that we have stopped nothing is to be said.
bool DataTask::settle(Ending& ending, const std::string& failure) {
  socket_.reset();
  deadline_ms_.reset();
  if (!task().stop_sent || !data().path.empty()) {
    ending = outcome(ending, failure);
    context_.timeline.note("data", task().name + ": " + data().how);
  }
  if (ending.ok() || !may_hold()) return false;
  held_ms_ = sys::monotonic_ms() + kPlanMs;
  return true;
}

Ending DataTask::outcome(const Ending& ending, const std::string& failure) {
  const envgen::DataRequest& request = context_.request.data;
  DataRecord& record = data();
  record.ended_ms = sys::wall_ms();
  if (!record.path.empty()) {
    record.state = State::kReady;
    sys::log::info(task().name + ": " + record.how + " in " +
                   envgen::time_text(record.ended_ms - record.began_ms) + ", " +
                   size_of(record.progress) + ", at " + record.path);
    return {Ending::How::kExited, 0};
  }
  record.state = State::kFailed;
  if (record.how.empty()) {
    record.how = failure.empty() ? how_ended(ending) : failure;
    exit_code_ = killed_ ? exit_code::kUnavailable : exit_code::kOwnFailure;
  }
  if (record.missing || request.on_failure == envgen::OnDataFailure::kFail) {
    return {Ending::How::kExited, exit_code_};
  }
  record.path = record.dataset.source;
  warn(task().name + ": " + record.how + "; the job reads " + record.path +
       " instead (--data-on-failure fail ends it)");
  return {Ending::How::kExited, 0};
}

std::string DataTask::how_ended(const Ending& ending) const {
  if (killed_) return "it did not end in time (--data-timeout) and was killed";
  if (ending.how == Ending::How::kSignaled) {
    return "the copying process was killed by " + std::string(proc::signal_name(ending.value));
  }
  return "the copying process exited with code " + std::to_string(ending.value);
}

bool DataTask::may_hold() const {
  return context_.machine.phase() == lifecycle::Phase::kPreparing && resolver_.channel() >= 0;
}

void DataTask::post_held() {
  if (!held_ms_ || (may_hold() && sys::monotonic_ms() < *held_ms_)) return;
  held_ms_.reset();
  context_.post(lifecycle::event::TasksEnded{{{{index_, task().incarnation}, *task().ending}}});
}

std::optional<std::int64_t> DataTask::deadline_ms() const {
  if (!held_ms_) return deadline_ms_;
  return may_hold() ? held_ms_ : sys::monotonic_ms();
}

void DataTask::tend(std::int64_t now_ms) {
  post_held();
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
  Ending ending{Ending::How::kSignaled, SIGKILL};
  const bool held = settle(ending);
  record.ending = ending;
  if (!held) context_.post(lifecycle::event::TasksEnded{{{{index_, record.incarnation}, ending}}});
}

}  // namespace engine
