#pragma once
// The access that a copy gives others: never more than its source did.

#include <sys/stat.h>

#include "init/copy/tree/worker.h"

namespace copy {

// Whoever the copy of an entry shall belong to. The same uid and gid as ours where owners are not
// kept.
Owner owner_for(const Worker& worker, const struct stat& status);
bool keeps_owners(const Worker& worker);

// Narrows the source's mode in `status` to the one that its copy, `worker.path`, gets:
//   - an access control list is dropped, and with it what only its mask gave;
//   - who comes to be of the file's group without being asked for gets what the others get;
//   - in the cache the root carries the access of the way to the source;
//   - set-ID bits stay only where the owner and the group stay, and never in a dataset.
// `file`: of the source, open for reading.
void narrow(Worker& worker, int file, struct stat& status);

}  // namespace copy
