#pragma once
// Signals as people write them.

#include <string>

namespace envgen {

// "SIGTERM", "SIGRTMIN+3"; "signal 99" for none.
std::string signal_name(int signal);

}  // namespace envgen
