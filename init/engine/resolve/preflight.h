#pragma once
// The checks of `trainit doctor` before a job starts (--preflight), in the resolver's child.

#include "base/result.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/snapshot.h"

namespace engine {

// Runs the checks. Their results become warnings of the plan and its `preflight_found`. If a check
// failed, --preflight require returns an Error that has the first failed checks and what to do.
// Blocks as long as the slowest check takes, at most doctor::Context::limit_ms.
base::Status preflight(envgen::Plan& plan, const envgen::Snapshot& base);

}  // namespace engine
