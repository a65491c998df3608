#pragma once
// Copies a regular file: its contents, its attributes, its hard links.

#include <sys/stat.h>

#include "base/result.h"
#include "init/copy/tree/worker.h"

namespace copy {

// Copies the file `worker.path`, which has the name `name` in both directories. A large file is
// divided into ranges, which are added to the work list.
base::Status copy_file(Worker& worker, const DirectoryPair& directories, const char* name);
// Copies a range of a large file (ItemKind::kRange).
base::Status copy_range(Worker& worker, const Item& item);
// Writes pages of the file to the disk and drops them from the page cache, so that a later read
// comes from the disk. If the kernel cannot do that, sets SharedHeader::cached.
base::Status drop_pages(Worker& worker, int file, std::uint64_t begin, std::uint64_t end);
// Sets the attributes of the source on the file, the mtime last. `created` is true if this run
// created the file with its final mode. With `chown`, sets the owner even if it is this process's.
base::Status finish_file(Worker& worker, int file, const struct stat& status, bool created,
                         bool chown);

}  // namespace copy
