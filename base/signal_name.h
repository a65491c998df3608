#pragma once
// Names of signals.

#include <string>

namespace envgen {

// Returns "SIGTERM", "SIGRTMIN+3", or "signal 99" for a number that is not a signal.
std::string signal_name(int signal);

}  // namespace envgen
