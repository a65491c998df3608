#pragma once
// The state of a path, and the text of an errno. May hang on a dead mount, as files.h does.

#include <cstddef>
#include <string>

#include "envgen/plan/snapshot.h"

namespace sys {

inline constexpr std::size_t kMaxEntries = 100'000;

// What is at `path` now. Follows links, opens by path each time, never opens a FIFO or a device
// (neither is an input: kError with EINVAL). Reads at most kMaxInputBytes, and of a directory at
// most kMaxEntries names (EFBIG for more). Without `read_content` neither bytes nor names are read.
// ENOTDIR counts as absent, as everywhere: "/etc/passwd/x" is not there.
envgen::PathState inspect(const std::string& path, bool read_content);

// What a file of /proc or of a cgroup holds, which no open can hang on; "" where it cannot be read.
std::string kernel_text(const std::string& path);

// "errno text (ENAME)"
std::string errno_text(int error);

// Of a path as text: "/a/b/" -> "/a", "a" -> ".", "/" -> "/".
std::string parent_of(const std::string& path);
// Returns `path`, or the nearest directory above it that is there.
std::string present_part(std::string path);

}  // namespace sys
