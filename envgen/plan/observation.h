#pragma once
// The watches of a running job, and the checks before it starts. The command line requests them
// (Request::observe), the resolver adjusts them to the platform, and the plan contains them
// (Plan::observe).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/words.h"

namespace envgen {

// value of Observation::health_interval_ms in a request: no health checks
inline constexpr std::int64_t kNoHealth = -1;

inline constexpr std::string_view kAllChecks = "all";  // value of Observation::health_checks

enum class Bind : unsigned char {
  kNone,
  kNuma,  // each rank may use all CPUs of the NUMA node of its device
  kCore,  // the CPUs of a NUMA node are divided among the ranks whose devices are there
};

enum class Preflight : unsigned char {
  kOff,
  kWarn,     // problems that doctor finds become warnings
  kRequire,  // a failed check ends the job before it starts, with exit code 125
};
inline constexpr base::Word<Preflight> kPreflights[] = {
    {"off", Preflight::kOff}, {"warn", Preflight::kWarn}, {"require", Preflight::kRequire}};

struct Observation {
  // Maximum size of a log file that the tee writes (Process::tee). At this size the tee starts a
  // new file, and keeps the last `log_keep` old ones. 0 = no limit.
  std::int64_t log_max_bytes = 0;
  int log_keep = 3;
  // Time-out for a reader of trainit's stdout or stderr that reads nothing. Within it, writes of
  // the job block (backpressure). After it, lines are dropped.
  std::int64_t log_reader_timeout_ms = 30'000;

  // Threshold of the performance watch, which compares it with hardware / e2e, the ratio of the two
  // times in each line that matches `perf_pattern`. Parts per million, so that a plan contains no
  // rounded numbers; 0 = no watch.
  std::int64_t perf_threshold_ppm = 0;
  std::string perf_pattern;       // "" = the pattern of the task-training platform
  bool perf_reschedules = false;  // true = the job is rescheduled; false = only an alert
  int perf_count = 1;             // number of consecutive lines above the threshold

  // Patterns of the lines in which a rank reports its steps (formats/progress_line.h). Empty = the
  // steps are not known.
  std::vector<std::string> progress;

  // Time-out of the stall watch; 0 = no watch. If ranks report their steps, a stall is this time
  // without a new step.
  std::int64_t stall_ms = 0;
  bool stall_by_output = false;  // no output is enough for a stall, even if the job uses CPU time
  bool stall_ends = false;       // a stall ends the job as a failure; false = it is only reported
  bool stacks = false;           // the job's Python processes can print their stacks on request

  // Address of NCCL's RAS, which is asked for the places of ranks that hang. "" = RAS is not asked.
  std::string nccl_ras;
  // Files of PyTorch's flight recorder. `traces` are the beginnings of the names of its dumps; a
  // rank follows. `trace_pipes` are those of the FIFOs that request a dump; a rank and ".pipe"
  // follow.
  std::vector<std::string> traces;
  std::vector<std::string> trace_pipes;

  // Interval of the fault monitor, which runs health hooks and doctor's checks; 0 = no monitor.
  std::int64_t health_interval_ms = 0;
  std::string health_checks;  // names of doctor's checks, "a,b"; "" = only health hooks
  int health_failures = 2;    // consecutive failures before the job is saved and rescheduled

  Preflight preflight = Preflight::kOff;
  std::string preflight_found;        // "14 ok, 1 warning, 0 failed, 3 skipped"; "" = not run
  std::vector<std::string> datasets;  // directories that doctor requires to be mounted read-only
  Bind bind = Bind::kNone;
  // Directories below RUN_DIR that trainit made for a job of another user, who may write there.
  std::vector<std::string> job_directories;
  std::string timeline;  // directory for copies of the events, the last state and the plan; "" =
                         // none

  bool operator==(const Observation&) const = default;
};
// Visits only the members that PID 1 needs. `preflight` and `bind` are used by the resolver alone.
inline void fields(base::FieldVisitor& v, Observation& observe) {
  constexpr base::Rule kCount{.least = 0, .most = 1'000'000};
  v("log_max_bytes", observe.log_max_bytes);
  v("log_keep", observe.log_keep, kCount);
  v("log_reader_timeout_ms", observe.log_reader_timeout_ms);
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

// Returns whether any watch is on.
bool has_watches(const Observation& observe);
// Return true if a rank may report its steps, and if it may report the step of a saved checkpoint.
bool tells_steps(const Observation& observe);
bool tells_saved(const Observation& observe);
// Returns whether a watch reads the lines that the ranks print.
bool reads_lines(const Observation& observe);

}  // namespace envgen
