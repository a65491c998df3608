#pragma once
// A plan's watches as `trainit plan` shows them.

#include <string>

#include "base/json.h"
#include "base/shown_lines.h"
#include "envgen/plan/observation.h"

namespace envgen {

// Writes the key "watches" and its object. Writes nothing if no watch is on.
void write_watches(base::json::Writer& out, const Observation& observe);
// Returns the lines about the watches for the text output of `trainit plan`.
base::ShownLines watches_text(const Observation& observe);

}  // namespace envgen
