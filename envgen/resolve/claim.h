#pragma once
// A digest of what a node is to run, by which two trainits that were started for the same ranks on
// one host find one another (init/engine/cluster/node_claim.h).

#include <cstdint>
#include <string_view>

#include "base/environ.h"
#include "envgen/plan/plan.h"

namespace envgen {

// Of a plan as resolve() has made it; 0 for one without ranks of a job of several, which does no
// harm twice. Nodes with a link have an address and a port that two jobs cannot share; elsewhere
// the caller's environment counts as well: jobs that differ in a variable, a directory or an
// argument are two jobs. `run_dir` and what lies below it belongs to an instance, not to the job.
std::uint64_t claim_of(const Plan& plan, const Environ& env, std::string_view run_dir);

}  // namespace envgen
