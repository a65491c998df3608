#pragma once
// Copies hard links without a table in memory. The first process that copies a file with several
// names also creates the name `links/<key>` for it in the state directory. The other names are
// linked from there. Some file systems give one inode number to several files, so the key also
// contains size, times and contents.

#include <sys/stat.h>

#include "init/copy/tree/worker.h"

namespace copy {

// These functions fail if the source cannot be read or the copy cannot be written. A file system
// without hard links is no error: each name then becomes a separate file. If the disk is full or
// broken, they fail instead: separate files could make the copy many times as large.

// Sets `worker.link_key` for the file `worker.path`, which has several names and is open as `file`.
base::Status make_link_key(Worker& worker, int file, const struct stat& status);
// Makes `name` a hard link to the copy of the file's first name. Returns false if that copy does
// not exist yet: the caller then copies the file.
base::Result<bool> link_to_first(Worker& worker, const DirectoryPair& directories,
                                 const char* name);
// Creates `links/<key>` for the copy `name`. Returns false if another process was faster.
base::Result<bool> claim_first(Worker& worker, const DirectoryPair& directories, const char* name);
// Returns whether the link `name` of an earlier run, whose status is `copy`, can be kept.
base::Result<bool> keep_link(Worker& worker, const DirectoryPair& directories, const char* name,
                             const struct stat& copy);

}  // namespace copy
