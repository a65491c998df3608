#pragma once
// The engine's record of each task: its name, process and times. It supplements the machine's
// record. The index of a record is the task's index in lifecycle::Machine::tasks().

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envgen/plan/plan.h"
#include "init/engine/state/data_record.h"
#include "init/engine/state/failure.h"
#include "init/engine/state/state.h"
#include "init/engine/tasks/record_pace.h"
#include "init/proc/spawn.h"
#include "init/sys/fd.h"
#include "lifecycle/hang_agent.h"
#include "lifecycle/machine.h"

namespace engine {

class LineBoard;

// TaskRecord::start of a rank that a spare process has become.
inline constexpr const char* kWarmStart = "warm";

struct TaskRecord {
  std::string name;
  lifecycle::TaskKind kind = lifecycle::TaskKind::kMain;
  // Index in the plan's list of this kind; -1: not in the plan.
  int process = -1;
  // Event of the plan's hooks that the task runs, one after the other.
  std::optional<envgen::HookEvent> event;
  std::string hook_message;  // message about the hook that failed; "" otherwise
  pid_t pid = 0;             // 0: not alive
  std::uint32_t incarnation = 0;
  sys::Fd start_pipe;  // open until the program runs or the process ends
  std::optional<proc::StartFailure> failure;
  // Exit status of the last run, set before the machine learns it.
  std::optional<lifecycle::ExitStatus> exit_status;
  // Finding of the stall watch about a main process; "" = none.
  std::string stall;
  bool stop_sent = false;  // a stop signal was sent
  bool unasked = false;    // exited without a stop request, before the first stop signal
  bool paused = false;     // stopped by SIGSTOP or a similar signal
  bool core = false;
  // Kind of the restart of a main process: kWarmStart or "cold: REASON".
  std::string start;
  // true: a spare process has received the start message and does not run as the rank yet.
  bool handed_over = false;
  // Spare process for its next start: "ready: pid 9, torch"; "" = none.
  std::string warm;
  std::int64_t started_ms = 0;  // wall clock, UTC; it may be set back during the run
  std::int64_t ended_ms = 0;
  std::int64_t began_ms = 0;  // monotonic clock
  std::int64_t ran_ms = -1;   // duration, monotonic clock; -1: has not ended
};

// The findings of the watches about a main process, in this start of the job.
struct RankWatch {
  std::int64_t stalled_since_ms = 0;  // wall clock, UTC; 0: not stalled
};

struct HealthWatch {
  // End of the last round: wall clock, UTC; 0: no round has ended.
  std::int64_t checked_ms = 0;
  int failures = 0;     // consecutive rounds that found something; 0: healthy
  std::string message;  // message of the last failed round
};

// The part of the ranks' steps that the timeline has (monitor/step_record.h).
struct StepLog {
  struct Rank {
    std::uint64_t steps = 0;  // LineSlot::steps of the last record in this start
    std::int64_t saved_ms = 0;
  };
  std::vector<Rank> ranks;  // by index in plan.processes
  RecordPace pace{1U << 20};
};

// The memory and CPU time of the ranks since the last record (monitor/resource_record.h).
struct ResourceLog {
  struct Rank {
    std::int64_t peak_bytes = -1;       // -1: not measured since the last record
    std::int64_t cpu_ms = -1;           // value of the last sample; -1: none
    std::int64_t recorded_cpu_ms = -1;  // value of cpu_ms in the last record
  };
  std::vector<Rank> ranks;       // by index in plan.processes
  std::int64_t peak_bytes = -1;  // of the container
  std::int64_t limit_bytes = -1;
  std::int64_t at_ms = 0;           // time of the last sample, sys::monotonic_ms()
  std::int64_t recorded_at_ms = 0;  // value of at_ms in the last record
  RecordPace pace{512U << 10};
};

// The first failure of the job, if it is known to be on another node.
struct RemoteFailure {
  bool is_failure = true;  // false: a stop
  std::string message;
  FailureDetail detail;
};

// The part of a Job that belongs to one start of the job; a restart assigns a new one.
struct JobStart {
  // Variables that hooks exported, in the order of the exports, for processes that start later.
  std::vector<base::EnvEdit> exports;
  std::string first_failure;  // message of the first failure
  FailureDetail failure;
  bool failure_complete = false;  // has the last lines, if any were printed
  std::optional<RemoteFailure> remote;
  // Time of the request for the last checkpoint, sys::monotonic_ms(); 0: none.
  std::int64_t save_asked_ms = 0;
  std::string save_reason;  // reason of a watch for the checkpoint; "" = none
  std::optional<std::uint64_t> oom_kills_before;
};

struct Job {
  envgen::Plan plan;
  JobStart start;
  std::vector<TaskRecord> records;
  std::vector<DataRecord> data;  // ordered by the ordinals of their tasks
  std::vector<std::string> data_warnings;
  std::string resolver_message;  // error of the resolver; "" otherwise
  std::string waiting_for;       // see note_waiting()
  std::int64_t waiting_since_ms = 0;
  std::string missing_nodes;    // nodes that the start waits for; "" = none
  std::string never_connected;  // value of FailureDetail::never_connected now
  // Reason why the other nodes cannot start with this one; "" = they can.
  std::string unfit;
  // Watch of each main process, by index in plan.processes; empty without a watch.
  std::vector<RankWatch> watches;
  // Facts read from the ranks' lines; nullptr if no lines are watched.
  std::shared_ptr<LineBoard> lines;
  StepLog step_log;
  ResourceLog resource_log;
  // Whether a process reported steps in an earlier start, by index in plan.processes.
  std::vector<bool> told_steps;
  HealthWatch health;
  lifecycle::HangAgent hang_agent;
  std::string host;  // name of this node
  // Workers that are not tasks and end without a stop request. OrphanReaper signals them only when
  // it kills all remaining processes.
  std::vector<pid_t> helpers;
  // Spare processes for the next start. They count neither as ranks nor as leftover processes.
  std::vector<pid_t> spares;
  // Worker of the link. It outlives the tasks: trainit neither waits for it nor stops it.
  pid_t link_pid = 0;
};

// Returns the name that TaskReport uses.
const char* kind_name(lifecycle::TaskKind kind);

// Returns true for a main process of the job, false for a task that prepares or serves it.
bool is_main(const TaskRecord& record);
// Begins the run of the task with this number: forgets the previous run, except for the spare
// process that waits to become this one.
void begin_run(TaskRecord& record, std::uint32_t incarnation);
void note_end(TaskRecord& record);  // Records the current time as the end of the process.
// Returns the pids of the main processes that are alive.
std::vector<pid_t> main_pids(const Job& job);

// Returns the pids of processes that outlive the tasks: the link's worker and the spare processes.
// trainit neither waits for them nor stops them.
std::vector<pid_t> outliving_pids(const Job& job);

// Returns the plan's entry of this task; nullptr for a task that is not in the plan.
const envgen::Process* planned(const Job& job, const TaskRecord& record);

// Returns the kind of the task that runs the hooks of a phase. Requires
// envgen::is_phase_event(event).
lifecycle::TaskKind kind_of(envgen::HookEvent event);

// Returns the plan's hooks that this task runs; nullptr if it runs none.
const envgen::HookGroup* hooks_of(const Job& job, const TaskRecord& record);

// Sets the kind of each record. Datasets, and the plan's processes, services and post-stop
// processes, also get their index and their name.
void name_records(Job& job, const lifecycle::Machine& machine);

// Sets what the job waits for; "" = nothing. The start time of the wait changes only if the job did
// not wait before.
void note_waiting(Job& job, std::string what);

// Returns "a, b, c"; for more than 8 names "a, b, ... and 3 more".
std::string names_list(const std::vector<std::string>& names, std::string_view separator = ", ");

// Returns the state of the job. `now_ms` is the current time of the machine's clock.
JobReport report_of(const Job& job, const lifecycle::Machine& machine, std::int64_t now_ms);

inline constexpr std::size_t kTerminationLogBytes = 4096;

// Locks the termination log until the descriptor is closed. A container has one log: an instance
// that the job starts must not overwrite the first one's text, even with a different RUN_DIR.
// Returns an invalid descriptor if another instance holds the lock or the file is missing.
sys::Fd lock_termination_log(const char* path);
// Writes `message` to the termination log (`path` nullptr: none), without credentials. Cuts it to
// 4096 bytes between UTF-8 characters. The file is a bind mount, so it is written in place and
// never created.
void write_termination_log(const char* path, std::string_view message);
// Appends `message` to the termination log if the whole message fits.
void add_to_termination_log(const char* path, std::string_view message);

}  // namespace engine
