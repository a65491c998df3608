#pragma once
// The datasets of a job (--data), as PID 1 knows them: it touches neither source nor copy, but
// hears of a child (data_worker.h) how far that is and where the data is, and holds the lease that
// keeps a copy in the node's cache for as long as the job lives.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/environ.h"
#include "envgen/plan/request.h"
#include "init/copy/copy_progress.h"
#include "init/engine/data/data_news.h"
#include "init/engine/state/state.h"
#include "init/proc/signals.h"
#include "init/sys/fd.h"
#include "lifecycle/task.h"

namespace engine {

struct DataRecord {
  enum class State : unsigned char { kIdle, kRunning, kReady, kFailed };
  envgen::Dataset dataset;
  State state = State::kIdle;
  DataProgress progress;
  envgen::RateWindow window;
  std::string path;      // of the copy or, where that failed, of the source; "" = not known yet
  std::string how;       // "copied"; of one that failed why
  int exit_code = 0;     // that a failure stands for
  bool missing = false;  // there is no source
  sys::Fd lease;         // closed by the kernel when this process ends
  sys::Fd socket;        // to hear of the child
  std::int64_t began_ms = 0;  // wall clock, UTC
  std::int64_t ended_ms = 0;
  std::int64_t stage_since_ms = 0;  // the progress has said the same phase for so long
  std::int64_t overdue_ms = 0;  // sys::monotonic_ms: killed then, and given up soon after; 0: never
  bool killed = false;
  std::int64_t held_ms = 0;  // sys::monotonic_ms: its failure is not told before; 0: it is
};

// A stage of a copy that is over: "copying", "waiting".
struct DataStage {
  std::string name;
  std::int64_t since_ms = 0;  // wall clock, UTC
  std::int64_t until_ms = 0;
};

std::vector<DataRecord> data_records(const envgen::DataRequest& request);

// Forks the child of data[which]; its pid.
envgen::Result<pid_t> start_data(std::vector<DataRecord>& data, std::size_t which,
                                 const envgen::Request& request, const proc::SavedSignals& saved);

// What the child has said since; never blocks.
struct DataHeard {
  std::vector<std::string> warnings;
  std::vector<DataStage> stages;
  bool any = false;
};
DataHeard hear_data(DataRecord& data);

// The child is gone, or never came to be (`failure` says why then): what its task has ended with,
// by what the job wants of a failure. Says how it ended.
lifecycle::Ending settle_data(DataRecord& data, const envgen::DataRequest& request,
                              const lifecycle::Ending& ending, const std::string& failure,
                              DataHeard& heard);

// The variables of those that are known.
void add_data_env(const std::vector<DataRecord>& data, envgen::Environ& env);

DataReport data_report(const DataRecord& data);

}  // namespace engine
