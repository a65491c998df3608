#pragma once
// RUN_DIR/state.json: what `trainit status` shows. Written by PID 1 only, replaced atomically; a
// reader sees an old state or a new one, never half of one.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "init/engine/state/failure.h"

namespace engine {

// In the run directory, beside what the plan moves there.
inline constexpr const char* kStateFile = "state.json";
inline constexpr const char* kPlanFile =
    "plan.txt";  // the plan of the last start, as `plan` shows it

// The output of hooks, which comes as lines of ours.
inline constexpr const char* kHookOutput = "stderr";

struct TaskReport {
  std::string name;
  // "resolve", "data", "main", "service", or of hooks "pre-start", "post-start", "pre-stop",
  // "post-stop", "checkpoint", "on-failure"
  std::string kind;
  std::string state;  // "idle", "starting", "running", "stopped" (by SIGSTOP), "ended"
  int rank = -1;      // -1: none
  int device = -1;
  int pid = 0;                  // 0: not alive
  int exit_code = -1;           // -1: has not ended
  std::string signal;           // "SIGKILL" when that ended it
  std::string log;              // "" = stdout; kHookOutput; else a file
  std::int64_t started_ms = 0;  // wall clock, UTC; 0 = not yet
  std::int64_t ended_ms = 0;
  int incarnation = 0;                // how often it was started
  std::int64_t last_output_ms = 0;    // wall clock, UTC; 0: not known. `trainit status` fills it in
  std::int64_t perf_ppm = -1;         // hardware / end-to-end time, last seen; -1: not known
  std::int64_t step = -1;             // the last one that it told (--progress); -1: none
  std::int64_t saved_step = -1;       // the last one that it told to be saved
  std::int64_t stalled_since_ms = 0;  // wall clock, UTC; 0: it is not
  std::string start;  // how it was started again: "warm", "cold: REASON"; "" = not by --warm
  std::string warm;   // what stands by for its next start; "" = nothing
};
inline void fields(envgen::FieldVisitor& v, TaskReport& task) {
  v("name", task.name);
  v("kind", task.kind);
  v("state", task.state);
  v("rank", task.rank, kKnown);
  v("device", task.device, kKnown);
  v("pid", task.pid);
  v("exit_code", task.exit_code, kKnown);
  v("signal", task.signal);
  v("log", task.log);
  v("started_ms", task.started_ms, kWallClock);
  v("ended_ms", task.ended_ms, kWallClock);
  v("incarnation", task.incarnation);
  v("last_output_ms", task.last_output_ms, kWallClock);
  v("perf_ppm", task.perf_ppm, kKnown);
  v("step", task.step, kKnown);
  v("saved_step", task.saved_step, kKnown);
  v("stalled_since_ms", task.stalled_since_ms, kWallClock);
  v("start", task.start, {.omit = true, .masked = true});
  v("warm", task.warm, {.omit = true, .masked = true});
}

struct DataReport {
  std::string name;
  std::string variable;
  std::string source;
  std::string path;      // what the variable says; "" = not known yet
  std::string state;     // "idle", "ready", "failed", or what is done: "scanning", "copying", ...
  std::string how;       // "copied", "found"; of one that failed why
  bool waiting = false;  // for another job, whose copy the numbers are of
  std::int64_t entries = 0;  // done: files, directories, links
  std::int64_t bytes = 0;
  std::int64_t total_entries = 0;  // 0 = not known yet
  std::int64_t total_bytes = 0;
  std::int64_t bytes_per_second = 0;
  std::int64_t began_ms = 0;  // wall clock, UTC; 0 = not yet
  std::int64_t ended_ms = 0;

