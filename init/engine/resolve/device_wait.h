#pragma once
// The wait before a restart until the devices of the plan are free. A device can still be in use by
// a process that the kernel has not ended yet, or by another user's process.

#include <cstdint>
#include <functional>
#include <string>

#include "envgen/plan/plan.h"
#include "envgen/plan/snapshot.h"

namespace engine {

// Blocks until no process uses the devices. Returns at once for a first start (`restarts` is 0) and
// for a plan without devices to check. `say` receives the processes whenever they change. If the
// time is over, or the processes cannot be determined, adds a warning to the plan and returns: they
// may do no harm. If they do, the start fails and costs a restart, as an error here would. The
// check runs in a further child, because it may hang. So call this in the resolver's child only.
void wait_for_devices(envgen::Plan& plan, const envgen::Snapshot& base, std::uint32_t restarts,
                      const std::function<void(const std::string&)>& say);

}  // namespace engine
