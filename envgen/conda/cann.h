#pragma once
// The environment of CANN: set_env.sh of the toolkit and of nnal/atb, and the driver's library
// paths.

#include "base/result.h"
#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"

namespace envgen {

// Adds the library paths to plan.env, and the scripts to source to plan.scripts. Call it only for a
// job on Ascend devices, after the framework is chosen.
base::Status apply_cann(Inputs& inputs, Plan& plan);

}  // namespace envgen
