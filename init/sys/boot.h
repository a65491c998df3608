#pragma once
// The boot id of the machine, a text that is different after each boot. Data that was written
// before the last boot may be lost.

#include <string>

namespace sys {

// Returns the boot id; "" if /proc does not provide it.
std::string boot_id();

}  // namespace sys
