#pragma once
// The engine's record of each task, beyond the machine's: its name, its process, its times. The
// index of a record is the task's index in lifecycle::Machine::tasks().

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
#include "init/proc/spawn.h"
#include "init/sys/fd.h"
#include "lifecycle/hang_agent.h"
#include "lifecycle/machine.h"

namespace engine {

class LineBoard;

// TaskRecord::start of a rank that a process which stood by has become.
inline constexpr const char* kWarmStart = "warm";

struct TaskRecord {
  std::string name;
  lifecycle::TaskKind kind = lifecycle::TaskKind::kMain;
  int process = -1;  // index in the plan's list of this kind; -1: none of them
  std::optional<envgen::HookEvent> event;  // of the plan's hooks that it runs, one after the other
  std::string hook_message;                // which of them failed, and how; "" otherwise
  pid_t pid = 0;                           // 0: not alive
  std::uint32_t incarnation = 0;
  sys::Fd start_pipe;  // open until its program runs or it ends
  std::optional<proc::StartFailure> failure;
  std::optional<lifecycle::ExitStatus>
      exit_status;         // of the last incarnation, known before the machine's
  std::string stall;       // what the watch found, for a main process that has stalled
  bool stop_sent = false;  // it has had a stop signal
  bool unasked = false;    // ended by itself before the first of them
  bool paused = false;     // by SIGSTOP or the like
  bool core = false;
  std::string start;  // of a main process: how it was started again, kWarmStart or "cold: REASON"
  bool handed_over = false;  // its process stood by, and does not run as the rank yet
  std::string warm;  // what stands by for its next start, "ready: pid 9, torch"; "" = nothing
  std::int64_t started_ms = 0;  // wall clock, UTC, which may be set back meanwhile
  std::int64_t ended_ms = 0;
  std::int64_t began_ms = 0;  // monotonic clock
  std::int64_t ran_ms = -1;   // likewise; -1: has not ended
};

// What the watches know of a main process; all of this incarnation of the job.
struct RankWatch {
  std::int64_t stalled_since_ms = 0;  // wall clock, UTC; 0: it makes progress
};

struct HealthWatch {
  std::int64_t checked_ms = 0;  // when the last round ended, wall clock, UTC; 0: none has
  int failures = 0;             // rounds in succession that found something; 0: it is fit
  std::string message;          // what the last of them found
};

// What failed first in the job, where that is known to be on another node.
struct RemoteFailure {
  bool is_failure = true;  // or a stop
  std::string message;
  FailureDetail detail;
};

struct Job {
  envgen::Plan plan;
  std::vector<TaskRecord> records;
  std::vector<DataRecord> data;  // by the ordinal of their tasks
  std::vector<std::string> data_warnings;
  std::string resolver_message;  // why it failed; "" otherwise
  std::string waiting_for;       // see note_waiting()
  std::int64_t waiting_since_ms = 0;
  std::string missing_nodes;  // which are awaited before the start; "" = none
  std::optional<RemoteFailure> remote;
  std::string never_connected;  // FailureDetail::never_connected, as long as it is so
  std::string unfit;            // why the other nodes cannot start with this one; "" = they can
  // What hooks exported, in the order in which they did: for the processes that start after them.
  std::vector<envgen::EnvEdit> exports;
  std::string first_failure;  // the message
  FailureDetail failure;
  bool failure_complete = false;     // with the last lines, where there are any
  std::vector<RankWatch> watches;    // by place in plan.processes; empty without a watch
  std::shared_ptr<LineBoard> lines;  // what the ranks' lines tell; nullptr where none are watched
  std::vector<bool> told_steps;      // in an earlier start, by place in plan.processes
  HealthWatch health;
  lifecycle::HangAgent hang_agent;
  std::int64_t save_asked_ms = 0;  // when the job was asked for its last checkpoint,
                                   // sys::monotonic_ms(); 0: it was not
  std::string save_reason;         // why a watch asked for the checkpoint; "" = none did
  std::optional<std::uint64_t> oom_kills_before;
  std::string host;  // this node's name
  // Workers that are no tasks and end by themselves: nobody's to sweep while there is time.
  std::vector<pid_t> helpers;
  // Processes that stand by to be ranks at the next start: neither ranks, nor left behind.
  std::vector<pid_t> spares;
  pid_t link_pid = 0;  // the one that outlives the tasks: it is neither waited for nor told to stop
};

// As TaskReport names it.
const char* kind_name(lifecycle::TaskKind kind);

// A main process of the job, not what prepares or serves it.
bool is_main(const TaskRecord& record);
void note_end(TaskRecord& record);  // now
// The main processes that live.
std::vector<pid_t> main_pids(const Job& job);

// Those that outlive the tasks: the link and what stands by. They are neither waited for nor told
// to stop.
std::vector<pid_t> outliving_pids(const Job& job);

// What the plan says about this task, nullptr for a task that is not the plan's.
const envgen::Process* planned(const Job& job, const TaskRecord& record);

// Of one of a phase (envgen::is_phase_event).
lifecycle::TaskKind kind_of(envgen::HookEvent event);

// The plan's hooks that this task runs, nullptr for any other task.
const envgen::HookGroup* hooks_of(const Job& job, const TaskRecord& record);

// Each record gets its kind; those of the plan's processes, services and post-stop processes their
// place there and their name.
void name_records(Job& job, const lifecycle::Machine& machine);

// What the job waits for from now on, "" = nothing any more; when that began stays while there is
// something.
void note_waiting(Job& job, std::string what);

// "a, b, c" or, of more than 8, "a, b, ... and 3 more".
std::string names_list(const std::vector<std::string>& names, std::string_view separator = ", ");

// `now_ms`: the time by which the machine counts.
JobReport report_of(const Job& job, const lifecycle::Machine& machine, std::int64_t now_ms);

inline constexpr std::size_t kTerminationLogBytes = 4096;

// Locks the termination log until the descriptor is closed. A container has one log: an instance
// that the job starts must not overwrite the text of the first one, whatever RUN_DIR it has. Not
// valid if another instance holds the lock, or the file is missing.
sys::Fd claim_termination_log(const char* path);
// Writes `message` to the termination log where there is one (nullptr: none), at most 4096 bytes,
// cut between UTF-8 characters, without credentials. The file is a bind mount: written in place,
// never created.
void write_termination_log(const char* path, std::string_view message);
// The same behind what stands there, where there is room for all of it.
void add_to_termination_log(const char* path, std::string_view message);

}  // namespace engine