  bool operator==(const DataReport&) const = default;
};
inline void fields(envgen::FieldVisitor& v, DataReport& data) {
  constexpr envgen::Rule kCount{.least = 0};
  v("name", data.name);
  v("variable", data.variable);
  v("source", data.source);
  v("path", data.path);
  v("state", data.state);
  v("how", data.how, kMasked);
  v("waiting", data.waiting);
  v("entries", data.entries, kCount);
  v("bytes", data.bytes, kCount);
  v("total_entries", data.total_entries, kCount);
  v("total_bytes", data.total_bytes, kCount);
  v("bytes_per_second", data.bytes_per_second, kCount);
  v("began_ms", data.began_ms, kWallClock);
  v("ended_ms", data.ended_ms, kWallClock);
}

// Of what was printed, on its way there. In the metrics, not in the state.
struct LostOutput {
  std::string to;  // "stdout", "stderr", "files"; "diagnostics": of our own lines
  std::uint64_t lines = 0;
};

struct JobReport {
  int pid = 0;
  std::string phase;
  std::string state;  // in the platforms' words: running, success, error, stopped, expired
  std::string platform;
  std::string framework;
  int node_rank = 0;
  int node_count = 1;
  int world_size = 1;
  std::int64_t started_ms = 0;  // wall clock, UTC
  std::int64_t updated_ms = 0;
  std::string waiting_for;            // "" when nothing is waited for
  std::int64_t waiting_since_ms = 0;  // wall clock, UTC; 0: nothing is
  std::vector<TaskReport> tasks;
  std::vector<DataReport> data;
  std::string hook;                      // "pre-start hooks", under way; "" when none are
  std::string first_failure;             // the message; "" without a failure; of the last start
  FailureDetail failure;                 // what is known of it
  std::string stop_signal;               // "" when none came
  int exit_code = -1;                    // the job's; -1: still running
  int given_code = -1;                   // the container's, by --exit-codes
  int restarts = 0;                      // so far
  int counted_restarts = 0;              // of those, that count against the next one
  int most_restarts = 0;                 // --max-restarts
  std::int64_t restart_at_ms = 0;        // wall clock, UTC; 0: none is awaited
  std::int64_t expires_ms = 0;           // wall clock, UTC; 0: no time limit
  bool checkpoint_under_way = false;     // asked for, and not saved yet
  std::int64_t checkpoint_until_ms = 0;  // wall clock, UTC: it is waited for so long; 0: not known
  bool reschedule = false;               // ends with 75 after a checkpoint: to be scheduled again
  std::int64_t hold_until_ms = 0;        // wall clock, UTC; 0: no debug window
  std::string health;                    // what the last round of checks found; "" = none yet
  std::vector<std::string> warnings;
  std::vector<LostOutput> lost;  // empty: not known
};
inline void fields(envgen::FieldVisitor& v, JobReport& report) {
  v("pid", report.pid);
  v("phase", report.phase);
  v("state", report.state);
  v("platform", report.platform);
  v("framework", report.framework);
  v("node_rank", report.node_rank);
  v("node_count", report.node_count);
  v("world_size", report.world_size);
  v("started_ms", report.started_ms, kWallClock);
  v("updated_ms", report.updated_ms, kWallClock);
  v("expires_ms", report.expires_ms, kWallClock);
  v("waiting_for", report.waiting_for, kMasked);
  v("waiting_since_ms", report.waiting_since_ms, kWallClock);
  v("tasks", report.tasks);
  v("data", report.data);
  v("hook", report.hook);
  v("restarts", report.restarts);
  v("most_restarts", report.most_restarts);
  v("restart_at_ms", report.restart_at_ms, kWallClock);
  v("counted_restarts", report.counted_restarts);
  v("checkpoint_under_way", report.checkpoint_under_way);
  v("checkpoint_until_ms", report.checkpoint_until_ms, kWallClock);
  v("first_failure", report.first_failure, kMasked);
  v.when(!report.failure.task.empty(), "first_failure_detail", report.failure);
  v("stop_signal", report.stop_signal);
  v("exit_code", report.exit_code, kKnown);
  v("given_exit_code", report.given_code, kKnown);
  v("reschedule", report.reschedule);
  v("hold_until_ms", report.hold_until_ms, kWallClock);
  v("health", report.health, kMasked);
  v("warnings", report.warnings, kMasked);
}

std::string state_to_json(const JobReport& report);
// What is missing or of another type is as in a new JobReport: another trainit may have written it.
envgen::Result<JobReport> state_from_json(std::string_view text, std::string_view where);

}  // namespace engine
