#pragma once
// Ascend jobs under Volcano. MindCluster's Ascend operator sets variables that look like Kubeflow's
// but count other things: WORLD_SIZE counts NPUs, and RANK counts nodes. The operator, or the older
// hccl-controller, mounts a rank table. Sources: MindCluster's ascend-operator (its environment
// settings) and the description of hccl.json.

#include <optional>

#include "envgen/platform/platform_common.h"

namespace envgen {

// Returns the variable that only the operator sets, if it is set. MASTER_ADDR and RANK alone could
// also be Kubeflow's, where they have another meaning.
Variable mindcluster_variable(const Inputs& inputs);

// Where the operator mounts the rank table. A container that has this file is the operator's even
// if it lacks the variables.
inline constexpr const char* kMountedRankTable = "/user/serverid/devindex/config/hccl.json";

// Locates the node by the rank table that is named or mounted, otherwise by the operator's
// variables. Returns nullopt if neither exists.
std::optional<Location> locate_by_mindcluster(Inputs& inputs);

}  // namespace envgen
