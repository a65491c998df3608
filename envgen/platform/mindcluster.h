#pragma once
// Ascend jobs under Volcano. MindCluster's Ascend operator sets variables that look like Kubeflow's
// but count differently: WORLD_SIZE counts NPUs and RANK nodes. The operator or the older
// hccl-controller mounts a rank table. Sources: MindCluster's ascend-operator (its environment
// settings) and the description of hccl.json.

#include <optional>

#include "envgen/platform/platform_common.h"

namespace envgen {

// Returns the variable that shows the operator; no other platform sets it. MASTER_ADDR and RANK
// alone could be Kubeflow's, with another meaning.
Variable mindcluster_variable(const Inputs& inputs);

// The path at which the operator mounts the rank table. A container with this file but without a
// variable still belongs to the operator.
inline constexpr const char* kMountedRankTable = "/user/serverid/devindex/config/hccl.json";

// Locates the node by a rank table that is named or mounted, else by the operator's variables.
// Returns nothing without both.
std::optional<Location> locate_by_mindcluster(Inputs& inputs);

}  // namespace envgen
