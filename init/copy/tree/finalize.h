#pragma once
// The finalization of metadata, when all of a copy is there: files that several processes wrote,
// and directories.

#include <sys/stat.h>

#include "base/result.h"
#include "init/copy/tree/worker.h"

namespace copy {

// After all is copied: what it is now, and the last act on a file that several wrote.
envgen::Status check_unchanged(Worker& worker, const DirectoryPair& directories, const char* name);
envgen::Status finish_large(Worker& worker, const DirectoryPair& directories, const char* name,
                            const struct stat& status);
envgen::Status finalize_directory(Worker& worker, int from, int to, const struct stat& status);
// The directories whose modes would have kept us from what is below them, the deepest first.
envgen::Status finalize_late_directories(Worker& worker);

}  // namespace copy
