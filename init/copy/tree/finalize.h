#pragma once
// Finalizes metadata when all contents are copied: files that several processes wrote, and
// directories.

#include <sys/stat.h>

#include "base/result.h"
#include "init/copy/tree/worker.h"

namespace copy {

// Compares an entry of the source with what was copied, and notes a change.
base::Status check_unchanged(Worker& worker, const DirectoryPair& directories, const char* name);
// Gives a file that several processes wrote its attributes.
base::Status finish_large(Worker& worker, const DirectoryPair& directories, const char* name,
                          const struct stat& status);
// Gives a directory of the copy, `to`, the attributes of its source, `from`.
base::Status finalize_directory(Worker& worker, int from, int to, const struct stat& status);
// Finalizes the directories whose modes would have denied access to their entries, deepest first.
base::Status finalize_late_directories(Worker& worker);

// Names entries that the copy of the directory worker.path has, and the source has not any more.
void name_removed(Worker& worker, const DirectoryPair& directories);

}  // namespace copy
