#include "init/engine/data/data.h"

#include <array>
#include <utility>

#include "init/copy/progress.h"
#include "init/engine/data/data_worker.h"
#include "init/proc/spawn.h"
#include "init/sys/clock.h"
#include "init/sys/log.h"

namespace engine {
namespace {

using lifecycle::Ending;
using State = DataRecord::State;

constexpr int kOwnFailure = 125;
constexpr int kTimedOut = 124;
// Of one look, so that a child gone mad cannot keep PID 1 from its signals.
constexpr int kMostPackets = 64;
// The child keeps to its time by itself.
constexpr std::int64_t kOverdueMs = 3000;

std::string name_of(const DataRecord& data) { return "data " + data.dataset.name; }

std::string stage_name(const DataProgress& progress) {
  return progress.waiting ? "waiting" : copy::phase_name(static_cast<copy::Phase>(progress.phase));
}

void end_stage(DataRecord& data, DataHeard& heard) {
  const std::int64_t now_ms = sys::wall_ms();
  heard.stages.push_back({stage_name(data.progress), data.stage_since_ms, now_ms});
  data.stage_since_ms = now_ms;
}

void take_progress(DataRecord& data, const DataProgress& progress, DataHeard& heard) {
  if (progress.waiting && !data.progress.waiting) {
    sys::log::info(name_of(data) + ": another job copies it, waiting");
  }
  if (stage_name(progress) != stage_name(data.progress)) end_stage(data, heard);
  data.progress = progress;
  data.window.add(sys::monotonic_ms(), progress.bytes, progress.entries);
}

void take(DataRecord& data, DataNews news, sys::Fd lease, DataHeard& heard) {
  heard.any = true;
  switch (news.kind) {
    case DataNews::Kind::kProgress:
      return take_progress(data, news.progress, heard);
    case DataNews::Kind::kWarning:
      heard.warnings.push_back(name_of(data) + ": " + news.text);
      return;
    case DataNews::Kind::kReady:
      end_stage(data, heard);
      data.progress = news.progress;
      data.path = std::move(news.path);
      data.how = std::move(news.text);
      data.lease = std::move(lease);
      data.overdue_ms = 0;
      return;
    case DataNews::Kind::kFailed:
    case DataNews::Kind::kMissing:
      data.missing = news.kind == DataNews::Kind::kMissing;
      end_stage(data, heard);
      data.how = std::move(news.text);
      data.exit_code = news.exit_code;
      return;
  }
}

std::string how_ended(const DataRecord& data, const Ending& ending) {
  if (data.killed) return "it did not end in time (--data-timeout) and was killed";
  if (ending.how == Ending::How::kSignaled) {
    return "the copying process was killed by " + std::string(proc::signal_name(ending.value));
  }
  return "the copying process exited with code " + std::to_string(ending.value);
}

std::string size_of(const DataProgress& progress) {
  return std::to_string(progress.entries) + (progress.entries == 1 ? " entry, " : " entries, ") +
         envgen::size_text(progress.bytes);
}

}  // namespace

std::vector<DataRecord> data_records(const envgen::DataRequest& request) {
  std::vector<DataRecord> records;
  auto datasets = envgen::datasets_of(request);  // an error is the command line's to say
  if (!datasets) return records;
  for (envgen::Dataset& dataset : *datasets) {
    records.emplace_back().dataset = std::move(dataset);
  }
  return records;
}

envgen::Result<pid_t> start_data(std::vector<DataRecord>& data, std::size_t which,
                                 const envgen::Request& request, const proc::SavedSignals& saved) {
  DataRecord& record = data[which];
  record.state = State::kRunning;
  record.began_ms = record.stage_since_ms = sys::wall_ms();
  auto socket = make_data_socket();
  if (!socket) {
    return envgen::fail("starting to copy data", record.dataset.source, "no socket",
                        "raise the limit on open files");
  }
  const DataOrder order{
      .dataset = record.dataset, .request = request, .alone = data.size() == 1, .saved = saved};
  const int theirs = socket->theirs.get();
  auto pid = proc::fork_worker(saved, theirs, [&] { return prepare_data(order, theirs); });
  if (!pid) return pid;
  record.socket = std::move(socket->ours);
  const std::int64_t timeout_ms = request.data.timeout_ms;
  if (timeout_ms > 0) record.overdue_ms = sys::monotonic_ms() + timeout_ms + kOverdueMs;
  sys::log::info(name_of(record) + ": preparing " + record.dataset.source);
  return pid;
}

DataHeard hear_data(DataRecord& data) {
  DataHeard heard;
  for (int i = 0; i < kMostPackets && data.socket.valid(); ++i) {
    DataMail mail = receive_data_news(data.socket.get());
    if (mail.damaged) data.socket.reset();
    if (!mail.news) break;
    take(data, std::move(*mail.news), std::move(mail.lease), heard);
  }
  return heard;
}

lifecycle::Ending settle_data(DataRecord& data, const envgen::DataRequest& request,
                              const Ending& ending, const std::string& failure, DataHeard& heard) {
  data.socket.reset();
  data.ended_ms = sys::wall_ms();
  data.overdue_ms = 0;
  if (!data.path.empty()) {
    data.state = State::kReady;
    sys::log::info(name_of(data) + ": " + data.how + " in " +
                   envgen::time_text(data.ended_ms - data.began_ms) + ", " +
                   size_of(data.progress) + ", at " + data.path);
    return {Ending::How::kExited, 0};
  }
  data.state = State::kFailed;
  if (data.how.empty()) {
    data.how = failure.empty() ? how_ended(data, ending) : failure;
    data.exit_code = data.killed ? kTimedOut : kOwnFailure;
  }
  if (data.missing || request.on_failure == envgen::OnDataFailure::kFail) {
    return {Ending::How::kExited, data.exit_code};
  }
  data.path = data.dataset.source;
  heard.warnings.push_back(name_of(data) + ": " + data.how + "; the job reads " + data.path +
                           " instead (--data-on-failure fail ends it)");
  return {Ending::How::kExited, 0};
}

void add_data_env(const std::vector<DataRecord>& data, envgen::Environ& env) {
  for (const DataRecord& record : data) {
    if (!record.path.empty()) env.set(record.dataset.variable, record.path);
  }
}

DataReport data_report(const DataRecord& data) {
  constexpr std::array kStates = {"idle", "", "ready", "failed"};
  DataReport report;
  report.name = data.dataset.name;
  report.variable = data.dataset.variable;
  report.source = data.dataset.source;
  report.path = data.path;
  report.state = data.state == State::kRunning ? stage_name(data.progress)
                                               : kStates.at(static_cast<std::size_t>(data.state));
  report.how = data.how;
  report.entries = static_cast<std::int64_t>(data.progress.entries);
  report.bytes = static_cast<std::int64_t>(data.progress.bytes);
  report.total_entries = static_cast<std::int64_t>(data.progress.total_entries);
  report.total_bytes = static_cast<std::int64_t>(data.progress.total_bytes);
  report.waiting = data.progress.waiting;
  if (data.state == State::kRunning) {
    report.bytes_per_second = static_cast<std::int64_t>(data.window.rate().bytes);
  }
  report.began_ms = data.began_ms;
  report.ended_ms = data.ended_ms;
  return report;
}

}  // namespace engine
