#pragma once
// --terminal: a service beside the job, on every node, through which a person looks into it.

#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/platform_facts.h"

namespace envgen {

bool has_terminal(const Request& request);

// "1" is an sshd as the MPI workers have it, unless the plan has one; an image without one gets a
// warning. Another text is a command. After the launcher.
void add_terminal(Inputs& inputs, const PlatformFacts& platform, Plan& plan);

}  // namespace envgen
