#pragma once
// The boot id of the machine, which changes at each boot. Data that was written under a different
// boot id may be lost.

#include <string>

namespace sys {

// Returns the boot id; "" if /proc does not provide it.
std::string boot_id();

}  // namespace sys
