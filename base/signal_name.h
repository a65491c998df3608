#pragma once
// Names of signals.

#include <string>

namespace base {

// Returns "SIGTERM", "SIGRTMIN+3", or "signal 99" for a number that is not a signal.
std::string signal_name(int signal);

}  // namespace base
