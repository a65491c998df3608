#pragma once
// Opens log files in directories that other users may be able to change.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "envgen/plan/sandbox.h"
#include "init/sys/fd.h"

namespace sys {

// Opens a log for appending, and creates it if needed, through with_rights_of(job_user) of
// as_user.h. If other users can change the directory, the log must be a regular file with one name
// that belongs to root or the effective user. Otherwise any file is accepted, such as a FIFO or a
// terminal. If `patiently`, waits for the reader of a FIFO, and the descriptor is a blocking one.
base::Result<Fd> open_to_append(const std::string& path, std::uint32_t mode,
                                const envgen::Identity* job_user, bool patiently = false);

// Opens a log for reading, with the same checks.
base::Result<Fd> open_to_read(const std::string& path, const envgen::Identity* job_user);

}  // namespace sys
