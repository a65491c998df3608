#pragma once
// A digest of what a node is to run. Two trainits that were started for the same ranks on one host
// find each other by it (init/engine/cluster/node_claim.h).

#include <cstdint>
#include <string_view>

#include "base/environ.h"
#include "envgen/plan/plan.h"

namespace envgen {

// Returns the digest of a plan that resolve() made. Returns 0 for a plan that does no harm if it
// runs twice: one without processes, with a single rank, or of the framework "single".
// Jobs that differ in a directory or an argument are two jobs. Nodes with a link have an address
// and a port that two jobs cannot share. Without a link the caller's environment is included,
// except for the variables of a session: jobs that differ in a variable are two jobs. `run_dir` and
// the paths below it belong to an instance, not to the job, and are left out.
std::uint64_t claim_of(const Plan& plan, const base::Environ& env, std::string_view run_dir);

}  // namespace envgen
