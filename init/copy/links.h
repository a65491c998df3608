#pragma once
// Hard links, without a table in memory: the first who copies a file of several names claims it by
// one more, `links/<device>-<inode>` in the copy's own directory, and the others link from there.

#include <sys/stat.h>

#include "init/copy/worker.h"

namespace copy {

// Makes `name` one more name of the copy, where there is one. False: copy it; errno says why.
bool link_to_first(Worker& worker, const Place& place, const char* name, const struct stat& status);
// False: somebody else was faster.
bool claim_first(Worker& worker, const Place& place, const char* name, const struct stat& status);
// Of an earlier run: whether `name`, which is `copy`, may stay.
bool keep_link(Worker& worker, const Place& place, const char* name, const struct stat& status,
               const struct stat& copy);

}  // namespace copy
