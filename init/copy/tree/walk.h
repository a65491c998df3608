#pragma once
// The walk over a tree, which copies or checks its entries.

#include <sys/stat.h>

#include "base/result.h"
#include "init/copy/tree/worker.h"

namespace copy {

// Processes items of the work list until none are left: the body of a worker process.
base::Status work_on(Worker& worker);

}  // namespace copy
