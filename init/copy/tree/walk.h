#pragma once
// The walk over a tree: its entries are copied, or looked at again.

#include <sys/stat.h>

#include "base/result.h"
#include "init/copy/tree/worker.h"

namespace copy {

// The process's body: does items until there are none.
envgen::Status work_on(Worker& worker);

}  // namespace copy
