#pragma once
// Ends a process in which the C++ library throws: no memory, an impossible length, a defect of
// trainit. trainit is compiled without exceptions, and without the tables that unwind a stack (a
// tenth of the binary). So no code catches, no destructor runs, and the handler runs on top of the
// stack that threw.

#include <functional>

#include "init/sys/thrown.h"

namespace sys {

// Sets the handler of this process; a later call replaces it. If the C++ library throws, `act` runs
// with 64 KiB of memory that were reserved for it, and the process exits with 125. If a handler
// itself throws, or in a forked child that has set no handler, one line is printed on stderr and
// the process exits with 125. A handler can first set a second one for that case.
void on_terminate(std::function<void(const Thrown&)> act);

// Runs the handler, or prints a line on stderr if no handler is set, and exits with 125. Passed to
// std::set_terminate.
[[noreturn]] void terminate();

}  // namespace sys
