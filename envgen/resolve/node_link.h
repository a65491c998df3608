#pragma once
// Plans the link between the nodes of a job: the address at which each node connects to node 0, and
// what the failure of a node means for the others.

#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/platform_facts.h"

namespace envgen {

// Fills plan.link if the job has several nodes and node 0's address is known. Must run after
// plan_restart_policy(), which decides whether the nodes restart together.
void plan_node_link(const Inputs& inputs, const ResolvedCluster& resolved, Plan& plan);

}  // namespace envgen
