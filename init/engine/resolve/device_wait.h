#pragma once
// The wait before a restart until the devices of the plan are free. A process that the kernel is
// still ending, or another user's session, keeps a device from the next start.

#include <cstdint>
#include <functional>
#include <string>

#include "envgen/plan/plan.h"
#include "envgen/plan/snapshot.h"

namespace engine {

// Waits until no process holds the devices. Returns at once for a first start (`restarts` is 0) and
// for a plan without such devices. `say` receives the holders whenever they change. If the time is
// over, or the holders cannot be determined, the job starts with a warning in the plan. A holder
// may do no harm. If it does, the failure shows it, and costs a restart as an error here would. For
// the resolver's child: it looks in its own child, which may hang.
void wait_for_devices(envgen::Plan& plan, const envgen::Snapshot& base, std::uint32_t restarts,
                      const std::function<void(const std::string&)>& say);

}  // namespace engine
