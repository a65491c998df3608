#pragma once
// Hard links, without a table in memory: the first who copies a file of several names claims it by
// one more, `links/<device>-<inode>` in the copy's own directory, and the others link from there.

#include <sys/stat.h>

#include "init/copy/tree/worker.h"

namespace copy {

// Each is an error where there is no room, or the disk is broken: a tree with each name copied by
// itself may be many times as large, and is made only where the file system has no hard links.

// Makes `name` one more name of the copy, where there is one. False: copy it.
envgen::Result<bool> link_to_first(Worker& worker, const DirectoryPair& directories,
                                   const char* name, const struct stat& status);
// False: somebody else was faster.
envgen::Result<bool> claim_first(Worker& worker, const DirectoryPair& directories, const char* name,
                                 const struct stat& status);
// Of an earlier run: whether `name`, which is `copy`, may stay.
envgen::Result<bool> keep_link(Worker& worker, const DirectoryPair& directories, const char* name,
                               const struct stat& status, const struct stat& copy);

}  // namespace copy
