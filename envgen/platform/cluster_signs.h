#pragma once
// Signs of a job of several nodes or processes, for a plan that has one node because nothing said
// more: such a job would become several jobs of one node, each of which ends well and overwrites
// the others' checkpoints.

#include "base/result.h"
#include "envgen/plan/inputs.h"

namespace envgen {

// The error for the first sign, with what to do; none where there is no sign, or the user said that
// the job is of this node alone (--nodes 1, --platform local).
Status check_alone(const Inputs& inputs);

}  // namespace envgen
