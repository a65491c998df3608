#pragma once
// What a request and a plan mean for the machine: its policy and how a job succeeds.

#include <cstdint>
#include <string>
#include <vector>

#include "envgen/plan/plan.h"
#include "envgen/plan/request.h"
#include "init/engine/setup.h"
#include "lifecycle/events.h"
#include "lifecycle/policy.h"

namespace engine {

lifecycle::Policy machine_policy(const envgen::PlanPolicy& plan, std::int64_t resolve_timeout_ms);
// What was asked for and will not be done: steps of the escalation that would come too late.
std::vector<std::string> policy_warnings(const envgen::Plan& plan);
// What the machine is told of a plan.
lifecycle::event::ClusterReady cluster_ready(const envgen::Plan& plan,
                                             std::int64_t resolve_timeout_ms);
lifecycle::SuccessPolicy success_of(envgen::Success success);

// The plan may not exist for half an hour, and a stop must be bounded before.
envgen::PlanPolicy early_policy_of(const Setup& setup);

// The resolver has its own deadlines for what it waits for, and work to do after that: a large
// table, device directories to empty, scripts to source. PID 1's is for one that hangs.
std::int64_t hang_timeout_ms(const envgen::Request& request);

}  // namespace engine
