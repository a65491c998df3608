#pragma once
// The watches beside a running job (performance, stall and health), adjusted to the plan.

#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"

namespace envgen {

// Fills plan.observe: the health interval, and `stacks` with the variables that Python processes
// need for it. Warns of what a watch cannot do in this plan. Requires a plan with its processes,
// hooks and policy.
void plan_watches(const Inputs& inputs, Plan& plan);

}  // namespace envgen
