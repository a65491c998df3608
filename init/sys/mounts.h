#pragma once
// Mounts, as /proc/self/mountinfo (proc(5)) shows them: file systems that are mounted read-only.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sys {

// Whether the mount that `fd` is on is read-only, and no other mount by which what it shows could
// be written can be seen from here.
bool is_written_nowhere(int fd);

// Of the mount that `fd` is on: a bind mount has the device of what it shows, and another id. 0
// where the kernel does not say.
std::uint64_t mount_id_of(int fd);

// The same of a text of mountinfo: of the mount with this id.
bool is_written_nowhere(std::string_view mountinfo, std::uint64_t mount_id);

// The paths that a path on the mount with this id has by other mounts of the same file system, as
// far as these show it and are to be seen from here.
std::vector<std::string> other_paths(std::string_view mountinfo, std::uint64_t mount_id,
                                     std::string_view path);

// The type of the file system that `fd` is on ("ext4", "fuse.s3fs"); "unknown" where the kernel
// does not say.
std::string file_system_of(int fd);

}  // namespace sys
