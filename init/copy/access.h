#pragma once
// What a copy lets others do: never more than its source did.

#include <sys/stat.h>

#include "init/copy/worker.h"

namespace copy {

// Narrows the source's mode in `status` to the one that its copy gets: set-ID bits stay only where
// the owner and the group stay, and never in a dataset.
void narrow(const Worker& worker, struct stat& status);

}  // namespace copy
