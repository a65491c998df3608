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
// Returns the lines for the text output. `stop`: the times of a stop under this policy, with the
// request at 0.
base::ShownLines policy_text(const base::Policy& policy, const base::Budget& stop);
// Returns the same with the stop in one line.
base::ShownLines brief_policy_text(const base::Policy& policy, const base::Budget& stop);

}  // namespace envgen
