#pragma once
// --terminal: a service beside the job, on every node, through which a person looks into it.

#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/site.h"

namespace envgen {

// "1" is an sshd as the MPI workers have it, unless the plan has one; an image without one gets a
// warning. Another text is a command. After the launcher.
void add_terminal(Inputs& inputs, const Site& site, Plan& plan);

}  // namespace envgen
