#pragma once
// Copies a regular file: its contents, its attributes, its hard links.

#include <sys/stat.h>

#include "base/result.h"
#include "init/copy/tree/worker.h"

namespace copy {

// Copies the file `worker.path`, which is `name` in both directories. A large file is divided into
// ranges, which become items of the work list.
base::Status copy_file(Worker& worker, const DirectoryPair& directories, const char* name);
// Copies a range of a large file (ItemKind::kRange).
base::Status copy_range(Worker& worker, const Item& item);
// Writes the file's pages to the disk and drops them from the page cache, so that a later read
// comes from the disk. If the kernel cannot, SharedHeader::cached is set.
base::Status drop_pages(Worker& worker, int file, std::uint64_t begin, std::uint64_t end);
// Gives the file the attributes of the source, the mtime last. `created`: this run created the file
// with its final mode. `chown`: sets the owner even if it is this process's.
base::Status finish_file(Worker& worker, int file, const struct stat& status, bool created,
                         bool chown);

}  // namespace copy
