#pragma once
// The values of a plan that are known only shortly before its processes start: the restart count, a
// free port, and the address of the scheduler's host.

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "envgen/plan/plan.h"
#include "envgen/plan/snapshot.h"

namespace engine {

// Sets the restart count and a free port in the plan. If no port is free, the planned one stays,
// with a warning.
void fill_start_values(envgen::Plan& plan, std::uint32_t restarts);

// Sets the scheduler's address in the plan, found by the host name in plan.scheduler, and resets
// plan.scheduler. Blocks until the name is known, at most for `timeout_ms`. After each try `say`
// receives the reason to wait. On the scheduler's own node the address is that of an interface of
// the node, because the scheduler must listen there. Returns an Error if no address is found.
base::Status fill_scheduler(envgen::Plan& plan, const envgen::Snapshot& base,
                            std::int64_t timeout_ms,
                            const std::function<void(const std::string&)>& say,
                            const std::string& hosts_file = "/etc/hosts");

}  // namespace engine
