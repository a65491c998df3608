#pragma once
// Before a restart: until nobody holds the devices that the plan names. A process that the kernel
// is still ending, or a session of somebody's, keeps a device from the next start.

#include <cstdint>
#include <functional>
#include <string>

#include "envgen/plan/plan.h"
#include "envgen/plan/snapshot.h"

namespace engine {

// Returns at once for a first start (`restarts` is 0) and for a plan without such devices. `say`
// gets who holds them whenever that changes. When the time is over, or nobody can tell, the job
// starts all the same, with a warning in the plan: who holds a device may do no harm, and what does
// harm is told by the failure, which costs a restart as the error here would. In the resolver's
// child: it looks in a child of its own, which may hang.
void wait_for_devices(envgen::Plan& plan, const envgen::Snapshot& base, std::uint32_t restarts,
                      const std::function<void(const std::string&)>& say);

}  // namespace engine
