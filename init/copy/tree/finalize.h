#pragma once
// The last pass of a copy, when all contents are copied: compares the source with the copy, and
// sets the attributes of directories and of files that several processes wrote.

#include <sys/stat.h>

#include "base/result.h"
#include "init/copy/tree/worker.h"

namespace copy {

// Compares an entry of the source with what was copied, and records a change.
base::Status check_unchanged(Worker& worker, const DirectoryPair& directories, const char* name);
// Sets the attributes of a file that several processes wrote.
base::Status finish_large(Worker& worker, const DirectoryPair& directories, const char* name,
                          const struct stat& status);
// Sets the attributes of the source directory `from` on its copy `to`.
base::Status finalize_directory(Worker& worker, int from, int to, const struct stat& status);
// Sets the modes of directories that deny access to their entries. The deepest directories come
// first.
base::Status finalize_late_directories(Worker& worker);

// Records the names that the copy of the directory worker.path has and the source no longer has.
void name_removed(Worker& worker, const DirectoryPair& directories);

}  // namespace copy
