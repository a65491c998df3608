#pragma once
// The watches of a running job, and the checks before it: asked for on the command line
// (Request::observe), adjusted to the platform and carried by the plan (Plan::observe).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace envgen {

inline constexpr std::int64_t kNoHealth =
    -1;  // Observation::health_interval_ms of a request: never

inline constexpr std::string_view kAllChecks = "all";  // of Observation::health_checks

enum class Bind : unsigned char {
  kNone,
  kNuma,  // a rank to all CPUs of its device's NUMA node
  kCore,  // those CPUs divided among the ranks that share the node
};

enum class Preflight : unsigned char {
  kOff,
  kWarn,     // what doctor finds becomes warnings
  kRequire,  // a check that fails ends the job before it starts, with 125
};

struct Observation {
  // Files of what goes through the tee (Process::tee): at this size a new one is begun, and `keep`
  // old ones stay. 0 = they grow.
  std::int64_t log_max_bytes = 0;
  int log_keep = 3;
  // A reader of our stdout or stderr that reads nothing holds the job up for so long, then it costs
  // lines.
  std::int64_t log_patience_ms = 30'000;

  // The performance watch: of each line in which `perf_pattern` finds the two times,
  // hardware / e2e is compared. Parts per million, so that a plan has no rounding; 0 = no watch.
  std::int64_t perf_threshold_ppm = 0;
  std::string perf_pattern;       // "" = the task-training platform's line
  bool perf_reschedules = false;  // else an alert
  int perf_count = 1;             // so many lines in succession

  // Lines by which a rank tells its steps (formats/progress_line.h); none = nothing is known of
  // them.
  std::vector<std::string> progress;

  // The stall watch; 0 = none. Of ranks that tell their steps it is these that count.
  std::int64_t stall_ms = 0;
  bool stall_by_output = false;  // silence is enough, whatever CPU time is used
  bool stall_ends = false;       // the job, as a failure; else a report
  bool stacks = false;           // the job's Python processes can be asked for their stacks

  // What else may say where ranks are that hang. NCCL's RAS answers there; "" = it is not asked.
  std::string nccl_ras;
  // PyTorch's flight recorder: what the names of its dumps begin with, a rank's number follows; and
  // of the FIFOs by which one is asked for, the number and ".pipe".
  std::vector<std::string> traces;
  std::vector<std::string> trace_pipes;

  // The fault monitor: health hooks and doctor's checks; 0 = none.
  std::int64_t health_interval_ms = 0;
  std::string health_checks;  // of doctor, "a,b"; "" = none, hooks alone
  int health_failures = 2;    // in succession, before the job is saved and rescheduled

  Preflight preflight = Preflight::kOff;
  std::string preflight_found;        // "14 ok, 1 warning, 0 failed, 3 skipped"; "" = not run
  std::vector<std::string> datasets;  // directories that doctor wants mounted read-only
  Bind bind = Bind::kNone;
  // Directories below RUN_DIR that were made for a job of another user, which may write there.
  std::vector<std::string> job_directories;
  std::string timeline;  // a directory for copies of events, last state and plan; "" = none

  bool operator==(const Observation&) const = default;
};
// What PID 1 needs of it: `preflight` and `bind` are the resolver's.
inline void fields(FieldVisitor& v, Observation& observe) {
  constexpr Rule kCount{.least = 0, .most = 1'000'000};
  v("log_max_bytes", observe.log_max_bytes);
  v("log_keep", observe.log_keep, kCount);
  v("log_patience_ms", observe.log_patience_ms);
  v("perf_threshold_ppm", observe.perf_threshold_ppm);
  v("perf_pattern", observe.perf_pattern);
  v("perf_reschedules", observe.perf_reschedules);
  v("perf_count", observe.perf_count, kCount);
  v("progress", observe.progress);
  v("stall_ms", observe.stall_ms);
  v("stall_by_output", observe.stall_by_output);
  v("stall_ends", observe.stall_ends);
  v("stacks", observe.stacks);
  v("nccl_ras", observe.nccl_ras);
  v("traces", observe.traces);
  v("trace_pipes", observe.trace_pipes);
  v("health_interval_ms", observe.health_interval_ms);
  v("health_checks", observe.health_checks);
  v("health_failures", observe.health_failures, kCount);
  v("preflight_found", observe.preflight_found);
  v("datasets", observe.datasets);
  v("job_directories", observe.job_directories);
  v("timeline", observe.timeline);
}

// Whether anything is to be watched.
bool has_watches(const Observation& observe);
// Whether ranks may tell their steps, and whether one that they have saved.
bool tells_steps(const Observation& observe);
bool tells_saved(const Observation& observe);
// Whether the ranks' lines are read for it.
bool reads_lines(const Observation& observe);

}  // namespace envgen
