#pragma once
// What of a plan is known only when its processes start: how often they were started before, a port
// that is free, an address of a host.

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/snapshot.h"

namespace engine {

// Fills them in. Without a free port the planned one stays, with a warning.
void fill_start_values(envgen::Plan& plan, std::uint32_t restarts);

// Puts an address in the place of plan.scheduler, which is reset then. Blocks until the name is
// known, `timeout_ms` at most, and calls `say` with each new reason to wait. On the scheduler's own
// node it is an address of an interface, at which the scheduler can listen. An Error: no address.
envgen::Status fill_scheduler(envgen::Plan& plan, const envgen::Snapshot& base,
                              std::int64_t timeout_ms,
                              const std::function<void(const std::string&)>& say,
                              const std::string& hosts_file = "/etc/hosts");

}  // namespace engine
