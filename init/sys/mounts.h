#pragma once
// The mounts that are visible to this process, as /proc/self/mountinfo (proc(5)) lists them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sys {

// Returns true if the mount of `fd` is read-only, and no other visible mount allows writing to the
// same files.
bool is_written_nowhere(int fd);

// Returns the id of the mount of `fd`; 0 if the kernel does not report it. A bind mount has the
// same device as its source, but another id.
std::uint64_t mount_id_of(int fd);

// Returns is_written_nowhere() for the mount with this id in a text of mountinfo.
bool is_written_nowhere(std::string_view mountinfo, std::uint64_t mount_id);

// Returns the other paths of the file at `path`, which is on the mount with this id: those through
// other visible mounts of the same file system.
std::vector<std::string> other_paths(std::string_view mountinfo, std::uint64_t mount_id,
                                     std::string_view path);

// Returns the type of the file system of `fd` ("ext4", "fuse.s3fs"); "unknown" if the kernel does
// not report it.
std::string file_system_of(int fd);

}  // namespace sys
