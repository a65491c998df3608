#pragma once
// The end of a process in which the C++ library throws: no memory, an impossible length, a defect
// of trainit. The product is compiled without exceptions and without the tables that unwind a stack
// (a tenth of the binary). So no code catches, no destructor runs, and the handler runs on top of
// the stack that threw.

#include <functional>

#include "init/sys/thrown.h"

namespace sys {

// Sets the handler of this process; a later call replaces it. If the C++ library throws, `act` runs
// with 64 KiB of memory that were reserved for it, and the process exits with 125. A forked child
// that has set no handler, and a handler that throws, print one line on stderr and exit with 125. A
// handler can set a second one for that case first.
void on_terminate(std::function<void(const Thrown&)> act);

// Runs the handler, or prints a line on stderr if no handler is set, and exits with 125. Passed to
// std::set_terminate.
[[noreturn]] void terminate();

}  // namespace sys
