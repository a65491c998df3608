#include "init/engine/state/data_record.h"

#include <array>
#include <utility>

#include "init/copy/progress.h"

namespace engine {

using State = DataRecord::State;

std::vector<DataRecord> data_records(const envgen::DataRequest& request) {
  std::vector<DataRecord> records;
  // An error was reported when the command line was parsed.
  auto datasets = envgen::datasets_of(request);
  if (!datasets) return records;
  for (envgen::Dataset& dataset : *datasets) {
    records.emplace_back().dataset = std::move(dataset);
  }
  return records;
}

std::string stage_name(const DataProgress& progress) {
  return progress.waiting ? "waiting" : copy::phase_name(static_cast<copy::Phase>(progress.phase));
}

copy::CopyPlaces places_of(const envgen::Dataset& dataset) {
  return {.source = dataset.source,
          .copy = dataset.destination.empty() ? "the cache" : dataset.destination};
}

void add_data_env(const std::vector<DataRecord>& data, base::Environ& env) {
  for (const DataRecord& record : data) {
    if (!record.path.empty()) env.set(record.dataset.variable, record.path);
  }
}

namespace {

copy::CopyProgress progress_of(const DataRecord& data) {
  const copy::Stall stall{.side = static_cast<copy::CopySide>(data.progress.stalled_side),
                          .for_ms = static_cast<std::int64_t>(data.progress.stalled_ms)};
  return {.phase = copy::phase_name(static_cast<copy::Phase>(data.progress.phase)),
          .waiting = data.progress.waiting,
          .entries = data.progress.entries,
          .bytes = data.progress.bytes,
          .total_entries = data.progress.total_entries,
          .total_bytes = data.progress.total_bytes,
          .stalled = stall_text(stall, places_of(data.dataset))};
}

}  // namespace

std::string data_bar(const DataRecord& data, int columns) {
  return progress_bar(progress_of(data), data.window.rate(), columns);
}

int data_percent(const DataRecord& data) { return percent_done(progress_of(data)); }

DataReport data_report(const DataRecord& data) {
  constexpr auto kStates = std::to_array({"idle", "", "ready", "failed"});
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
