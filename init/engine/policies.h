#pragma once
// A plan as the state machine gets it.

#include <string>
#include <vector>

#include "envgen/plan/plan.h"
#include "init/engine/setup.h"
#include "lifecycle/events.h"

namespace engine {

// The warnings of what was asked for and will not be done: a drain that is shortened, steps of the
// escalation that would come too late.
std::vector<std::string> policy_warnings(const envgen::Plan& plan);
// What the machine is told of a plan.
lifecycle::event::ClusterReady cluster_ready(const envgen::Plan& plan);

// The plan may not exist for half an hour, and a stop must be bounded before.
envgen::Policy early_policy_of(const Setup& setup);

// Of a single command for which nothing has to be resolved. Where it was started before its image's
// hooks were read, those after a failure are left of them; they lie on the image's own disk.
envgen::Plan plan_of_pass_through(const Setup& setup);

}  // namespace engine
