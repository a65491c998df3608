#pragma once
// Walks over a tree and copies or checks its entries.

#include <sys/stat.h>

#include "base/result.h"
#include "init/copy/tree/worker.h"

namespace copy {

// Processes items of the work list until no work is left. This is what a worker process runs.
base::Status work_on(Worker& worker);

}  // namespace copy
