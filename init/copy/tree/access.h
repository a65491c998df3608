#pragma once
// The access rights of a copy: never more than those of its source.

#include <sys/stat.h>

#include "init/copy/tree/worker.h"

namespace copy {

// Returns the owner that the copy of an entry gets. If owners are not kept, these are the ids of
// this process.
Owner owner_for(const Worker& worker, const struct stat& status);
bool keeps_owners(const Worker& worker);
// Call fchmod and futimens, but do nothing if the file system does not keep what they set. Return
// false if the call fails, with errno.
bool set_mode(const Worker& worker, int file, mode_t mode);
bool set_times(const Worker& worker, int file, const struct stat& status);

// Changes the mode in `status`, which is the source's, to the mode for its copy, `worker.path`:
//  - an access control list is dropped, with the permissions that only its mask gave;
//  - if the copy's group differs from the source's, the group gets what others get;
//  - in the cache, the root's mode includes the permissions of the directories above the source;
//  - set-ID bits are kept only with owner and group, and never in a dataset.
// `file` is the source, open for reading.
void narrow(Worker& worker, int file, struct stat& status);

}  // namespace copy
