#pragma once
// The watches beside a running job: performance, stall and health. Adjusted to the plan, and shown.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "envgen/plan/observation.h"
#include "envgen/plan/plan.h"

namespace envgen {

inline constexpr std::int64_t kNoHealth =
    -1;  // Observation::health_interval_ms of a request: never

inline constexpr std::string_view kAllChecks = "all";  // of Observation::health_checks

// Fills plan.observe's health interval; warns of what a watch cannot do in this plan. For a plan
// with its processes, hooks and policy.
void plan_watches(const Request& request, Plan& plan);

// Whether anything is to be watched.
bool has_watches(const Observation& observe);

// The key "watches" and its object, where there are some.
void write_watches(json::Writer& out, const Observation& observe);
// Lines for a person.
std::string watches_text(const Observation& observe);

}  // namespace envgen
