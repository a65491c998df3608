#pragma once
// What the user may choose about a job's course, and the instants that follow from its grace.

#include <cstdint>
#include <vector>

#include "lifecycle/task.h"

namespace lifecycle {

// Which endings of main tasks make the job a success.
enum class SuccessPolicy : std::uint8_t {
  kAll,    // every main task exits 0
  kFirst,  // the first main task alone decides; when it ends the others are stopped
  kServe,  // it serves until it is told to stop, and to die of that signal is then a success.
           // Before that as kAll: a server that ends by itself fails only by its code
};

// A further signal to the main tasks that live on although they were told to stop. One whose time
// comes at the KILL or after it is left out; a step that is SIGKILL is the KILL, come early.
struct EscalationStep {
  int signal = 0;
  TimeMs after_ms = 0;  // since they were told
};

struct CodeRange {  // of exit codes, both ends included
  int first = 0;
  int last = 0;
};

struct Policy {
  TimeMs grace_ms = 8000;            // from the first stop request to the exit
  TimeMs kill_reserve_ms = 1000;     // of the grace, for KILL and what follows it
  TimeMs drain_ms = 0;               // of the grace, from a stop request to the main tasks' signal
  TimeMs pre_stop_ms = 0;            // of the grace, for pre-stop tasks, where there are any
  TimeMs post_stop_ms = 0;           // of the grace, kept for post-stop tasks, where there are any
  TimeMs post_stop_alone_ms = 0;     // the same where nobody waits for the end, when it is more
  TimeMs resolve_timeout_ms = 0;     // of the resolve task; 0 = none. Ends with 124.
  TimeMs hold_ms = 0;                // the debug window after a failure; 0 = none
  TimeMs max_duration_ms = 0;        // from the beginning, restarts included; 0 = none
  TimeMs checkpoint_ms = 300000;     // what the main tasks and kCheckpoint are granted
  bool checkpoint_signal = false;    // the main tasks are asked too: kCheckpoint's end is not all
  std::uint32_t max_restarts = 0;    // after failures of main tasks
  TimeMs restart_backoff_ms = 1000;  // doubled at each failure, up to restart_backoff_max_ms
  TimeMs restart_backoff_max_ms = 60000;
  TimeMs restart_least_ms = 0;                // before any restart
  std::vector<CodeRange> no_restart_on = {};  // exit codes of failures that a restart does not mend
  bool second_term_hurries = false;           // as a second INT does
  std::vector<EscalationStep> escalation = {};  // by time
};

// A killed process is given this long to be reaped, however small the reserve; then we go on
// without it. It may be spent three times (main tasks, leftovers, a post-stop task), so that an
// exit comes at most 3 * kReapMs after the grace.
inline constexpr TimeMs kReapMs = 200;

// The resolver's two halves of an answer, a message and its end, come at most this far apart.
inline constexpr TimeMs kAnswerGapMs = 10000;

// The course of an end, in the order of time; r is the reserve:
//
//   start .. (pre-stop, drain) .. tell_at: TERM .. (escalation) .. kill_at .r/4. (given up) .r/4.
//   sweep_kill_at .r/4. (given up)
//     .. post-stop .. post_term_at .. post_kill_at .r/4. start + grace
//
// Shares that would leave the TERM phase less than a quarter of the grace are scaled down.
struct Budget {
  TimeMs drained_at = 0;     // main tasks are told to stop, unless pre-stop tasks still run ...
  TimeMs tell_at = 0;        // ... and then at the latest
  TimeMs kill_at = 0;        // main tasks and hooks get KILL
  TimeMs sweep_kill_at = 0;  // services and adopted processes get KILL
  TimeMs post_term_at = 0;   // the post-stop task that still runs gets TERM ...
  TimeMs post_kill_at = 0;   // ... and KILL
  TimeMs reap_ms = kReapMs;  // between KILL and giving up
};
// What of the grace is kept for hooks.
struct Hooks {
  bool pre_stop = false;
  bool post_stop = false;
};
Budget make_budget(const Policy& policy, Hooks hooks, TimeMs start);

// Whether a step of the escalation comes before the KILL that comes anyway.
bool in_time(const EscalationStep& step, const Budget& budget, TimeMs start);

// Without a stop request nobody waits for us: post-stop tasks have all their time from `now`.
void allow_post_stop(const Policy& policy, TimeMs now, Budget* budget);

// What the restart after a failure waits, when `failures` earlier ones were answered by a restart.
TimeMs restart_delay(const Policy& policy, std::uint32_t failures);

// Whether a failure with this exit code may be answered by a restart at all.
bool restarts_on(const Policy& policy, int exit_code);

}  // namespace lifecycle
