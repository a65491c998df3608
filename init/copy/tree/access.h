#pragma once
// The access rights of a copy: never more than those of its source.

#include <sys/stat.h>

#include "init/copy/tree/worker.h"

namespace copy {

// Returns the owner of an entry's copy: this process's uid and gid where owners are not kept.
Owner owner_for(const Worker& worker, const struct stat& status);
bool keeps_owners(const Worker& worker);
// Call fchmod and futimens, unless the file system does not keep what they set. False: errno says
// why.
bool set_mode(const Worker& worker, int file, mode_t mode);
bool set_times(const Worker& worker, int file, const struct stat& status);

// Narrows the source's mode in `status` to the one that its copy, `worker.path`, gets:
//   - an access control list is dropped, with the permissions that only its mask gave;
//   - if the copy's group differs from the source's, the group gets what others get;
//   - in the cache, the root's mode includes the permissions of the directories above the source;
//   - set-ID bits are kept only with owner and group, and never in a dataset.
// `file`: the source's, open for reading.
void narrow(Worker& worker, int file, struct stat& status);

}  // namespace copy
