#pragma once
// What PID 1 knows of a dataset of the job (--data): how far its copy is, where the data is, and
// the lease that keeps a copy in the node's cache for as long as the job lives.

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

// How far a copy is. Entries are files, directories and links.
struct DataProgress {
  std::uint32_t phase = 0;  // copy::Phase
  bool waiting = false;     // for another job, whose copy this is
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::uint64_t total_entries = 0;  // 0 = not known yet
  std::uint64_t total_bytes = 0;
  std::uint32_t stalled_side = 0;  // envgen::CopySide
  std::uint64_t stalled_ms = 0;

  bool operator==(const DataProgress&) const = default;
};
inline void fields(envgen::FieldVisitor& v, DataProgress& progress) {
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
  envgen::RateWindow window;
  std::string path;      // of the copy or, where that failed, of the source; "" = not known yet
  std::string how;       // "copied"; of one that failed why
  bool missing = false;  // there is no source
  sys::Fd lease;         // closed by the kernel when this process ends
  std::int64_t began_ms = 0;  // wall clock, UTC
  std::int64_t ended_ms = 0;
};

std::vector<DataRecord> data_records(const envgen::DataRequest& request);

// "waiting", or the phase of the copy.
std::string stage_name(const DataProgress& progress);

// How messages about a stall name the two sides of its copy.
envgen::CopyPlaces places_of(const envgen::Dataset& dataset);

// The variables of those that are known.
void add_data_env(const std::vector<DataRecord>& data, envgen::Environ& env);

// How far the copy is: a bar of less than `columns` columns, without an end of line; and in
// percent.
std::string data_bar(const DataRecord& data, int columns);
int data_percent(const DataRecord& data);

DataReport data_report(const DataRecord& data);

}  // namespace engine
