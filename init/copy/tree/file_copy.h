#pragma once
// One file of a copy: its contents, its attributes, its other names.

#include <sys/stat.h>

#include "base/result.h"
#include "init/copy/tree/worker.h"

namespace copy {

// Of an entry, `worker.path`, of a pair of directories.
envgen::Status copy_file(Worker& worker, const DirectoryPair& directories, const char* name);
envgen::Status copy_range(Worker& worker, const Item& item);
// What is read of a copy then comes from the disk, and not from the page cache; else the shared
// header says so.
envgen::Status drop_pages(Worker& worker, int file, std::uint64_t begin, std::uint64_t end);
// Gives it the attributes of the source; the mtime is the last act. `created`: by us with its mode
// just now; `chown`: though it would be ours.
envgen::Status finish_file(Worker& worker, int file, const struct stat& status, bool created,
                           bool chown);

}  // namespace copy
