#pragma once
// The events that the machine gets and the actions that it asks for. Both are plain values.

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
  kNotify,      // the drain or the pre-stop tasks' time is over
  kCheckpoint,  // what a checkpoint is granted is over
  kExpire,      // the job's time is over
  kRendezvous,  // the other nodes have not arrived
  kVerdict,     // nobody said which failure was the first
  kDiagnosis,   // nobody said whether a restart can help
};
inline constexpr std::size_t kTimerCount = 13;

namespace event {
struct Begin {};
// The resolver's answer: the main and service tasks to start, and the hooks; kData and kResolve are
// left out. Without a main task the job is a pause, which
// only a stop ends, and well. The first time they are appended to the table. After a restart the
// n-th main task takes the place of the n-th before (next incarnation), further ones are appended,
// places no longer named stay ended; services that run go on, the others are started again;
// hooks no longer named are left out. Task::ordinal says which one is meant.
struct ClusterReady {
  std::vector<TaskKind> tasks;
  Policy policy = {};  // from now on; what has begun keeps its times
  // The one main task is one node's part of a job: stopped, its own code is not the job's.
  bool part_of_job = false;
};
struct TaskStarted {  // its program was executed
  TaskRef task;
};
struct TaskEnd {
  TaskRef task;
  ExitStatus exit_status;
  bool unasked = false;  // no stop signal of ours had reached it
};
struct TasksEnded {  // all deaths seen in one turn
  std::vector<TaskEnd> ends;
  int forwarded = 0;  // the signal that one of them died of, after it came to us; 0 = none
};
struct ResolveFailed {  // why the resolve task is about to end badly: 69 or 125. Before its end.
  int exit_code = 125;
  bool left = false;  // no failure: the job goes on without this node, which ends well
};
struct StopRequested {
  int signal = 15;
  int sent = 0;  // the signal that the main tasks get instead; 0 = the same
};
struct SignalReceived {  // any other signal: forwarded to the main tasks
  int signal = 0;
};
struct TimerFired {
  Timer timer = Timer::kKill;
  std::uint32_t generation = 0;
};
struct NothingLeft {};     // no child is left, adopted ones included; all ends of tasks were told
struct NothingAdopted {};  // no adopted child is left; services of ours may be
struct Release {};         // ends the debug window
struct HoldFor {           // sets the debug window, once in it, to end this long from now
  TimeMs duration_ms = 0;
};
// The main tasks save what they have reached. Then the job ends and asks to be started again
// elsewhere (75), whatever their exit codes; or it goes on.
struct CheckpointRequested {
  bool keep_running = false;
  bool elsewhere = false;  // on another node of the job
};
struct NobodySaves {};  // the answer to AskToSave: no process takes the signal
// All nodes know of the checkpoint that ends the job, and none had failed before.
struct SaveKnown {};
struct ExpireIn {  // sets the job's time to be over this long from now, also where it had no limit
  TimeMs duration_ms = 0;
};
// Other nodes than the job was started with: start it again.
struct MembershipChanged {
  bool elsewhere = false;  // as another node has seen, which starts again
};
// A main task lives and makes no progress: it has failed with 70.
struct TaskStalled {
  TaskRef task;
  TimeMs silent_ms = 0;  // for so long
};
// The connection to the job's other nodes (coordinator.h): while it is up, which failure was the
// first is known by it.
struct Linked {
  bool up = false;
  bool ended = false;  // node 0 has said farewell: it gives no start any more
};
// A node of the job has failed or was stopped, and with it the job.
struct JobFailed {
  bool known = false;    // which was the first; the rest is of that one
  bool here = false;     // it is this node's own failure
  bool stopped = false;  // a stop of that node, and no failure
  bool expired = false;  // nor is this: the job's time is over
  bool again = false;    // the job starts again on all nodes
  TimeMs ran_ms = -1;    // NodeFailure::ran_ms
};
// The options of this node do not fit those of the others, which wait for it in vain.
struct Unfit {};
// The output of a failure here has been read. Policy::restart_verdict asks for it, and a cause with
// several ends.
struct Diagnosed {
  std::uint32_t restarts = 0;  // in which start of the job it failed
  bool hopeless = false;       // another one would end the same
  // Another end of the cause was the first; or, while another node's failure is not known, this
  // rank failed here, by what it had printed before our signal. Then more follows.
  std::optional<TaskRef> first = {};
};
// All nodes have arrived, where they wait for one another before a start.
struct NodesReady {
  std::uint32_t restarts = 0;  // of the job, by which all of them count
};
// It was sent a stop signal and may not be: it is not waited for, as it cannot be killed either.
struct Unreachable {
  TaskRef task;
};
}  // namespace event

using Event =
    std::variant<event::Begin, event::ClusterReady, event::TaskStarted, event::TasksEnded,
                 event::ResolveFailed, event::StopRequested, event::SignalReceived,
                 event::TimerFired, event::NothingLeft, event::NothingAdopted, event::Release,
                 event::HoldFor, event::CheckpointRequested, event::NobodySaves, event::SaveKnown,
                 event::ExpireIn, event::MembershipChanged, event::TaskStalled, event::Linked,
                 event::JobFailed, event::Unfit, event::Diagnosed, event::NodesReady,
                 event::Unreachable>;

namespace action {
// A failed start comes back as TasksEnded with kNotStarted, in a later step.
struct Start {
  TaskRef task;
};
struct Signal {
  TaskRef task;
  int signal = 0;
  bool stops = false;  // it is to end it; otherwise the signal is one that is passed on
};
// Signal every adopted process, and from now on each one that is adopted; 0 ends that. While it
// holds, NothingLeft and NothingAdopted are said as soon as they are true, which may be at once.
// Where adopted processes cannot be told apart (no /proc), NothingLeft alone is enough.
struct SweepAdopted {
  int signal = 0;
};
struct SetTimer {  // replaces a pending one of the same name
  Timer timer = Timer::kKill;
  std::uint32_t generation = 0;
  TimeMs at = 0;
};
struct CancelTimer {
  Timer timer = Timer::kKill;
};
struct AskToSave {};  // the main tasks are sent the signal for a checkpoint, where there is one
struct Report {};     // the cause is known: say it. Again where another node's came before it
struct Exit {         // once, the last action. What still lives is the caller's to kill.
  int code = 0;
};
}  // namespace action

using Action = std::variant<action::Start, action::Signal, action::SweepAdopted, action::SetTimer,
                            action::CancelTimer, action::AskToSave, action::Report, action::Exit>;

}  // namespace lifecycle
