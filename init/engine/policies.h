#pragma once
// Conversions of a plan for the state machine, and the policy and the plan that need no resolver.

#include <string>
#include <vector>

#include "envgen/plan/plan.h"
#include "init/engine/setup.h"
#include "lifecycle/events.h"

namespace engine {

// Returns warnings about requests that cannot be met, such as a shortened drain, or steps of the
// escalation that would come too late.
std::vector<std::string> policy_warnings(const envgen::Plan& plan);
// Returns the event that tells the machine about a plan.
lifecycle::event::ClusterReady cluster_ready(const envgen::Plan& plan);

// Returns the policy before there is a plan. The plan may not exist for half an hour, and a stop
// must be bounded before.
base::Policy early_policy_of(const Setup& setup);

// Returns the plan of a pass-through: a single command for which nothing must be resolved. If the
// command was started before its image's hooks were read, only the hooks after a failure remain in
// the plan. PID 1 reads them itself, because they are on the image's own disk.
envgen::Plan plan_of_pass_through(const Setup& setup);

}  // namespace engine
