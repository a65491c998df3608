#pragma once
// The link of a job's nodes: where each keeps a connection to node 0, and what follows on the
// others when one of them fails.

#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/platform_facts.h"

namespace envgen {

// Fills in plan.link where the job has several nodes and node 0's address is known. After
// plan_restart_policy(), which says whether the nodes restart together.
void plan_node_link(const Inputs& inputs, const ResolvedCluster& resolved, Plan& plan);

}  // namespace envgen
