#pragma once
// The watches beside a running job: performance, stall and health. Adjusted to the plan.

#include "envgen/plan/plan.h"
#include "envgen/plan/request.h"

namespace envgen {

// Fills plan.observe's health interval; warns of what a watch cannot do in this plan. For a plan
// with its processes, hooks and policy.
void plan_watches(const Request& request, Plan& plan);

}  // namespace envgen
