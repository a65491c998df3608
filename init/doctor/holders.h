#pragma once
// Who holds devices: each process that has one open, as /proc shows it; where that shows nobody,
// those that the drivers' tools name, which know of other containers too. Blocks for as long as
// Context::limit_ms at most, whatever hangs: for commands and workers, never for PID 1.

#include <cstdint>
#include <span>
#include <string>

#include "envgen/plan/plan.h"
#include "init/doctor/context.h"

namespace doctor {

struct DeviceHolders {
  std::string held;     // "pid 12 (python) holds /dev/nvidia0, ..."; "" = nobody is seen
  std::string unknown;  // what could not be asked, and why; "" = all that is there was
};

// Processes that began before `since` (clock ticks after boot) are none: the first start went well
// beside them (a daemon of the driver on a machine that is no container).
DeviceHolders find_holders(const Context& context,
                           std::span<const envgen::DeviceWait::Device> devices,
                           std::uint64_t since);

}  // namespace doctor
