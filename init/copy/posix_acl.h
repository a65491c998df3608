#pragma once
// The mode of a file whose access control list is dropped. The list's format is that of the
// attribute system.posix_acl_access (linux/posix_acl_xattr.h): a version, then entries of {tag,
// permissions, id}.

#include <cstdint>
#include <string_view>

namespace copy {

// Returns the mode of a copy without the list of its source, whose mode is `mode`. The copy gives
// no user more than the source. With a list, the group's bits of a mode are the maximum of all
// entries, not the group's own permissions. A user named in the list becomes a member of the group,
// or one of the others, without the list.
std::uint32_t without_acl(std::uint32_t mode, std::string_view acl);

}  // namespace copy
