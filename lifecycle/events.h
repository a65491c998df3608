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
  kNotify,      // the time of the drain or of the pre-stop tasks is over
  kCheckpoint,  // the checkpoint's time is over
  kExpire,      // the job's time limit is reached
  kRendezvous,  // the other nodes have not arrived
  kVerdict,     // no verdict came on the first failure
  kDiagnosis,   // no diagnosis came on whether a restart can help
};
inline constexpr std::size_t kTimerCount = 13;

namespace event {
struct Begin {};
// The resolver's answer: the main and service tasks to start, and the hooks. kData and kResolve
// tasks are ignored. Task::ordinal identifies a task. Without a main task, the job is a pause,
// which only a stop ends, with success. The first answer appends its tasks to the table. After a
// restart, the n-th main task replaces the previous n-th one as its next run, and further ones
// are appended. Main tasks that the answer no longer names stay ended, and such hooks are skipped.
// Services that run continue; the others start again.
struct ClusterReady {
  std::vector<TaskKind> tasks;
  Policy policy = {};  // applies from now on; timers that run keep their times
  // The single main task is one node's part of a job. After a stop, its exit code is not the job's.
  bool part_of_job = false;
};
struct TaskStarted {  // the task's program was executed
  TaskRef task;
};
struct TaskEnd {
  TaskRef task;
  ExitStatus exit_status;
  bool unasked = false;  // no stop signal from trainit had reached the task
};
struct TasksEnded {  // all deaths seen in one loop iteration
  std::vector<TaskEnd> ends;
  int forwarded = 0;  // signal to trainit that then killed one of the tasks; 0: none
};
// The reason for an imminent failure of the resolve task; posted before its end.
struct ResolveFailed {
  int exit_code = 125;
  bool left = false;  // no failure: the job continues without this node, which succeeds
};
struct StopRequested {
  int signal = 15;
  int sent = 0;  // signal for the main tasks; 0: they get `signal`
};
struct SignalReceived {  // any other signal; the machine forwards it to the main tasks
  int signal = 0;
};
struct TimerFired {
  Timer timer = Timer::kKill;
  std::uint32_t generation = 0;
};
// No child is left, adopted ones included; all ends of tasks were posted before.
struct NothingLeft {};
struct NothingAdopted {};  // no adopted child is left; trainit's services may still run
struct Release {};         // ends the debug window
struct HoldFor {           // during the debug window: sets its end to duration_ms from now
  TimeMs duration_ms = 0;
};
// A request that the main tasks save a checkpoint. The job then ends with 75, whatever their exit
// codes, to be started again elsewhere. If keep_running is set, the job continues instead.
struct CheckpointRequested {
  bool keep_running = false;
  bool elsewhere = false;  // requested on another node of the job
};
struct NobodySaves {};  // the answer to AskToSave: no process takes the signal
// All nodes know of the checkpoint that ends the job, and none had failed before.
struct SaveKnown {};
struct ExpireIn {  // sets the job's time limit to duration_ms from now, even if there was none
  TimeMs duration_ms = 0;
};
// The list of nodes differs from the one that the job was started with. The job starts again.
struct MembershipChanged {
  bool elsewhere = false;  // another node has noticed the change, and starts again
};
// A main task lives but makes no progress. It counts as failed, with exit code 70.
struct TaskStalled {
  TaskRef task;
  TimeMs silent_ms = 0;  // time without progress
};
// A main task has just written to files. After a failure, it may be saving
// (Policy::failure_grace_ms).
struct TaskWrites {
  bool unknown = false;  // trainit cannot see what the tasks write, until they end
};
// The connection to the job's other nodes (coordinator.h) changed. While the connection is up, the
// coordinator decides which failure was the first.
struct Linked {
  bool up = false;
  bool ended = false;  // node 0 has sent its leave message and allows no further start
};
// A node of the job has failed or was stopped, and the whole job with it.
struct JobFailed {
  bool known = false;    // the first failure is known; the other fields describe it
  bool here = false;     // the first failure is this node's own
  bool stopped = false;  // no failure: that node was stopped
  bool expired = false;  // no failure: the job's time limit is reached
  bool again = false;    // the job starts again on all nodes
  TimeMs ran_ms = -1;    // NodeFailure::ran_ms
};
// The options of this node do not fit those of the others, which wait for it in vain
// (NodeFailure::Kind::kUnfit). Or a node plans another job (kDiffers).
struct Unfit {};
// The diagnosis of a failure on this node, made from its output. Policy::restart_verdict requests
// it, and so does a cause with several failed tasks.
struct Diagnosed {
  std::uint32_t restarts = 0;  // number of the start that failed
  bool hopeless = false;       // a restart would end the same way
  // Another task of the cause failed first. Or, while another node's failure is not known, this
  // rank failed here, as its output before trainit's signal shows. If `first` is set, a further
  // Diagnosed event follows.
  std::optional<TaskRef> first = {};
};
// All nodes have arrived at the rendezvous before a start.
struct NodesReady {
  std::uint32_t restarts = 0;  // the job's number of restarts, which all nodes adopt
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
// A failed start comes back as TasksEnded with kNotStarted, in a later step.
struct Start {
  TaskRef task;
};
struct Signal {
  TaskRef task;
  int signal = 0;
  bool stops = false;  // a stop signal; otherwise a forwarded signal
};
// Sends `signal` to every adopted process, and from now on to each newly adopted one; 0 ends that.
// While it is active, the caller posts NothingLeft and NothingAdopted as soon as they are true,
// possibly at once. If adopted processes cannot be distinguished (no /proc), NothingLeft alone is
// enough.
struct SweepAdopted {
  int signal = 0;
};
struct SetTimer {  // replaces a pending timer of the same name
  Timer timer = Timer::kKill;
  std::uint32_t generation = 0;
  TimeMs at = 0;
};
struct CancelTimer {
  Timer timer = Timer::kKill;
};
struct AskToSave {};  // sends the main tasks the checkpoint signal, if there is one
struct Report {};     // reports the known cause; repeated if another cause was reported before
struct Exit {         // the last action, once; the caller kills processes that still live
  int code = 0;
};
}  // namespace action

using Action = std::variant<action::Start, action::Signal, action::SweepAdopted, action::SetTimer,
                            action::CancelTimer, action::AskToSave, action::Report, action::Exit>;

}  // namespace lifecycle
