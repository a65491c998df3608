#pragma once
// A digest of what a node runs. With it, two trainits on one host that would run the same ranks
// detect each other (init/engine/cluster/node_claim.h).

#include <cstdint>
#include <string_view>

#include "base/environ.h"
#include "envgen/plan/plan.h"

namespace envgen {

// Returns the digest of a plan that resolve() made. Returns 0 for a plan that does no harm if it
// runs twice: one without processes, with a single rank, or of the framework "single".
//
// Jobs that differ in a directory or an argument have different digests. So do jobs with a link
// that differ in its address or port. Without a link, the caller's environment is included too,
// except for variables of a login session. `run_dir` and the paths below it are left out, because
// they differ between two starts of one job.
std::uint64_t claim_of(const Plan& plan, const base::Environ& env, std::string_view run_dir);

}  // namespace envgen
