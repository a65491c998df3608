#pragma once
// Who this node is, held against what this machine is called. Replicas are called alike but for
// their numbers: "algo-1" and "algo-2", "train-worker-0" and "train-worker-1".

#include <string>

#include "base/result.h"
#include "envgen/plan/inputs.h"
#include "envgen/plan/platform_facts.h"

namespace envgen {

// An error if this machine has the name of another node of the job. A text to warn with if it is to
// be the first node and the master's name is a sibling's: it may have several names. "" = nothing.
Result<std::string> check_identity(const Inputs& inputs, const ResolvedCluster& resolved);

// Of a pod for which nothing says that it is one of several: a name such as "train-worker-1" or
// "train-1" is a sign. A first one, "train-0", may be alone: a text to warn with. "" = nothing.
Result<std::string> check_replica_name(const Inputs& inputs);

}  // namespace envgen
