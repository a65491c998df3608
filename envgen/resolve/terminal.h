#pragma once
// --terminal: a service beside the job, on every node, through which a person can inspect it.

#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/platform_facts.h"

namespace envgen {

bool has_terminal(const Request& request);

// Adds the service to the plan. "1" means an sshd as on MPI workers, unless the plan has one
// already; without an sshd in the image a warning is added. Any other text is a command. Must run
// after the launcher.
void add_terminal(Inputs& inputs, const PlatformFacts& platform, Plan& plan);

}  // namespace envgen
