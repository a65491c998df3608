#pragma once
// What /proc/self/mountinfo (proc(5)) says of a file system that is mounted read-only.

#include <string_view>

namespace sys {

// Whether the mount that `fd` is on is read-only, and no other mount by which what it shows could
// be written can be seen from here.
bool is_written_nowhere(int fd);

// The same of a text of mountinfo: of the mount with this id.
bool is_written_nowhere(std::string_view mountinfo, int mount_id);

}  // namespace sys
