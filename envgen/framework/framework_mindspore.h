#pragma once
// MindSpore without a rank table: msrun, and its dynamic cluster. launch_ascend() chooses.
// Sources: MindSpore's msrun and dynamic cluster tutorials and its parallel/cluster sources, the
// Ascend operator's variables.

#include <span>
#include <string_view>

#include "base/result.h"
#include "envgen/plan/inputs.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/platform_facts.h"

namespace envgen {

// One msrun a node, which starts the node's processes; always with --join=True, because without it
// msrun ends at once and the container with it.
Status launch_msrun(Inputs& inputs, const ResolvedCluster& resolved, Plan& plan);

// One process per device with MindSpore's variables, and on one node the scheduler, which is no
// rank. Where the platform started one task per rank, the process of this task's device alone.
Status launch_dynamic_cluster(Inputs& inputs, const ResolvedCluster& resolved, Plan& plan);

// What the operator or an msrun around this container says of itself.
std::span<const std::string_view> mindspore_cluster_variables();

}  // namespace envgen
