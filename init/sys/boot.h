#pragma once
// The boot id: since which start of the machine it runs. What was written before another one may be
// lost.

#include <string>

namespace sys {

// Another one after each start. "" = /proc does not say.
std::string boot_id();

}  // namespace sys
