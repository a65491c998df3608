#pragma once
// A plan's watches as `trainit plan` shows them.

#include <string>

#include "base/json.h"
#include "base/shown_lines.h"
#include "envgen/plan/observation.h"

namespace envgen {

// The key "watches" and its object, where there are some.
void write_watches(json::Writer& out, const Observation& observe);
// Lines for a person.
ShownLines watches_text(const Observation& observe);

}  // namespace envgen
