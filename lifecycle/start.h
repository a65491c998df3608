#pragma once
// The parts of a Machine's state, by the time that they live. A member that belongs to one start of
// the job, or to one stop sequence, is a member of its struct and cannot be forgotten at a reset:
//
//   StartState    one start of the job: from Begin or a restart until the next restart
//   StopSequence  one stop sequence of that start, or the last one of the container
//   StopRequests  the container: no start follows a stop request
//
// All other state of a Machine belongs to the container (machine.h).

#include <cstdint>
#include <optional>
#include <vector>

#include "lifecycle/events.h"
#include "lifecycle/policy.h"
#include "lifecycle/task.h"

namespace lifecycle {

// The first failure of a start. It includes a death by the machine's own signal only if the output
// shows that the task had failed before (event::Diagnosed).
struct Cause {
  // The failed tasks, the first failure in front. Empty if no task failed here: a time-out, options
  // that do not fit, or a failure on another node.
  std::vector<event::TaskEnd> ends;
  int exit_code = 0;  // exit code of the failure, never 0
  TimeMs at = 0;
};

// The reason why a start ended.
enum class Outcome : std::uint8_t {
  kOpen,
  kSucceeded,
  kFailed,
  kStopped,
  kExpired,
  kRescheduled,
  kReplanned,  // the list of nodes changed
  kStoppedElsewhere,
};

struct StartState {
  // The start sequence.
  int resolve_code = 0;  // exit code from ResolveFailed; 0: none
  bool nodes_ready = false;
  TimeMs rendezvous_until = 0;  // 0: no rendezvous has begun
  bool mains_started = false;
  std::optional<TimeMs> began_at;  // start of the main tasks
  std::optional<TimeMs> well_ms;   // time that this start ran well, after its end
  bool counts_anew = false;        // this start has reset the count of failures

  // A checkpoint.
  TimeMs checkpoint_until = 0;
  // The main tasks got the checkpoint signal; the end of their saving is not visible.
  bool signal_saves = false;
  bool save_known = false;  // all nodes know of the checkpoint
  bool save_ends = false;   // the checkpoint ends the job, whatever its ranks return

  // The end.
  Outcome outcome = Outcome::kOpen;
  bool has_cause = false;
  Cause cause = {};
  bool restartable = false;  // a restart may answer the cause
  bool diagnosing = false;   // the diagnosis of the cause is not complete
  bool elsewhere = false;    // the cause is another node's
  // The stop sequence began for a failure elsewhere, which may prove not to be the first.
  bool began_elsewhere = false;
  bool verdict_known = false;  // the first failure of the job is known
};

struct StopSequence {
  // The progress of Phase::kStopping (the first six) and Phase::kPostStop (the others).
  enum class Stage : std::uint8_t {
    kPreStop,
    kTerm,
    kKill,
    kVerdict,
    kSweep,
    kSweepKill,
    kPost,
    kPostTerm,
    kPostKill,
  };
  enum class Next : std::uint8_t { kEnd, kRestart, kHold };  // phase after kStopping

  Stage stage = Stage::kTerm;
  Next next = Next::kEnd;  // valid from kSweep on
  Budget budget = {};
  // The time of the KILL by Policy::failure_grace_ms. A time that is not before budget.kill_at has
  // no effect.
  std::optional<TimeMs> kill_by;
  TimeMs notified_at = 0;       // time at which the main tasks got the stop signal
  std::uint32_t escalated = 0;  // escalation steps since then
  TimeMs verdict_since = 0;     // begin of the wait for the verdict
};

struct StopRequests {
  int signal = 0;  // signal of the first request; 0: no stop was requested
  int sent = 0;    // signal that the main tasks get for `signal`
  // Set of signals for the main tasks from all requests (signal_bit).
  std::uint64_t all = 0;
  int interrupts = 0;      // SIGINTs among the requests
  int terms = 0;           // SIGTERMs among the requests
  bool expedited = false;  // a second request asked for KILL
};

}  // namespace lifecycle
