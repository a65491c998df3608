#pragma once
// The state of a path, and the text of an errno. May block on a dead mount, as files.h does.

#include <cstddef>
#include <string>

#include "envgen/plan/snapshot.h"

namespace sys {

inline constexpr std::size_t kMaxEntries = 100'000;

// Returns what is at `path` now. Follows links, opens by path each time, and never opens a FIFO or
// a device: these are kError with EINVAL, because neither is an input. Reads at most kMaxInputBytes
// of a file, and at most kMaxEntries names of a directory; more is EFBIG. Reads neither bytes nor
// names if `read_content` is false. ENOTDIR counts as absent, as everywhere: "/etc/passwd/x" does
// not exist.
envgen::PathState inspect(const std::string& path, bool read_content);

// Returns the content of a file of /proc or of a cgroup; "" if it cannot be read. Opening such a
// file cannot block.
std::string kernel_text(const std::string& path);

// Returns the text and the name of an errno: "No such file or directory (ENOENT)".
std::string errno_text(int error);

// Returns the parent of a path, from its text alone: "/a/b/" -> "/a", "a" -> ".", "/" -> "/".
std::string parent_of(const std::string& path);
// Returns `path` if it exists, otherwise its nearest ancestor that exists.
std::string present_part(std::string path);

}  // namespace sys
