#pragma once
// Log files in directories that other users may change.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "envgen/plan/sandbox.h"
#include "init/sys/fd.h"

namespace sys {

// Opens a log for appending, or creates it, through with_rights_of(job_user) of as_user.h. If other
// users may change the directory, opens only a regular file with one name that belongs to root or
// the effective user. Otherwise opens whatever file is there, such as a FIFO or a terminal. Waits
// for the reader of a FIFO only if `patiently`; the descriptor is then a blocking one.
base::Result<Fd> open_to_append(const std::string& path, std::uint32_t mode,
                                const envgen::Identity* job_user, bool patiently = false);

// Opens a log for reading, with the same checks.
base::Result<Fd> open_to_read(const std::string& path, const envgen::Identity* job_user);

}  // namespace sys
