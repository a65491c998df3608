#pragma once
// Doctor's checks before a job starts, in the resolver's child (--preflight).

#include "base/result.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/snapshot.h"

namespace engine {

// Runs the checks. Their results become the plan's warnings and `preflight_found`. If a check
// failed, --preflight require makes this an Error with the first failed checks and what to do.
// Blocks for as long as the slowest check takes, at most doctor::Context::limit_ms.
base::Status preflight(envgen::Plan& plan, const envgen::Snapshot& base);

}  // namespace engine
