#pragma once
// The state of a job in the engine. It supplements the machine's state (lifecycle/machine.h): for
// each task its name, process and times, and for the job its plan, its failure and its findings.
// The index of a TaskRecord is the task's index in lifecycle::Machine::tasks().

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

// TaskRecord::start of a rank that was started warm, from a spare process.
inline constexpr const char* kWarmStart = "warm";

struct TaskRecord {
  std::string name;
  lifecycle::TaskKind kind = lifecycle::TaskKind::kMain;
  // Index in the plan's list of this kind; -1: not in the plan.
  int process = -1;
  // Event whose hooks the task runs; nullopt: the task runs no hooks.
  std::optional<envgen::HookEvent> event;
  std::string hook_message;  // message about the hook that failed; "" otherwise
  pid_t pid = 0;             // 0: not alive
  std::uint32_t incarnation = 0;
  // Shows the start of the program; open until the program runs or the process ends.
  sys::Fd start_pipe;
  std::optional<proc::StartFailure> failure;
  // Exit status of the last run, set before the machine receives it.
  std::optional<lifecycle::ExitStatus> exit_status;
  // Message of the stall watch if it fails this main process; "" = none.
  std::string stall;
  bool stop_sent = false;  // a stop signal was sent to this run
  bool unasked = false;    // the process ended on its own, before a stop signal reached it
  bool paused = false;     // stopped by SIGSTOP or a similar signal
  bool core = false;
  // How a main process was restarted: kWarmStart or "cold: REASON"; "" = no restart with --warm.
  std::string start;
  // true: the process is a spare that must become the rank and does not run as the rank yet.
  bool handed_over = false;
  // State of the spare process for the next start: "ready: pid 9, torch"; "" = none.
  std::string warm;
  std::int64_t started_ms = 0;  // wall clock, UTC; it may be set back during the run
  std::int64_t ended_ms = 0;
  std::int64_t began_ms = 0;  // monotonic clock
  std::int64_t ran_ms = -1;   // duration of the run; -1: has not ended
};

// The finding of the stall watch about a main process, in this start of the job.
struct RankWatch {
  std::int64_t stalled_since_ms = 0;  // wall clock, UTC; 0: not stalled
};

struct HealthWatch {
  // End of the last round: wall clock, UTC; 0: no round has ended.
  std::int64_t checked_ms = 0;
  int failures = 0;     // consecutive rounds that found something; 0: healthy
  std::string message;  // message of the last failed round
};

// The record of which steps the timeline has (monitor/step_record.h).
struct StepLog {
  struct Rank {
    std::uint64_t steps = 0;  // LineSlot::steps of the last record in this start
    std::int64_t saved_ms = 0;
  };
  std::vector<Rank> ranks;  // ranks by their index in plan.processes
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

// The first failure of the job if another node had it, as node 0 reported it.
struct RemoteFailure {
  bool is_failure = true;  // false: that node was stopped
  std::string message;
  FailureDetail detail;
};

// The part of a Job that belongs to one start of the job; a restart assigns a new one.
struct JobStart {
  // Variables that hooks exported, in order. Processes that start later get them.
  std::vector<base::EnvEdit> exports;
  std::string first_failure;  // message of the first failure
  FailureDetail failure;
  // The output was read: `failure` has the cause and the last lines, if found.
  bool failure_complete = false;
  std::optional<RemoteFailure> remote;
  // Time of the request for the last checkpoint, sys::monotonic_ms(); 0: none.
  std::int64_t save_asked_ms = 0;
  std::string save_reason;  // reason for the checkpoint if a watch requested it; "" = none
  std::optional<std::uint64_t> oom_kills_before;
};

struct Job {
  envgen::Plan plan;
  std::string command;  // command_text() of `plan`
  JobStart start;
  std::vector<TaskRecord> records;
  std::vector<DataRecord> data;  // ordered by the ordinals of their tasks
  std::vector<std::string> data_warnings;
  std::string resolver_message;  // error of the resolver; "" otherwise
  // Reason why the job waits, such as "2 of 4 nodes"; "" = it does not wait (note_waiting).
  std::string waiting_for;
  std::int64_t waiting_since_ms = 0;
  std::string missing_nodes;    // nodes that the start waits for; "" = none
  std::string never_connected;  // current value for FailureDetail::never_connected
  // Reason why the other nodes cannot start with this one; "" = they can.
  std::string unfit;
  // Watch of each main process, by index in plan.processes; empty without a watch.
  std::vector<RankWatch> watches;
  // Facts read from the ranks' lines; nullptr if no lines are watched.
  std::shared_ptr<LineBoard> lines;
  StepLog step_log;
  ResourceLog resource_log;
  // Whether the process reported steps in an earlier start, by index in plan.processes.
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

// Returns the command of the first main process with its secrets masked, at most 4 KiB; "" for a
// plan without processes.
std::string command_text(const envgen::Plan& plan);

// Returns true for a main process of the job, false for a task that prepares or serves it.
bool is_main(const TaskRecord& record);
// Begins run `incarnation` of the task. Forgets the previous run, but not the state of the spare
// process (TaskRecord::warm).
void begin_run(TaskRecord& record, std::uint32_t incarnation);
void note_end(TaskRecord& record);  // Records the current time as the end of the process.
// Returns the pids of the main processes that are alive.
std::vector<pid_t> main_pids(const Job& job);

// Returns the pids of processes that outlive the tasks: the link's worker and the spare processes.
// trainit neither waits for them nor stops them.
std::vector<pid_t> outliving_pids(const Job& job);

// Returns the plan's entry of this task; nullptr if it has none (resolver, data, hooks).
const envgen::Process* planned(const Job& job, const TaskRecord& record);

// Returns the kind of the task that runs the hooks of `event`. Requires
// envgen::is_phase_event(event).
lifecycle::TaskKind kind_of(envgen::HookEvent event);

// Returns the plan's hooks that this task runs; nullptr if it runs none.
const envgen::HookGroup* hooks_of(const Job& job, const TaskRecord& record);

// Updates Job::records to the machine's tasks: sets the kind of each. Datasets, main processes,
// services and post-stop processes also get their index in the plan and their name. Hooks get their
// event and a name.
void name_records(Job& job, const lifecycle::Machine& machine);

// Sets what the job waits for; "" = nothing. waiting_since_ms changes only if the job did not wait
// before.
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
// Replaces the content of the termination log (`path` nullptr: none) by `message`, without
// credentials. Cuts `message` to 4096 bytes, between UTF-8 characters. The file is a bind mount, so
// it is written in place and never created.
void write_termination_log(const char* path, std::string_view message);
// Appends `message` to the termination log if the whole message fits.
void add_to_termination_log(const char* path, std::string_view message);

}  // namespace engine
