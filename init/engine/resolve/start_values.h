#pragma once
// What of a plan is known only when its processes start: how often they were started before, and a
// port that is free.

#include <cstdint>

#include "envgen/plan/plan.h"

namespace engine {

// Fills them in. Without a free port the planned one stays, with a warning.
void fill_start_values(envgen::Plan& plan, std::uint32_t restarts);

}  // namespace engine
