#pragma once
// MindSpore jobs without a rank table, either with msrun or with MindSpore's dynamic cluster.
// launch_ascend() chooses between the two. Sources: MindSpore's msrun and dynamic cluster tutorials
// and its parallel/cluster sources, the Ascend operator's variables.

#include <span>
#include <string_view>

#include "base/result.h"
#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/platform_facts.h"

namespace envgen {

// Plans one msrun for the node, which starts the node's ranks. Always passes --join=True, because
// otherwise msrun, and the container with it, would end at once.
base::Status launch_msrun(Inputs& inputs, const ResolvedCluster& resolved, Plan& plan);

// Plans one process per device with MindSpore's variables. One node also gets the scheduler, which
// is no rank. If the platform started one task per rank, only the process of this task's device is
// planned.
base::Status launch_dynamic_cluster(Inputs& inputs, const ResolvedCluster& resolved, Plan& plan);

// Returns the names of the variables by which the operator, or an msrun that started this
// container, describes its own cluster.
std::span<const std::string_view> mindspore_cluster_variables();

}  // namespace envgen
