#pragma once
// doctor's checks before a job starts, in the resolver's child (--preflight).

#include "base/result.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/snapshot.h"

namespace engine {

// What the checks found becomes the plan's warnings and `preflight_found`. With --preflight
// require a check that failed is an error instead, which names each one and what to do. Blocks for
// as long as the slowest check takes, doctor::Context::limit_ms at most.
envgen::Status preflight(envgen::Plan& plan, const envgen::Snapshot& base);

}  // namespace engine
