#pragma once
// The events that a Machine receives and the actions that it requests. Both are plain values.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "lifecycle/policy.h"
#include "lifecycle/task.h"

namespace lifecycle {

enum class Timer : std::uint8_t {
  kKill,
  kSweep,
  kGiveUp,
  kResolve,
  kHold,
  kRestart,
  kEscalate,
  kNotify,      // the time of the drain or of the pre-stop hooks is over
  kCheckpoint,  // the checkpoint's time is over
  kExpire,      // the job's time limit is reached
  kRendezvous,  // the other nodes have not arrived in time
  kVerdict,     // node 0 has not said in time which failure was the first
  kDiagnosis,   // the diagnosis whether a restart can help has not come in time
};
inline constexpr std::size_t kTimerCount = 13;

namespace event {
struct Begin {};
// The resolver's answer: the main and service tasks to start, and the hooks. kData and kResolve in
// `tasks` are ignored. The n-th task of a kind has the ordinal n-1 (Task::ordinal). Without a main
// task, the job is a pause, which only a stop ends, with success.
//
// The first answer appends its tasks to the table. After a restart, the n-th main task becomes the
// next run of the previous n-th one, and further ones are appended. Main tasks that the answer no
// longer names stay ended, and such hooks are skipped. Services that run continue; the others start
// again.
struct ClusterReady {
  std::vector<TaskKind> tasks;
  Policy policy = {};  // applies from now on, but timers that run keep their times
  // The job has several nodes. So after a stop, the exit code of a single main task is not the
  // job's.
  bool part_of_job = false;
};
struct TaskStarted {  // the task's program was executed
  TaskRef task;
};
struct TaskEnd {
  TaskRef task;
  ExitStatus exit_status;
  // The task ended on its own, before a stop signal of trainit reached it.
  bool unasked = false;
};
struct TasksEnded {  // all ends of tasks that trainit saw in one loop iteration
  std::vector<TaskEnd> ends;
  int forwarded = 0;  // signal that trainit forwarded, and by which one of the tasks ended; 0: none
};
// The resolver has failed, with the exit code that the job gets. Posted before the end of the
// resolve task.
struct ResolveFailed {
  int exit_code = 125;
  bool left = false;  // no failure: the job continues without this node, which exits with 0
};
struct StopRequested {
  int signal = 15;
  int sent = 0;  // signal for the main tasks; 0: they get `signal`
};
// A signal that requests no stop; the machine forwards it to the main tasks.
struct SignalReceived {
  int signal = 0;
};
struct TimerFired {
  Timer timer = Timer::kKill;
  std::uint32_t generation = 0;
};
// No child of trainit is left, neither a task nor an adopted process. All ends of tasks were posted
// before. Children that outlive the job (the tee, the link's worker), or that trainit may not
// signal, do not count.
struct NothingLeft {};
// No adopted process of trainit is left; the job's services may still run.
struct NothingAdopted {};
struct Release {};  // ends the debug window
struct HoldFor {    // during the debug window: sets its end to duration_ms from now
  TimeMs duration_ms = 0;
};
// A request for a checkpoint of the main tasks. The job then ends with exit code 75, whatever the
// tasks' exit codes are, to be started again elsewhere. If keep_running is set, the job continues
// instead.
struct CheckpointRequested {
  bool keep_running = false;
  bool elsewhere = false;  // the request was made on another node of the job
};
struct NobodySaves {};  // the answer to AskToSave: no process of the job handles the signal
// All nodes know of the checkpoint that ends the job, and no node failed before it knew.
struct SaveKnown {};
struct ExpireIn {  // sets the job's time limit to duration_ms from now, even if there was none
  TimeMs duration_ms = 0;
};
// The list of nodes differs from the one that the job was started with. The job starts again.
struct MembershipChanged {
  bool elsewhere = false;  // another node noticed the change and starts again
};
// A main task lives but makes no progress. It counts as failed, with exit code 70.
struct TaskStalled {
  TaskRef task;
  TimeMs silent_ms = 0;  // how long the task has made no progress
};
// A main task has just written to files. After a failure, it may be saving
// (Policy::failure_grace_ms).
struct TaskWrites {
  // trainit cannot see whether the tasks write. They then keep the whole grace period.
  bool unknown = false;
};
// The connection to the job's other nodes (coordinator.h) changed. While the connection is up, the
// coordinator decides which failure was the first.
struct Linked {
  bool up = false;
  bool ended = false;  // node 0 has sent its leave message: there is no further start
};
// A node has failed or was stopped, and therefore the whole job fails or stops.
struct JobFailed {
  // Node 0 has decided which failure was the first; the other members describe it.
  bool known = false;
  bool here = false;     // the first failure is this node's own
  bool stopped = false;  // no failure: the node that ended first was stopped
  bool expired = false;  // no failure: the job's time limit is reached
  bool again = false;    // after that, the job starts again on all nodes
  TimeMs ran_ms = -1;    // NodeFailure::ran_ms
};
// This node cannot take part in the job: the other nodes wait for it, but its options make it start
// alone (NodeFailure::Kind::kUnfit). Or some node plans another job (kDiffers).
struct Unfit {};
// The diagnosis of a failure on this node, made from the output of its tasks. The machine waits for
// it if Policy::restart_verdict asks for it, or if several tasks failed.
struct Diagnosed {
  std::uint32_t restarts = 0;  // Machine::restarts() of the start that failed
  bool hopeless = false;       // a restart would fail in the same way
  // The task that failed first, as the output shows. It is another task of the cause. Or, while the
  // first failure is assumed on another node, it is a rank of this node that failed before
  // trainit's signal ended it. If `first` is set, a further Diagnosed event follows.
  std::optional<TaskRef> first = {};
};
// All nodes have arrived at the rendezvous before a start.
struct NodesReady {
  std::uint32_t restarts = 0;  // the job's number of restarts, which this node adopts
};
// kill() failed with EPERM: the task runs as another user. The machine does not wait for it, as
// KILL would fail too.
struct Unreachable {
  TaskRef task;
};
}  // namespace event

using Event =
    std::variant<event::Begin, event::ClusterReady, event::TaskStarted, event::TasksEnded,
                 event::ResolveFailed, event::StopRequested, event::SignalReceived,
                 event::TimerFired, event::NothingLeft, event::NothingAdopted, event::Release,
                 event::HoldFor, event::CheckpointRequested, event::NobodySaves, event::SaveKnown,
                 event::ExpireIn, event::MembershipChanged, event::TaskStalled, event::TaskWrites,
                 event::Linked, event::JobFailed, event::Unfit, event::Diagnosed, event::NodesReady,
                 event::Unreachable>;

namespace action {
// Starts a run of the task. If that fails, the caller posts TasksEnded with kNotStarted, in a later
// step.
struct Start {
  TaskRef task;
};
struct Signal {
  TaskRef task;
  int signal = 0;
  bool stops = false;  // true: the signal stops the task; false: it is only forwarded
};
// Sends `signal` to every adopted process, and from now on to each newly adopted one; 0 ends the
// sweep. During a sweep the caller posts NothingLeft and NothingAdopted as soon as they are true,
// possibly at once. If adopted processes cannot be distinguished (no /proc), NothingLeft alone is
// enough.
struct SweepAdopted {
  int signal = 0;
};
struct SetTimer {  // replaces a pending timer of the same kind
  Timer timer = Timer::kKill;
  std::uint32_t generation = 0;
  TimeMs at = 0;
};
struct CancelTimer {
  Timer timer = Timer::kKill;
};
struct AskToSave {};  // sends the checkpoint signal to the main tasks
struct Report {};     // reports the cause; repeated if the cause has changed
struct Exit {         // the last action; the caller kills the processes that still live
  int code = 0;
};
}  // namespace action

using Action = std::variant<action::Start, action::Signal, action::SweepAdopted, action::SetTimer,
                            action::CancelTimer, action::AskToSave, action::Report, action::Exit>;

}  // namespace lifecycle
