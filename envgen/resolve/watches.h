#pragma once
// The watches beside a running job: performance, stall and health. Adjusted to the plan.

#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"

namespace envgen {

// Fills plan.observe's health interval and, with what its Python processes need for it, stacks;
// warns of what a watch cannot do in this plan. For a plan with its processes, hooks and policy.
void plan_watches(const Inputs& inputs, Plan& plan);

}  // namespace envgen
