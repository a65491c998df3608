#pragma once
// Plans the environment of CANN for a job on Ascend devices: set_env.sh of the toolkit and of
// nnal/atb, and the library paths of the driver.

#include "base/result.h"
#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"

namespace envgen {

// Adds the library paths to plan.env, and the set_env.sh files that exist to plan.scripts. Call it
// only for a job on Ascend devices, after the framework is chosen.
base::Status apply_cann(Inputs& inputs, Plan& plan);

}  // namespace envgen
