#pragma once
// The content of RUN_DIR/state.json, which `trainit status` shows. Only PID 1 writes the file. It
// replaces the file atomically, so a reader sees either the old state or the new one.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "init/engine/state/failure.h"

namespace engine {

// Names of trainit's own files in the run directory. Files that the plan puts there are not listed.
inline constexpr const char* kStateFile = "state.json";
// Plan of the last start, as `trainit plan` shows it.
inline constexpr const char* kPlanFile = "plan.txt";

// TaskReport::log of hooks and data tasks. trainit logs their output as its own lines.
inline constexpr const char* kHookOutput = "stderr";

struct TaskReport {
  std::string name;
  // "resolve", "data", "main", "service"; for hooks "pre-start", "post-start", "pre-stop",
  // "post-stop", "checkpoint", "on-failure"
  std::string kind;
  std::string state;  // "idle", "starting", "running", "stopped" (by SIGSTOP), "ended"
  int rank = -1;      // -1: not a rank
  int device = -1;
  int pid = 0;                  // 0: no process is alive
  int exit_code = -1;           // -1: has not ended
  std::string signal;           // "SIGKILL" if a signal ended it
  std::string log;              // "" = stdout; kHookOutput; otherwise a file
  std::int64_t started_ms = 0;  // wall clock, UTC; 0 = not started
  std::int64_t ended_ms = 0;
  int incarnation = 0;              // number of starts of this task
  std::int64_t last_output_ms = 0;  // wall clock, UTC; 0: not known. `trainit status` fills it in
  // Last ratio of hardware time to end-to-end time, in millionths; -1: not known.
  std::int64_t perf_ppm = -1;
  std::int64_t step = -1;             // last step that the task reported (--progress); -1: none
  std::int64_t saved_step = -1;       // last step that the task reported as saved; -1: none
  std::int64_t stalled_since_ms = 0;  // wall clock, UTC; 0: not stalled
  // How the last restart was done: "warm", "cold: REASON"; "" = without --warm, or no restart.
  std::string start;
  std::string warm;  // state of the spare process for its next start; "" = none
};
inline void fields(base::FieldVisitor& v, TaskReport& task) {
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
  std::string path;  // value of the variable; "" = not known yet
  // "idle", "ready", "failed", or the work in progress: "scanning", "copying", ...
  std::string state;
  std::string how;  // "copied", "found"; after a failure the reason
  // true: waits for another job to make this copy; the numbers are the progress of that job.
  bool waiting = false;
  std::int64_t entries = 0;  // copied so far: files, directories, symlinks
  std::int64_t bytes = 0;
  std::int64_t total_entries = 0;  // 0 = not known yet
  std::int64_t total_bytes = 0;
  std::int64_t bytes_per_second = 0;
  std::int64_t began_ms = 0;  // wall clock, UTC; 0 = not begun
  std::int64_t ended_ms = 0;

  bool operator==(const DataReport&) const = default;
};
inline void fields(base::FieldVisitor& v, DataReport& data) {
  constexpr base::Rule kCount{.least = 0};
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

// The number of lines that were printed but did not reach their destination. The metrics contain
// it, state.json does not.
struct LostOutput {
  std::string to;  // "stdout", "stderr", "files"; "diagnostics": trainit's own lines
  std::uint64_t lines = 0;
};

struct JobReport {
  int pid = 0;
  std::string phase;
  // State of the job in the words that platforms use: running, success, error, stopped, expired.
  std::string state;
  std::string trainit;  // version
  std::string job;      // the job's name; "" = the platform gives none
  std::string command;  // command of the first main process, quoted for a shell
  std::string platform;
  std::string framework;
  int node_rank = 0;
  int node_count = 1;
  int world_size = 1;
  std::int64_t started_ms = 0;  // wall clock, UTC
  std::int64_t updated_ms = 0;
  std::string waiting_for;            // "" = nothing
  std::int64_t waiting_since_ms = 0;  // wall clock, UTC; 0: the job does not wait
  std::vector<TaskReport> tasks;
  std::vector<DataReport> data;
  std::string hook;  // hooks that run now, such as "pre-start hooks"; "" = none
  // Message of the first failure of the last start; "" = no failure.
  std::string first_failure;
  FailureDetail failure;     // details of the first failure; valid if `task` in it is not ""
  std::string stop_signal;   // signal of the first stop request; "" if none came
  int exit_code = -1;        // exit code of the job; -1: has not ended
  int given_code = -1;       // exit code of the container, after --exit-codes; -1: has not ended
  int restarts = 0;          // number of restarts until now
  int counted_restarts = 0;  // restarts that count towards most_restarts
  int most_restarts = 0;     // --max-restarts
  std::int64_t restart_at_ms = 0;     // wall clock, UTC; 0: no restart is scheduled
  std::int64_t expires_ms = 0;        // wall clock, UTC; 0: no time limit
  bool checkpoint_under_way = false;  // a checkpoint was requested and is not finished
  // End of the wait for a checkpoint that ends the job: wall clock, UTC; 0: none.
  std::int64_t checkpoint_until_ms = 0;
  // true: the job ends with 75 after a checkpoint, to be scheduled again.
  bool reschedule = false;
  std::int64_t hold_until_ms = 0;  // wall clock, UTC; 0: no debug window
  // Finding of the last round of health checks; "" = no round has ended.
  std::string health;
  std::vector<std::string> warnings;
  std::vector<LostOutput> lost;  // lost output by destination; empty: not known
};
inline void fields(base::FieldVisitor& v, JobReport& report) {
  v("pid", report.pid);
  v("phase", report.phase);
  v("state", report.state);
  v("trainit", report.trainit);
  v("job", report.job, kMasked);
  v("command", report.command, kMasked);
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
// Reads a state. A member that is missing or has a wrong type keeps its default, because a
// different trainit may have written the file.
base::Result<JobReport> state_from_json(std::string_view text, std::string_view where);

}  // namespace engine
