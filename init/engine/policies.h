#pragma once
// Conversions of a plan into the values of the state machine (lifecycle/machine.h). Also the policy
// and the plan that exist without the resolver.

#include <string>
#include <vector>

#include "envgen/plan/plan.h"
#include "init/engine/setup.h"
#include "lifecycle/events.h"

namespace engine {

// Returns warnings about options that cannot have their full effect: a drain that is shortened, or
// steps of the escalation that would come after the KILL.
std::vector<std::string> policy_warnings(const envgen::Plan& plan);
// Returns the event by which the machine learns a plan.
lifecycle::event::ClusterReady cluster_ready(const envgen::Plan& plan);

// Returns the policy until the resolver has made a plan. That can take half an hour, and a stop
// before then must be bounded too.
base::Policy early_policy_of(const Setup& setup);

// Returns the plan of a pass-through: a single command for which nothing must be resolved. If
// Setup::has_hooks is true, the command runs already, so of the image's hooks the plan has only
// those after a failure. PID 1 reads the hooks itself, because they are on the image's own disk.
envgen::Plan plan_of_pass_through(const Setup& setup);

}  // namespace engine
