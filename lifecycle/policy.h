#pragma once
// What the user may choose about a job's course, and the instants that follow from its grace.

#include <cstdint>

#include "lifecycle/task.h"

namespace lifecycle {

// Which endings of main tasks make the job a success.
enum class SuccessPolicy : std::uint8_t {
  kAll,    // every main task exits 0
  kFirst,  // the first main task alone decides; when it ends the others are stopped
  kServe,  // it serves until it is told to stop, and to die of that signal is then a success.
           // Before that as kAll: a server that ends by itself fails only by its code
};

struct Policy {
  TimeMs grace_ms = 8000;         // from the first stop request to the exit
  TimeMs kill_reserve_ms = 1000;  // of the grace, for KILL and what follows it
  TimeMs post_stop_ms = 0;        // of the grace, kept for post-stop tasks, where there are any
  TimeMs resolve_timeout_ms = 0;  // of the resolve task; 0 = none. Ends with 124.
  TimeMs hold_ms = 0;             // the debug window after a failure; 0 = none
  std::uint32_t max_restarts = 0;
  TimeMs restart_backoff_ms = 1000;  // doubled at each restart, at most restart_backoff_max_ms
  TimeMs restart_backoff_max_ms = 60000;
};

// A killed process is given this long to be reaped, however small the reserve; then we go on
// without it. It may be spent three times (main tasks, leftovers, a post-stop task), so that an
// exit comes at most 3 * kReapMs after the grace.
inline constexpr TimeMs kReapMs = 200;

// The resolver's two halves of an answer, a message and its end, come at most this far apart.
inline constexpr TimeMs kAnswerGapMs = 10000;

// The course of an end, in the order of time; r is the reserve:
//
//   start .. TERM .. kill_at .r/4. (given up) .r/4. sweep_kill_at .r/4. (given up)
//     .. post-stop .. post_term_at .. post_kill_at .r/4. start + grace
//
// Reserves that would leave the TERM phase less than a quarter of the grace are scaled down.
struct Budget {
  TimeMs kill_at = 0;        // main tasks, hooks and the data task get KILL
  TimeMs sweep_kill_at = 0;  // services and adopted processes get KILL
  TimeMs post_term_at = 0;   // the post-stop task that still runs gets TERM ...
  TimeMs post_kill_at = 0;   // ... and KILL
  TimeMs reap_ms = kReapMs;  // between KILL and giving up
};
Budget make_budget(const Policy& policy, bool has_post_stop, TimeMs start);

// Without a stop request nobody waits for us: post-stop tasks have all their time from `now`.
void allow_post_stop(const Policy& policy, TimeMs now, Budget* budget);

// What the restart after `restarts` earlier ones waits.
TimeMs restart_delay(const Policy& policy, std::uint32_t restarts);

}  // namespace lifecycle
