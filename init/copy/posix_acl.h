#pragma once
// Computes the mode of a file's copy, which gets no access control list. The list has the format of
// the attribute system.posix_acl_access (linux/posix_acl_xattr.h): a version, then entries of {tag,
// permissions, id}.

#include <cstdint>
#include <string_view>

namespace copy {

// Returns the mode of the copy of a file that has the mode `mode` and the list `acl`. No user may
// get more access than to the source. Two facts matter. With a list, the group bits of a mode are
// the maximum of all its entries, and not the group's own permissions. Without the list, a user
// named in it is only a member of the group, or one of the others.
std::uint32_t without_acl(std::uint32_t mode, std::string_view acl);

}  // namespace copy
