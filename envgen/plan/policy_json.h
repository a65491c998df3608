#pragma once
// A plan's policy as `trainit plan` shows it. What nobody chose is left out.

#include <cstdint>
#include <string>

#include "base/json.h"
#include "base/policy.h"
#include "base/shown_lines.h"

namespace envgen {

// The key "policy" and its object.
void write_policy(json::Writer& out, const Policy& policy);
// Lines for a person. `stop`: the stop that follows from the policy, its request at 0.
ShownLines policy_text(const Policy& policy, const Budget& stop);

}  // namespace envgen
