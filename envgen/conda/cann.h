#pragma once
// CANN's environment: set_env.sh of the toolkit and of nnal/atb, the driver's library paths.

#include "base/result.h"
#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"

namespace envgen {

// Adds to plan.env and to plan.scripts what sourcing them would do. Only for a job on Ascend
// devices, so after the framework is chosen.
Status apply_cann(Inputs& inputs, Plan& plan);

}  // namespace envgen
