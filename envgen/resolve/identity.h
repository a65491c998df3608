#pragma once
// Who this node is, held against what this machine is called. Replicas are called alike but for
// their numbers: "algo-1" and "algo-2", "train-worker-0" and "train-worker-1".

#include <string>

#include "base/result.h"
#include "envgen/plan/inputs.h"
#include "envgen/plan/platform_facts.h"

namespace envgen {

// An error if this machine has the name or address of another node of the job. A text to warn with
// if it is to be the first node and the master's name is a sibling's, or the master's address none
// of its own, and if it is another node and that address is its own. "" = nothing.
Result<std::string> check_identity(const Inputs& inputs, const ResolvedCluster& resolved);

// Judges the name of a pod for which nothing else says that it is one of several. An error for a
// number above 0 behind the name of a role ("train-worker-1"), or in the domain of a service, as a
// StatefulSet's pods have it. A text to warn with for another number ("llama-2") and for 0, which
// may be alone. "" = nothing.
Result<std::string> check_replica_name(Inputs& inputs);

}  // namespace envgen
