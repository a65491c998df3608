#pragma once
// The patrol's own work, in its own process. It looks every second or so where there is something
// to look at, and sleeps where only health is checked. Hooks run in workers of their own beside
// the looks; they end with it.

#include "init/engine/monitor/patrol.h"

namespace engine {

// Until nobody reads `messages` any more.
int patrol(const PatrolOrder& order, int messages);

}  // namespace engine
