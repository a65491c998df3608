#pragma once
// The instants that follow from a policy's grace, and when it lets a job start again.

#include <cstdint>

#include "base/policy.h"
#include "lifecycle/task.h"

namespace lifecycle {

using envgen::CodeRange;
using envgen::EscalationStep;
using envgen::Policy;
using envgen::SuccessPolicy;

// A killed process is given this long to be reaped, however small the reserve; then we go on
// without it. It may be spent three times (main tasks, leftovers, a post-stop task), so that an
// exit comes at most 3 * kReapMs after the grace.
inline constexpr TimeMs kReapMs = 200;

// Which failure of a job of several nodes was the first is waited for this long at most.
inline constexpr TimeMs kVerdictMs = 6000;

// Whether a restart can help is waited for this long at most, since the failure.
inline constexpr TimeMs kDiagnosisMs = 2500;

// A platform that stops a job reaches its nodes one after another: one that ends because another
// was stopped waits so long for a stop of its own, to end as that.
inline constexpr TimeMs kStopOfAllMs = 1000;

// The resolver's two halves of an answer, a message and its end, come at most this far apart.
inline constexpr TimeMs kAnswerGapMs = 10000;

// The stop sequence, in the order of time; r is the reserve:
//
//   start .. (pre-stop, drain) .. notify_at: TERM .. (escalation) .. kill_at .r/4. (given up) .r/4.
//   sweep_kill_at .r/4. (given up)
//     .. post-stop .. post_term_at .. post_kill_at .r/4. start + grace
//
// Shares that would leave the TERM phase less than a quarter of the grace are scaled down.
struct Budget {
  TimeMs drained_at = 0;     // main tasks are told to stop, unless pre-stop tasks still run ...
  TimeMs notify_at = 0;      // ... and then at the latest
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
// The first waits for nothing: what failed once is most often gone.
TimeMs restart_delay(const Policy& policy, std::uint32_t failures);

// Whether a failure with this exit code may be answered by a restart at all.
bool restarts_on(const Policy& policy, int exit_code);

}  // namespace lifecycle
