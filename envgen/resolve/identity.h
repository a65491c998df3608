#pragma once
// Checks that the plan's identity of this node fits the name and addresses of this machine. The
// names of a job's replicas differ only in their numbers: "algo-1" and "algo-2", "train-worker-0"
// and "train-worker-1". Such other names are called siblings here.

#include <string>

#include "base/result.h"
#include "envgen/plan/inputs.h"
#include "envgen/plan/platform_facts.h"

namespace envgen {

// Returns an error if this machine has the name or address of another node of the job. Returns a
// warning in two cases, otherwise "":
// - This is the first node, and the master's name is a sibling's, or the master's address does not
//   belong to this machine.
// - This is another node, and the master's address belongs to this machine.
base::Result<std::string> check_identity(const Inputs& inputs, const ResolvedCluster& resolved);

// Checks the name of a pod, if nothing else says that the pod is one of several.
// - Error: a number above 0 that follows the name of a role ("train-worker-1"), or that is in the
//   domain
// of a service, as in the pods of a StatefulSet.
// - Warning: any other number ("llama-2"), and 0, because a pod with the number 0 may be alone.
// - "" otherwise.
base::Result<std::string> check_replica_name(Inputs& inputs);

}  // namespace envgen
