#pragma once
// Logs in directories of other users.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "envgen/plan/sandbox.h"
#include "init/sys/fd.h"

namespace sys {

// Opens for appending, or makes, a log: with_rights_of(job) of as_user.h. Where others may have put
// something there, a regular file of root's or ours with one name, or nothing is opened; elsewhere
// whatever stands there: a FIFO, a terminal. The reader of a FIFO is waited for only `patiently`,
// and the descriptor blocks then.
envgen::Result<Fd> open_to_append(const std::string& path, std::uint32_t mode,
                                  const envgen::Identity* job_user, bool patiently = false);

// The same for reading.
envgen::Result<Fd> open_to_read(const std::string& path, const envgen::Identity* job_user);

}  // namespace sys
