#pragma once
// The last acts on a copy, when all of it is there: what several processes wrote, and directories.

#include <sys/stat.h>

#include "base/result.h"
#include "init/copy/tree/worker.h"

namespace copy {

// After all is copied: what it is now, and the last act on a file that several wrote.
envgen::Status look_at(Worker& worker, const Place& place, const char* name);
envgen::Status finish_large(Worker& worker, const Place& place, const char* name,
                            const struct stat& status);
envgen::Status seal_directory(Worker& worker, int from, int to, const struct stat& status);
// The directories whose modes would have kept us from what is below them, the deepest first.
envgen::Status seal_late(Worker& worker);

}  // namespace copy
