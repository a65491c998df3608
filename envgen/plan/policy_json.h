#pragma once
// A plan's policy as `trainit plan` shows it. What nobody chose is left out.

#include <cstdint>
#include <string>

#include "base/json.h"
#include "envgen/plan/plan_policy.h"

namespace envgen {

// The key "policy" and its object.
void write_policy(json::Writer& out, const PlanPolicy& policy);
// Lines for a person.
std::string policy_text(const PlanPolicy& policy);

// "8 s", "2.500 s"
std::string seconds(std::int64_t ms);

}  // namespace envgen
