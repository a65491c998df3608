#pragma once
// The rules by which a policy lets a job start again, and how long the lifecycle waits for what it
// needs to know.

#include <cstdint>

#include "base/policy.h"
#include "lifecycle/task.h"

namespace lifecycle {

using envgen::allow_post_stop;
using envgen::Budget;
using envgen::CodeRange;
using envgen::EscalationStep;
using envgen::in_time;
using envgen::kReapMs;
using envgen::make_budget;
using envgen::Policy;
using envgen::StopHooks;
using envgen::SuccessPolicy;

// The longest wait for the verdict which failure of a job of several nodes was the first; behind a
// checkpoint, whether any came before it.
inline constexpr TimeMs kVerdictMs = 6000;

// The longest wait for the answer whether a restart can help, since the failure.
inline constexpr TimeMs kDiagnosisMs = 2500;

// A platform that stops a job reaches its nodes one after another: one that ends because another
// was stopped waits so long for a stop of its own, to end as that.
inline constexpr TimeMs kStopOfAllMs = 1000;

// The resolver's two halves of an answer, a message and its end, come at most this far apart.
inline constexpr TimeMs kAnswerGapMs = 10000;

// The delay of the restart after a failure, when `failures` earlier ones were answered by a
// restart. The first waits for nothing: what failed once is most often gone.
TimeMs restart_delay(const Policy& policy, std::uint32_t failures);

// Whether a failure with this exit code may be answered by a restart at all.
bool restarts_on(const Policy& policy, int exit_code);

}  // namespace lifecycle
