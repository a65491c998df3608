#pragma once
// The restart rules of a policy, and the longest times that the lifecycle waits for information.

#include <cstdint>

#include "base/policy.h"
#include "lifecycle/task.h"

namespace lifecycle {

using base::allow_post_stop;
using base::Budget;
using base::CodeRange;
using base::EscalationStep;
using base::in_time;
using base::kill_sooner;
using base::kReapMs;
using base::make_budget;
using base::Policy;
using base::StopHooks;
using base::SuccessPolicy;

// The longest wait for node 0's verdict which failure of a job was the first. It also limits the
// wait after a checkpoint that ends the job, until node 0 has said whether a node failed before it.
inline constexpr TimeMs kVerdictMs = 6000;

// The longest wait for the diagnosis whether a restart can help. It begins at the failure.
inline constexpr TimeMs kDiagnosisMs = 2500;

// The time that a node waits for its own stop request after another node was stopped. A platform
// that stops a job reaches its nodes one after another. If the request comes in time, the node
// exits with the exit code of a stop.
inline constexpr TimeMs kStopOfAllMs = 1000;

// The longest time between the two parts of the resolver's answer, its message and its exit. They
// can come in either order.
inline constexpr TimeMs kAnswerGapMs = 10000;

// Returns the delay of a restart. `failures`: how many earlier failures were answered by a restart.
// The first restart has no delay, because a first failure is most often transient.
TimeMs restart_delay(const Policy& policy, std::uint32_t failures);

// Returns false if Policy::no_restart_on forbids a restart after a failure with this exit code.
bool restarts_on(const Policy& policy, int exit_code);

}  // namespace lifecycle
