#pragma once
// A plan's policy as `trainit plan` shows it. Optional parts that the user did not choose are left
// out.

#include <cstdint>
#include <string>

#include "base/json.h"
#include "base/policy.h"
#include "base/shown_lines.h"

namespace envgen {

// Writes the key "policy" and its object.
void write_policy(base::json::Writer& out, const base::Policy& policy);
// Returns the lines about the policy for the text output of `trainit plan`. `stop` has the times of
// a stop under this policy that is requested at time 0.
base::ShownLines policy_text(const base::Policy& policy, const base::Budget& stop);
// Returns the same lines as policy_text(), but those about the stop as one line.
base::ShownLines brief_policy_text(const base::Policy& policy, const base::Budget& stop);

}  // namespace envgen
