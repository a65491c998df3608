#pragma once
// Finds the processes that have devices open. /proc is read first. If no process is found there,
// the tools of the drivers are run, because they also know processes of other containers. Blocks
// for at most Context::limit_ms, even if a tool hangs: only for commands and workers, never for PID
// 1.

#include <cstdint>
#include <span>
#include <string>

#include "envgen/plan/plan.h"
#include "init/doctor/context.h"

namespace doctor {

struct DeviceHolders {
  std::string held;     // "pid 12 (python) holds /dev/nvidia0, ..."; "" = no process found
  std::string unknown;  // which sources could not be read, and why; "" = every source was read
};

// Returns the processes that hold `devices`. Processes that began before `since` (clock ticks after
// boot) are ignored: the job's first start has succeeded beside them. An example is a driver's
// daemon outside of the container.
DeviceHolders find_holders(const Context& context,
                           std::span<const envgen::DeviceWait::Device> devices,
                           std::uint64_t since);

}  // namespace doctor
