#pragma once
// The record that PID 1 keeps of each dataset of the job (--data): the progress of its copy, and
// where the data is. The lease in it protects a copy in the node's cache from deletion while the
// job lives.

#include <cstdint>
#include <string>
#include <vector>

#include "base/environ.h"
#include "base/fields.h"
#include "envgen/plan/request.h"
#include "init/copy/copy_progress.h"
#include "init/copy/stall.h"
#include "init/engine/state/state.h"
#include "init/sys/fd.h"

namespace engine {

// The progress of a copy. Entries are files, directories and symlinks.
struct DataProgress {
  std::uint32_t phase = 0;  // copy::Phase
  bool waiting = false;     // another job makes this copy, and this job waits for it
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::uint64_t total_entries = 0;  // 0 = not known yet
  std::uint64_t total_bytes = 0;
  std::uint32_t stalled_side = 0;  // copy::CopySide
  std::uint64_t stalled_ms = 0;

  bool operator==(const DataProgress&) const = default;
};
inline void fields(base::FieldVisitor& v, DataProgress& progress) {
  v("phase", progress.phase, {.most = 255});
  v("waiting", progress.waiting);
  v("entries", progress.entries);
  v("bytes", progress.bytes);
  v("total_entries", progress.total_entries);
  v("total_bytes", progress.total_bytes);
  v("stalled_side", progress.stalled_side, {.most = 3});
  v("stalled_ms", progress.stalled_ms);
}

struct DataRecord {
  enum class State : unsigned char { kIdle, kRunning, kReady, kFailed };
  envgen::Dataset dataset;
  State state = State::kIdle;
  DataProgress progress;
  copy::RateWindow window;
  // Path of the data for the job: the copy, or the source if copying failed. "" = not known yet.
  std::string path;
  std::string how;            // "copied"; after a failure the reason
  bool missing = false;       // the source does not exist
  sys::Fd lease;              // held until this process ends
  std::int64_t began_ms = 0;  // wall clock, UTC
  std::int64_t ended_ms = 0;
};

std::vector<DataRecord> data_records(const envgen::DataRequest& request);

// Returns "waiting", or the name of the copy's phase.
std::string stage_name(const DataProgress& progress);

// Returns the names that messages about a stall use for the two sides of the copy.
copy::CopyPlaces places_of(const envgen::Dataset& dataset);

// Sets the variable of each dataset whose path is known in `env`.
void add_data_env(const std::vector<DataRecord>& data, base::Environ& env);

// data_bar() returns the progress of the copy as text with a bar, shorter than `columns` and
// without a newline. data_percent() returns the progress in percent.
std::string data_bar(const DataRecord& data, int columns);
int data_percent(const DataRecord& data);

DataReport data_report(const DataRecord& data);

}  // namespace engine
