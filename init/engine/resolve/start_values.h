#pragma once
// Values of a plan that are known only when its processes start: the restart count, a free port,
// and the address of a host.

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/snapshot.h"

namespace engine {

// Fills in the restart count and a free port. Without a free port the planned one stays, with a
// warning.
void fill_start_values(envgen::Plan& plan, std::uint32_t restarts);

// Replaces plan.scheduler by an address, and resets it. Blocks until the name is known, at most for
// `timeout_ms`, and calls `say` with the reason to wait after each try. On the scheduler's own node
// the address is that of an interface, at which the scheduler can listen. Returns an Error if no
// address is found.
base::Status fill_scheduler(envgen::Plan& plan, const envgen::Snapshot& base,
                            std::int64_t timeout_ms,
                            const std::function<void(const std::string&)>& say,
                            const std::string& hosts_file = "/etc/hosts");

}  // namespace engine
