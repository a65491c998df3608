#pragma once
// Ascend jobs under Volcano: MindCluster's Ascend operator, whose variables look like Kubeflow's
// but count otherwise (WORLD_SIZE counts NPUs and RANK nodes), and the rank table that it or the
// older hccl-controller mounts. Sources: MindCluster's ascend-operator (its environment settings)
// and the description of hccl.json.

#include <optional>

#include "envgen/platform/platform_common.h"

namespace envgen {

// The variable that shows the operator: no one else sets it. MASTER_ADDR and RANK alone could be
// Kubeflow's, with another meaning.
Variable mindcluster_variable(const Inputs& inputs);

// Where it mounts the rank table. A container that has it and no variable is still the operator's.
inline constexpr const char* kMountedRankTable = "/user/serverid/devindex/config/hccl.json";

// By a rank table that is named or mounted, else by the operator's variables. Nothing when there is
// neither.
std::optional<Location> locate_by_mindcluster(Inputs& inputs);

}  // namespace envgen
